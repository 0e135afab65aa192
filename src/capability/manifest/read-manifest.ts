import { isToolError, issuesOf } from '../../core/errors.js';
import { cloneFrozen, describeValue, isPlainObject } from '../../core/plain-data.js';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import { checkEntry, createSuggester } from './check-entry.js';
import { defineEntry, inManifestKeys, KEY_OF_OPTION } from './define-entry.js';
import { pointerOf, readList, type EntryFinding, type Path, type Position } from './json-text.js';
import type { ManifestEntry } from './manifest-entry.js';
import type { ManifestIssue } from './manifest-issue.js';

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

/** Returns the work of a tool, if it is known. */
export type ExecuteOf = (entry: ManifestEntry) => Execute<never> | undefined;

/**
 * Reads the text of a manifest: a JSON list of tools, or an object with such a list under `tools`.
 *
 * Every entry is checked by itself; one with an error is left out, with all its errors among the issues. Among entries
 * with the same name the first is used. A text that is no JSON has no entries at all. Never throws, whatever the text.
 */
export function readManifest(
  text: string,
  {
    file = 'manifest',
    executeOf = () => undefined,
  }: { readonly file?: string; readonly executeOf?: ExecuteOf } = {},
): ReadResult {
  const issues: ManifestIssue[] = [];
  const say = (
    { path, message, severity }: EntryFinding,
    { line, column }: Position,
    raw?: unknown,
  ) =>
    issues.push({ file, path: pointerOf(path), line, column, ...nameOf(raw), message, severity });
  const read = readList(text, 'tools');
  if (!read.ok) {
    say(read.fault, read.fault);
    return { entries: [], issues, total: 0 };
  }
  const { list, base } = read;
  for (const finding of read.findings)
    say(finding, finding, list[finding.path[base.length] as number]);
  const suggest = createSuggester();
  const lineByName = new Map<unknown, number>();
  const entries = list.flatMap((raw, index): readonly ReadEntry[] => {
    const { line } = read.text.positionAt([...base, index]);
    const tell = (finding: EntryFinding) => {
      const path = [...base, index, ...finding.path];
      say({ ...finding, path }, read.text.positionAt(path), raw);
    };
    if (!isPlainObject(raw)) {
      tell({
        path: [],
        message: `Expected a tool as an object, got ${describeValue(raw)}.`,
        severity: 'error',
      });
      return [];
    }
    const { fields, placeOf, twice } = plainForm(raw);
    const entry = cloneFinite(fields);
    if (entry === undefined) return [];
    const findings = [...twice, ...checkEntry(fields, suggest)];
    const { name } = fields;
    const first = lineByName.get(name);
    if (first !== undefined)
      findings.push({
        path: ['name'],
        message: `Expected a name that no other tool of the file has, got ${describeValue(name)} again (first in line ${first}). Rename or remove one.`,
        severity: 'error',
      });
    else if (typeof name === 'string') lineByName.set(name, line);
    const { definition, faults } = define(entry, findings, executeOf);
    for (const finding of [...findings, ...faults])
      tell({ ...finding, path: placeOf(finding.path) });
    return definition === undefined || read.spoiled.has(index)
      ? []
      : [Object.freeze({ index, line, entry, definition })];
  });
  return {
    entries,
    issues: bounded(
      issues.sort((a, b) => a.line - b.line || a.column - b.column),
      file,
    ),
    total: list.length,
  };
}

/** Limits the issues, but never drops errors for warnings. */
function bounded(issues: readonly ManifestIssue[], file: string): readonly ManifestIssue[] {
  if (issues.length <= MAX_ISSUES) return issues.map((issue) => Object.freeze(issue));
  const ranked = [...issues].sort(
    (a, b) => Number(a.severity === 'warning') - Number(b.severity === 'warning'),
  );
  const kept = new Set(ranked.slice(0, MAX_ISSUES));
  const more: ManifestIssue = {
    file,
    path: '',
    line: 1,
    column: 1,
    message: `Expected fewer issues in one file, got ${issues.length - MAX_ISSUES} more.`,
    severity: ranked[MAX_ISSUES]!.severity,
  };
  return [...issues.filter((issue) => kept.has(issue)), more].map((issue) => Object.freeze(issue));
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Takes the forms of others apart: `{type: "function", function: {name, description, parameters}}`, with metadata
 * beside `function` or inside of it, and `authentication` for `auth`. `placeOf` returns the place of a field in the
 * text; `twice` are the keys that stand both beside and inside `function`, with different values.
 */
function plainForm(raw: Fields): {
  readonly fields: Fields;
  readonly placeOf: (path: Path) => Path;
  readonly twice: readonly EntryFinding[];
} {
  const { function: wrapped, ...beside } = raw;
  const inside: Fields = isPlainObject(wrapped) ? wrapped : {};
  const { authentication, ...others }: Fields = isPlainObject(wrapped)
    ? { ...beside, ...inside }
    : raw;
  const isRenamed = isPlainObject(authentication) && !Object.hasOwn(others, 'auth');
  const differs = (key: string) =>
    Object.hasOwn(beside, key) && JSON.stringify(beside[key]) !== JSON.stringify(inside[key]);
  return {
    fields: isRenamed
      ? { ...others, auth: authentication }
      : authentication === undefined
        ? others
        : { ...others, authentication },
    placeOf: ([first, ...rest]) => {
      if (first === undefined) return [];
      const key = isRenamed && first === 'auth' ? 'authentication' : first;
      return Object.hasOwn(inside, key) ? ['function', key, ...rest] : [key, ...rest];
    },
    twice: Object.keys(inside)
      .filter(differs)
      .map((key) => ({
        path: [key],
        message:
          'Expected a key beside "function" or inside of it, got two different values. Leave one out.',
        severity: 'error',
      })),
  };
}

/** Returns fields frozen; `undefined` with a number beyond all bounds, which is reported already. */
function cloneFinite(fields: Fields): ManifestEntry | undefined {
  try {
    return cloneFrozen(fields) as ManifestEntry;
  } catch {
    return undefined;
  }
}

function nameOf(raw: unknown): { readonly entryName?: string } {
  if (!isPlainObject(raw)) return {};
  const { name } = { ...raw, ...(isPlainObject(raw['function']) ? raw['function'] : {}) };
  return typeof name === 'string' ? { entryName: name.slice(0, 128) } : {};
}

/** Defines the tool. If keys are wrong, the rest is tried, so that contradictions are reported at the same time. */
function define(
  entry: ManifestEntry,
  findings: readonly EntryFinding[],
  executeOf: ExecuteOf,
): { readonly definition?: ToolDefinition; readonly faults: readonly EntryFinding[] } {
  const wrong = new Set<unknown>(
    findings.filter(({ severity }) => severity === 'error').map(({ path }) => path[0]),
  );
  try {
    if (wrong.size === 0) return { definition: defineEntry(entry, executeOf(entry)), faults: [] };
    const rest = Object.fromEntries(Object.entries(entry).filter(([key]) => !wrong.has(key)));
    defineEntry({ name: 'tool', description: 'tool', ...rest });
    return { faults: [] };
  } catch (error) {
    if (!isToolError(error, 'INVALID_METADATA')) throw error;
    return {
      faults: issuesOf(error).map(({ path: [option, ...rest], message }) => ({
        path: option === undefined ? [] : [KEY_OF_OPTION.get(String(option)) ?? option, ...rest],
        message: inManifestKeys(message),
        severity: 'error',
      })),
    };
  }
}
