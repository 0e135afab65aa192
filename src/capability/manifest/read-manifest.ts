import { issuesOf, isToolError } from '../../core/errors.js';
import { cloneFrozen, describeValue, isPlainObject } from '../../core/plain-data.js';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import { checkEntry, createSuggester, type EntryFinding, type Suggester } from './check-entry.js';
import { defineEntry, inManifestKeys, KEY_OF_OPTION } from './define-entry.js';
import { type JsonText, parseJsonText, type Path, pointerOf } from './json-text.js';
import { type ManifestEntry, unwrapEntry, type UnwrappedEntry, withAuth } from './manifest-entry.js';
import type { ManifestIssue } from './manifest-issue.js';

/** The largest manifest file in characters; the limit of files is 1 MiB. */
const MAX_TEXT_LENGTH = 1_048_576;
/** The largest number of tools in one file. */
const MAX_ENTRIES = 1_000;
/** The issues of one file that are reported: a broken generator can make one per character. */
const MAX_ISSUES = 1_000;

/** A usable tool of a manifest file. */
export interface ReadEntry {
  /** The place in the list, from 0. */
  readonly index: number;
  /** The line where it begins, from 1. */
  readonly line: number;
  /** The text of the file, frozen, without its function-calling wrapper. */
  readonly entry: ManifestEntry;
  readonly definition: ToolDefinition;
}

export interface ReadResult {
  readonly entries: readonly ReadEntry[];
  /** The errors and warnings, in the order of the text. */
  readonly issues: readonly ManifestIssue[];
  /** The number of entries in the file, usable or not. */
  readonly total: number;
}

export interface ReadOptions {
  /** The name of the text in issues. @default 'manifest' */
  readonly file?: string;
  /** Returns the work of a tool, if it is known. */
  readonly executeOf?: (entry: ManifestEntry) => Execute<never> | undefined;
}

/**
 * Reads the text of a manifest: a JSON list of tools, or an object with such a list under `tools`.
 *
 * Every entry is checked by itself; one with an error is left out, with all its errors among the issues. Among entries
 * with the same name the first is used. A text that is no JSON has no entries at all. Never throws, whatever the text.
 */
export function readManifest(text: string, { file = 'manifest', executeOf = () => undefined }: ReadOptions = {}): ReadResult {
  const refused = (message: string, line = 1, column = 1): ReadResult => ({ entries: [], issues: [{ file, path: '', line, column, message, severity: 'error' }], total: 0 });
  if (text.length > MAX_TEXT_LENGTH) return refused('Expected a manifest of at most 1 MiB, got more. Split it into several files.');
  const parsed = parseJsonText(text);
  if (!parsed.ok) return refused(parsed.fault.message, parsed.fault.line, parsed.fault.column);
  const { list, base } = listOf(parsed.value);
  if (list === undefined) return refused(`Expected a list of tools, or an object with one under "tools", got ${describeValue(parsed.value)}.`);
  if (list.length > MAX_ENTRIES) return refused(`Expected at most ${MAX_ENTRIES} tools in one file, got ${list.length}. Split it into several files.`);
  const reader = new ManifestReader(file, parsed.text, base, list);
  return reader.read(executeOf);
}

function listOf(value: unknown): { readonly list?: readonly unknown[]; readonly base: Path } {
  if (Array.isArray(value)) return { list: value, base: [] };
  if (isPlainObject(value) && Object.hasOwn(value, 'tools') && Array.isArray(value['tools'])) return { list: value['tools'], base: ['tools'] };
  return { base: [] };
}

class ManifestReader {
  readonly #file: string;
  readonly #text: JsonText;
  readonly #base: Path;
  readonly #list: readonly unknown[];
  readonly #issues: ManifestIssue[] = [];
  readonly #suggest: Suggester = createSuggester();
  readonly #lineByName = new Map<string, number>();

  constructor(file: string, text: JsonText, base: Path, list: readonly unknown[]) {
    this.#file = file;
    this.#text = text;
    this.#base = base;
    this.#list = list;
  }

  read(executeOf: NonNullable<ReadOptions['executeOf']>): ReadResult {
    // Half characters and endless numbers cannot be stored or sent: their entries are left out.
    const spoiled = new Set<unknown>();
    for (const { path, message, severity, line, column } of this.#text.findings()) {
      const index = path[this.#base.length];
      if (severity === 'error') spoiled.add(index);
      this.#issues.push({ file: this.#file, path: pointerOf(path), line, column, ...nameOf(typeof index === 'number' ? this.#list[index] : undefined), message, severity });
    }
    const entries = this.#list.flatMap((raw, index) => {
      const read = this.#entry(raw, index, executeOf);
      return read === undefined || spoiled.has(index) ? [] : [read];
    });
    const sorted = this.#issues.sort((a, b) => a.line - b.line || a.column - b.column);
    return { entries, issues: this.#bounded(sorted), total: this.#list.length };
  }

