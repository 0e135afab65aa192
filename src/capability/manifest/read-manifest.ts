import { isToolError, issuesOf } from '../../core/errors.js';
import { cloneFrozen, isPlainObject } from '../../core/plain-data.js';
import { entryOf, type Execute, type ToolEntry } from '../../tool/tool-definition.js';
import { checkEntry } from './check-entry.js';
import { defineEntry, inManifestKeys, KEY_OF_OPTION } from './define-entry.js';
import type { EntryFinding, JsonPath, Position } from './json-text.js';
import type { ManifestEntry } from './manifest-entry.js';
import type { Place } from './manifest-issue.js';
import { type Fields, readEntries, type ReadEntries } from './read-entries.js';

/** A tool and its origin: a file, the program itself, or a source. */
export interface DeclaredTool {
  readonly owner: string | null;
  readonly entry: ToolEntry;
  /**
   * The tool's entry in its file, frozen, without its function-calling wrapper. `null` if the tool
   * isn't from a file.
   */
  readonly manifest: ManifestEntry | null;
  /** The file, `code`, or the name of the source. */
  readonly source: string;
  readonly place: Place;
}

/** A usable tool from a manifest file. */
export interface ReadTool extends DeclaredTool {
  readonly manifest: ManifestEntry;
  /** The entry's index in the file's list, from 0. */
  readonly index: number;
  /** The line where the entry starts, from 1. */
  readonly line: number;
  readonly place: Place & Position;
}

/** Returns a tool's function, if it's known. */
export type ExecuteOf = (entry: ManifestEntry) => Execute<never> | undefined;

/**
 * Parses a manifest's text: a JSON list of tools, or an object with such a list under `tools`.
 * Never throws.
 */
export function readManifest(
  text: string,
  {
    file = 'manifest',
    owner = null,
    executeOf = () => undefined,
  }: {
    readonly file?: string;
    readonly owner?: string | null;
    readonly executeOf?: ExecuteOf;
  } = {},
): ReadEntries<ReadTool> {
  return readEntries(text, 'tool', { owner, file }, ({ fields: raw, index, placeOf }, tell) => {
    const { fields, pathOf } = plainForm(raw);
    const { line } = placeOf([]);
    const findings = checkEntry(fields);
    const { made, faults } = define(fields, findings, executeOf);
    for (const finding of [...findings, ...faults])
      tell({ ...finding, path: pathOf(finding.path) });
    return (
      made && {
        ...made,
        owner,
        source: file,
        place: placeOf(pathOf(['name'])),
        index,
        line,
      }
    );
  });
}

/**
 * Unwraps the function-calling form, `{type: "function", function: {name, description,
 * parameters}}`. Metadata may be next to `function` or inside `function`. Metadata inside
 * `function` takes precedence. `pathOf` returns a field's path in the text.
 */
function plainForm(raw: Fields): {
  readonly fields: Fields;
  readonly pathOf: (path: JsonPath) => JsonPath;
} {
  const { function: inside, ...beside } = raw;
  if (!isPlainObject(inside)) return { fields: raw, pathOf: (path) => path };
  return {
    fields: { ...beside, ...inside },
    pathOf: ([key, ...rest]) => {
      if (key === undefined) return [];
      return Object.hasOwn(inside, key) ? ['function', key, ...rest] : [key, ...rest];
    },
  };
}

/** Replaces an invalid name or description while the other fields are checked. */
const UNNAMED: object = { name: 'tool', description: 'tool' };

/**
 * Defines the tool without its invalid keys, so that contradictions are reported along with the
 * other errors.
 */
function define(
  fields: Fields,
  findings: readonly EntryFinding[],
  executeOf: ExecuteOf,
): {
  readonly made?: { readonly entry: ToolEntry; readonly manifest: ManifestEntry };
  readonly faults: readonly EntryFinding[];
} {
  const wrong = new Set<unknown>(
    findings.filter(({ severity }) => severity === 'error').map(({ path }) => path[0]),
  );
  const right = Object.entries(fields).filter(([key]) => !wrong.has(key));
  try {
    const manifest = cloneFrozen(Object.fromEntries(right)) as ManifestEntry;
    const named: ManifestEntry = { ...UNNAMED, ...manifest };
    const entry = entryOf(defineEntry(named, executeOf(named)));
    return wrong.size === 0 ? { made: { entry, manifest }, faults: [] } : { faults: [] };
  } catch (error) {
    const issues = isToolError(error, 'INVALID_METADATA')
      ? issuesOf(error)
      : [{ path: [], message: `Expected ${(error as Error).message}.` }];
    const faults = issues.map(({ path: [option, ...rest], message }): EntryFinding => {
      const path =
        option === undefined ? [] : [KEY_OF_OPTION.get(String(option)) ?? option, ...rest];
      return { path, message: inManifestKeys(message), severity: 'error' };
    });
    return { faults };
  }
}
