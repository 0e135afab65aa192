import { cloneFrozen, describeValue, isPlainObject } from '../../core/plain-data.js';
import { findingAt, type CapabilityFinding, type Place } from '../finding.js';
import { parseJsonText, pointerOf, type JsonText, type Path } from '../manifest/text/json-text.js';
import type { WorkKind } from './work-schemas.js';

/** The entries of one file, and characters of it (1 MiB), as for tools. */
const MAX_ENTRIES = 1_000;
const MAX_TEXT_LENGTH = 1_048_576;

type Fields = Readonly<Record<string, unknown>>;

/** An entry of a file of skills, jobs or tasks as written: neither merged with what it extends, nor checked. */
export interface RawWork {
  readonly kind: WorkKind;
  readonly owner: string | null;
  readonly file: string;
  readonly fields: Fields;
  /** Returns the place of a value of the entry; for a missing one, that of the entry. */
  placeOf(path: Path): Place;
}

export interface ReadWork {
  readonly entries: readonly RawWork[];
  readonly findings: readonly CapabilityFinding[];
  /** Says that nothing of the text can be used. */
  readonly broken: boolean;
}

/** Reads a file of skills, jobs or tasks: a JSON list of objects, or an object with one under the kind's plural. Never throws. */
export function readWork(text: string, kind: WorkKind, owner: string | null, file: string): ReadWork {
  const broken = (message: string, line = 1, column = 1): ReadWork => ({ entries: [], findings: [findingAt({ owner, file, line, column, path: '' }, 'unreadable', 'error', message)], broken: true });
  if (text.length > MAX_TEXT_LENGTH) return broken('Expected a file of at most 1 MiB, got more. Split it into several files.');
  const parsed = parseJsonText(text);
  if (!parsed.ok) return broken(parsed.fault.message, parsed.fault.line, parsed.fault.column);
  const key = `${kind}s`;
  const base: Path = isPlainObject(parsed.value) && Object.hasOwn(parsed.value, key) ? [key] : [];
  const list = base.length === 0 ? parsed.value : (parsed.value as Fields)[key];
  if (!Array.isArray(list)) return broken(`Expected a list of ${key}, got ${describeValue(list)}.`);
  if (list.length > MAX_ENTRIES) return broken(`Expected at most ${MAX_ENTRIES} ${key} in one file, got ${list.length}. Split it into several files.`);

  const findings: CapabilityFinding[] = parsed.text.findings().map(({ path, message, severity, line, column }) => findingAt({ owner, file, line, column, path: pointerOf(path) }, 'invalid', severity, message));
  const spoiled = new Set(parsed.text.findings().flatMap(({ path, severity }) => (severity === 'error' ? [path[base.length]] : [])));
  const entries = (list as readonly unknown[]).flatMap((value, index): readonly RawWork[] => {
    if (spoiled.has(index)) return [];
    const placeOf = placesIn(parsed.text, owner, file, [...base, index]);
    if (isPlainObject(value)) return [Object.freeze({ kind, owner, file, fields: cloneFrozen(value), placeOf })];
    findings.push(findingAt(placeOf([]), 'invalid', 'error', `Expected a ${kind} as an object, got ${describeValue(value)}.`));
    return [];
  });
  return { entries, findings, broken: false };
}

function placesIn(text: JsonText, owner: string | null, file: string, base: Path): RawWork['placeOf'] {
  return (path) => {
    const place = [...base, ...path];
    return { owner, file, ...text.positionAt(place), path: pointerOf(place) };
  };
}
