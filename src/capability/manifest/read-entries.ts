import { describeValue, isPlainObject } from '../../core/plain-data.js';
import {
  type EntryFinding,
  type JsonPath,
  pointerOf,
  type Position,
  readList,
} from './json-text.js';
import { findingAt, type ManifestIssue, type Place, wholeFinding } from './manifest-issue.js';

export type Fields = Readonly<Record<string, unknown>>;

/** An entry in a file, as written. */
export interface RawEntry {
  readonly owner: string | null;
  readonly file: string;
  /** The position in the list, from 0. */
  readonly index: number;
  readonly fields: Fields;
  /**
   * Returns the place of a value in the entry. If the value is missing, returns the place of the
   * nearest enclosing value.
   */
  readonly placeOf: (path: JsonPath) => Place & Position;
}

/**
 * The usable entries in a text. For a text that can't be parsed, there are no entries and one
 * `unreadable` issue.
 */
export interface ReadEntries<Item> {
  readonly entries: readonly Item[];
  /** The errors and warnings, in the order in which they occur in the file. */
  readonly issues: readonly ManifestIssue[];
  /** The number of entries in the text, usable or not. */
  readonly total: number;
}

/**
 * Reads the entries in a text one by one. Skips entries with an error and reports all their errors.
 * Never throws.
 *
 * @param read Returns an entry's item and reports its problems.
 */
export function readEntries<Item>(
  text: string,
  kind: 'tool' | 'skill' | 'job' | 'task',
  { owner, file }: { readonly owner: string | null; readonly file: string },
  read: (entry: RawEntry, tell: (finding: EntryFinding) => void) => Item | undefined,
): ReadEntries<Item> {
  const source = readList(text, `${kind}s`);
  if (!source.ok)
    return { entries: [], issues: [wholeFinding(owner, file, source.fault)], total: 0 };
  const { base, list, positionAt } = source;
  const issues: ManifestIssue[] = [];
  const placeAt = (path: JsonPath) => ({ owner, file, ...positionAt(path), path: pointerOf(path) });
  const tell = ({ path, severity, message }: EntryFinding) =>
    void issues.push(
      findingAt(
        placeAt(path),
        'invalid',
        severity,
        message,
        entryNameOf(list[path[base.length] as number]),
      ),
    );
  source.findings.forEach(tell);
  const entries = list.flatMap((fields, index): readonly Item[] => {
    const pathOf = (path: JsonPath) => [...base, index, ...path];
    const tellOf = (finding: EntryFinding) => tell({ ...finding, path: pathOf(finding.path) });
    if (!isPlainObject(fields)) {
      const message = `Expected a ${kind} as an object, got ${describeValue(fields)}.`;
      tellOf({ path: [], message, severity: 'error' });
      return [];
    }
    const placeOf = (path: JsonPath) => placeAt(pathOf(path));
    const item = read({ owner, file, index, fields, placeOf }, tellOf);
    return item === undefined ? [] : [item];
  });
  issues.sort((a, b) => a.line - b.line || a.column - b.column);
  return { entries, issues, total: list.length };
}

/** Returns an entry's name, even if other parts of the entry are invalid. */
export function entryNameOf(entry: unknown): string | undefined {
  if (!isPlainObject(entry)) return undefined;
  const { name } = { ...entry, ...(isPlainObject(entry['function']) && entry['function']) };
  return (typeof name === 'string' && name.trim().slice(0, 128)) || undefined;
}