  #entry(raw: unknown, index: number, executeOf: NonNullable<ReadOptions['executeOf']>): ReadEntry | undefined {
    if (!isPlainObject(raw)) {
      this.#say(index, raw, { path: [], message: `Expected a tool as an object, got ${describeValue(raw)}.`, severity: 'error' });
      return undefined;
    }
    const unwrapped = unwrapEntry(raw);
    // Numbers beyond all bounds are reported already.
    const cloned = cloneFinite(unwrapped.fields);
    if (cloned === undefined) return undefined;
    const renamed = withAuth(cloned);
    const fields = renamed ?? cloned;
    const findings = [...this.#wrapperFaults(unwrapped), ...checkEntry(fields, this.#suggest), ...this.#duplicate(fields, index)];
    const wrong = new Set(findings.filter(({ severity }) => severity === 'error').map(({ path }) => path[0]));
    const { definition, faults } = define(fields as ManifestEntry, wrong, executeOf);
    for (const finding of [...findings, ...faults]) this.#say(index, raw, { ...finding, path: placeIn(unwrapped, renamed !== undefined && finding.path[0] === 'auth' ? ['authentication', ...finding.path.slice(1)] : finding.path) });
    if (definition === undefined) return undefined;
    return Object.freeze({ index, line: this.#text.positionAt([...this.#base, index]).line, entry: fields as ManifestEntry, definition });
  }

  #wrapperFaults({ twice }: UnwrappedEntry): readonly EntryFinding[] {
    return twice.map((key) => ({ path: [key], message: 'Expected a key beside "function" or inside of it, got two different values. Leave one out.', severity: 'error' }));
  }

  #duplicate({ name }: Readonly<Record<string, unknown>>, index: number): readonly EntryFinding[] {
    if (typeof name !== 'string') return [];
    const first = this.#lineByName.get(name);
    if (first !== undefined) return [{ path: ['name'], message: `Expected a name that no other tool of the file has, got ${describeValue(name)} again (first in line ${first}). Rename or remove one.`, severity: 'error' }];
    this.#lineByName.set(name, this.#text.positionAt([...this.#base, index]).line);
    return [];
  }

  #say(index: number, raw: unknown, { path, message, severity }: EntryFinding): void {
    const place = [...this.#base, index, ...path];
    this.#issues.push({ file: this.#file, path: pointerOf(place), ...this.#text.positionAt(place), ...nameOf(raw), message, severity });
  }

  /** Limits the issues, but never drops errors for warnings. */
  #bounded(issues: readonly ManifestIssue[]): readonly ManifestIssue[] {
    if (issues.length <= MAX_ISSUES) return issues.map((issue) => Object.freeze(issue));
    const ranked = [...issues].sort((a, b) => Number(a.severity === 'warning') - Number(b.severity === 'warning'));
    const kept = new Set(ranked.slice(0, MAX_ISSUES));
    const { severity } = ranked[MAX_ISSUES]!;
    const more: ManifestIssue = { file: this.#file, path: '', line: 1, column: 1, message: `Expected fewer issues in one file, got ${issues.length - MAX_ISSUES} more.`, severity };
    return [...issues.filter((issue) => kept.has(issue)), more].map((issue) => Object.freeze(issue));
  }
}

function cloneFinite(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  try {
    return cloneFrozen(fields);
  } catch {
    return undefined;
  }
}

/** Returns a path, inside the wrapper if the key stands there. */
function placeIn({ inside }: UnwrappedEntry, path: Path): Path {
  return typeof path[0] === 'string' && inside.has(path[0]) ? ['function', ...path] : path;
}

function nameOf(raw: unknown): { readonly entryName?: string } {
  if (!isPlainObject(raw)) return {};
  const { name } = unwrapEntry(raw).fields;
  return typeof name === 'string' ? { entryName: name.slice(0, 128) } : {};
}

/** Defines the tool. If keys are wrong, the rest is tried, so that contradictions are reported at the same time. */
function define(entry: ManifestEntry, wrong: ReadonlySet<unknown>, executeOf: NonNullable<ReadOptions['executeOf']>): { readonly definition?: ToolDefinition; readonly faults: readonly EntryFinding[] } {
  try {
    if (wrong.size === 0) return { definition: defineEntry(entry, executeOf(entry)), faults: [] };
    const rest = Object.fromEntries(Object.entries(entry).filter(([key]) => !wrong.has(key)));
    defineEntry({ name: 'tool', description: 'tool', ...rest });
    return { faults: [] };
  } catch (error) {
    if (!isToolError(error, 'INVALID_METADATA')) throw error;
    return { faults: issuesOf(error).map(({ path: [option, ...rest], message }) => ({ path: option === undefined ? [] : [KEY_OF_OPTION.get(String(option)) ?? option, ...rest], message: inManifestKeys(message), severity: 'error' })) };
  }
}
