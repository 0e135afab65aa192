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
  const found = readList(text, `${kind}s`);
  if (!found.ok) return { entries: [], issues: [wholeFinding(owner, file, found.fault)], total: 0 };
  const { list, findings } = found;
  const source = new EntrySource(owner, file, found);
  const issues: ManifestIssue[] = findings.map((finding) => source.issueOf(finding));
  const entries: Item[] = [];
  for (const [index, fields] of list.entries()) {
    const tell = (finding: EntryFinding) =>
      void issues.push(source.issueOf({ ...finding, path: source.pathIn(index, finding.path) }));
    if (!isPlainObject(fields)) {
      const message = `Expected a ${kind} as an object, got ${describeValue(fields)}.`;
      tell({ path: [], message, severity: 'error' });
      continue;
    }
    const placeOf = (path: JsonPath) => source.placeOf(source.pathIn(index, path));
    const item = read({ owner, file, index, fields, placeOf }, tell);
    if (item !== undefined) entries.push(item);
  }
  issues.sort((a, b) => a.line - b.line || a.column - b.column);
  return { entries, issues, total: list.length };
}

/** The list of entries in a text, and the places of their values. */
class EntrySource {
  readonly #owner: string | null;
  readonly #file: string;
  readonly #source: Extract<ReturnType<typeof readList>, { readonly ok: true }>;

  constructor(
    owner: string | null,
    file: string,
    source: Extract<ReturnType<typeof readList>, { readonly ok: true }>,
  ) {
    this.#owner = owner;
    this.#file = file;
    this.#source = source;
  }

  /** Returns the path in the text of a path in an entry. */
  pathIn(index: number, path: JsonPath): JsonPath {
    return [...this.#source.base, index, ...path];
  }

  placeOf(path: JsonPath) {
    const position = this.#source.positionAt(path);
    return { owner: this.#owner, file: this.#file, ...position, path: pointerOf(path) };
  }

  issueOf({ path, severity, message }: EntryFinding): ManifestIssue {
    const { base, list } = this.#source;
    const name = entryNameOf(list[path[base.length] as number]);
    return findingAt(this.placeOf(path), 'invalid', severity, message, name);
  }
}

/** Returns an entry's name, even if other parts of the entry are invalid. */
export function entryNameOf(entry: unknown): string | undefined {
  if (!isPlainObject(entry)) return undefined;
  const { name } = { ...entry, ...(isPlainObject(entry['function']) && entry['function']) };
  return (typeof name === 'string' && name.trim().slice(0, 128)) || undefined;
}
