import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { expectedGot, invalidArgument, suggestNames } from '../../core/issues.js';
import { checkOptions, type FieldsOf, text } from '../../core/options.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import { hasErrors, readFiles } from './file-content.js';
import type { ManifestEntry } from './manifest-entry.js';
import {
  findManifestFiles,
  type ManifestFile,
  personaOfPath,
  shownPath,
} from './manifest-files.js';
import {
  type CapabilityFinding,
  duplicateName,
  findingAt,
  type ManifestIssue,
  type Place,
  ToolManifestValidationError,
  wholeFinding,
} from './manifest-issue.js';
import { allowsPersona, ownerKey, personaKey } from './persona.js';
import type { DeclaredTool, ExecuteOf } from './read-manifest.js';

type Found<At extends Place> = CapabilityFinding & Pick<At, 'line' | 'column'>;

/** The source of manifests: files, or a folder. */
export type ManifestSource =
  string | URL | readonly (string | URL)[] | { readonly root: string | URL };

/** Functions by tool name or `handler_ref`. */
export type Handlers =
  ReadonlyMap<string, Execute<never>> | Readonly<Record<string, Execute<never>>>;

/** The fields that both loaders have. `handlerMap` checks the handlers. */
export const loadShape = {
  persona: text().optional(),
  handlers: z.custom<Handlers>().optional(),
  onInvalid: z.enum(['throw', 'quarantine']).default('throw'),
};
const rootSchema = z.strictObject({ root: z.unknown() });

/** Returns the paths of the files, or of the folder to search. */
function pathsOf(
  source: unknown,
): { readonly root: string } | { readonly paths: readonly string[] } {
  if (Array.isArray(source)) {
    if (source.length === 0) throw invalidArgument('at least one manifest file', source);
    return { paths: source.map(pathOf) };
  }
  if (!isPlainObject(source)) return { paths: [pathOf(source)] };
  return {
    root: pathOf(checkOptions(rootSchema, source, 'fields of the source of manifests').root),
  };
}

function pathOf(value: unknown): string {
  if (value instanceof URL && value.protocol === 'file:') return fileURLToPath(value);
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value;
  throw invalidArgument('the path of a manifest file, or {root: the path of a folder}', value);
}

/** Returns handlers as a map. @throws ToolError `INVALID_ARGUMENT` unless they are functions by name. */
export function handlerMap(handlers: unknown): ReadonlyMap<string, Execute<never>> {
  if (handlers !== undefined && !(handlers instanceof Map) && !isPlainObject(handlers))
    throw invalidArgument('handlers as an object or Map of functions', handlers);
  const works = new Map<string, unknown>(
    handlers instanceof Map ? handlers : Object.entries(handlers ?? {}),
  );
  for (const [name, work] of works)
    if (typeof work !== 'function')
      throw invalidArgument(`a function as handler ${describeValue(name)}`, work);
  return works as ReadonlyMap<string, Execute<never>>;
}

/** Returns the functions of tools by `handler_ref`, or else by name. */
export function workOf(works: ReadonlyMap<string, Execute<never>>): ExecuteOf {
  return ({ name, handler_ref: reference }) => works.get(reference ?? name) ?? works.get(name);
}

/** Returns a warning for each handler that no tool uses. */
export function unusedHandlers<At extends Place>(
  handlers: Iterable<string>,
  tools: readonly DeclaredTool[],
  place: At,
): readonly Found<At>[] {
  const names = new Set(
    tools.flatMap(({ entry: { name, definition } }) => [name, definition.handlerRef ?? name]),
  );
  return [...handlers]
    .filter((handler) => !names.has(handler))
    .map((handler) => {
      const [close] = suggestNames(handler, [...names]);
      const message = expectedGot(
        'handlers by the name or handler_ref of a tool in the manifests',
        describeValue(handler),
        close === undefined ? 'Nothing calls it.' : `Did you mean ${JSON.stringify(close)}?`,
      );
      return findingAt(place, 'dangling', 'warning', message);
    });
}

/** The options of `loadManifest`. */
export interface LoadManifestOptions {
  /**
   * The treatment of wrong entries: `throw` refuses everything, and `quarantine` leaves only them out. @default 'throw'
   */
  readonly onInvalid?: 'throw' | 'quarantine';
  /**
   * The persona to load tools for: shared ones and its own, which replace shared ones of the same name. @default all
   */
  readonly persona?: string;
  /** The functions of the tools, by name or `handler_ref`. @default none */
  readonly handlers?: Handlers;
}

const schema = z.strictObject(loadShape satisfies FieldsOf<LoadManifestOptions>);

/** A usable tool of a manifest file, with its place. */
export interface LoadedEntry {
  /** The position in the list, from 0. */
  readonly index: number;
  /** The line where it starts, from 1. */
  readonly line: number;
  /** The entry in the file, frozen, without its function-calling wrapper. */
  readonly entry: ManifestEntry;
  readonly definition: ToolDefinition;
  /** The file, relative to the working directory if possible. */
  readonly file: string;
  /** The persona that owns the file, spelled as its folder. Shared tools have none. */
  readonly persona?: string;
}

/** The tools of manifest files, with everything that's wrong in them. */
export interface LoadedManifest {
  /** The tools in the order of files and entries. Several personas may have the same name, unless one was requested. */
  readonly definitions: readonly ToolDefinition[];
  /** The same tools with their entries. */
  readonly entries: readonly LoadedEntry[];
  /** The errors and warnings of all files. */
  readonly issues: readonly ManifestIssue[];
  /** The number of entries in the files, usable or not, for any persona. */
  readonly total: number;
}

/**
 * Loads tools from manifest files.
 *
 * A source is a path, several paths, or `{root}` for all files of a folder (see `findManifestFiles`). A file may have 1
 * MiB and 1,000 tools. Warnings, such as unknown keys, are in the issues and refuse nothing.
 *
 * @throws ToolManifestValidationError with every error of every file, unless `onInvalid` is `quarantine`. A file that
 * can't be read is an error, too.
 * @throws ToolError `INVALID_ARGUMENT` for wrong arguments.
 */
export async function loadManifest(
  source: ManifestSource,
  options: LoadManifestOptions = {},
): Promise<LoadedManifest> {
  const {
    onInvalid,
    persona: asked,
    handlers,
  } = checkOptions(schema, options, 'options of loadManifest');
  const works = handlerMap(handlers);
  const { root, files, issues: found } = await manifestFilesOf(source);
  const contents = await readFiles(files, workOf(works));
  const issues = [...found, ...contents.flatMap((content) => content.findings)];
  const tools = withoutDuplicates(
    contents.flatMap((content) => content.tools),
    issues,
  );
  // Only a folder has all tools. Handlers for single files may belong to other files.
  if (root !== undefined && !hasErrors(issues))
    issues.push(
      ...unusedHandlers(works.keys(), tools, {
        owner: null,
        file: shownPath(root, root),
        line: 1,
        column: 1,
        path: '',
      }),
    );
  if (onInvalid === 'throw' && hasErrors(issues))
    throw new ToolManifestValidationError(issues.filter(({ severity }) => severity === 'error'));
  const entries = (asked === undefined ? tools : toolsFor(tools, asked)).map(
    ({ owner, index, line, manifest, source: file, entry: { definition } }): LoadedEntry =>
      Object.freeze({
        index,
        line,
        entry: manifest,
        definition,
        file,
        ...(owner !== null && { persona: owner }),
      }),
  );
  return Object.freeze({
    definitions: Object.freeze(entries.map(({ definition }) => definition)),
    entries: Object.freeze(entries),
    issues: Object.freeze(issues),
    total: contents.reduce((sum, content) => sum + content.total, 0),
  });
}

/** Returns the files of a source with names for messages, and the root of a folder. */
async function manifestFilesOf(source: unknown): Promise<{
  readonly root?: string;
  readonly files: readonly ManifestFile[];
  readonly issues: readonly ManifestIssue[];
}> {
  const place = pathsOf(source);
  if ('paths' in place) {
    const files = place.paths.map((given): ManifestFile => {
      const path = resolve(given);
      return { path, file: shownPath(path), kind: 'tools', owner: personaOfPath(path) ?? null };
    });
    return { files, issues: [] };
  }
  const root = resolve(place.root);
  const named = <Item extends { readonly file: string }>(item: Item): Item => ({
    ...item,
    file: shownPath(join(root, item.file), root),
  });
  const found = await findManifestFiles(root);
  const files = found.files.filter(({ kind }) => kind === 'tools').map(named);
  const issues = found.issues.map(named);
  if (files.length === 0 && !hasErrors(issues)) {
    const message = 'Expected a folder with functions.json or tools.json, got none.';
    issues.push(wholeFinding(null, shownPath(root, root), { message }));
  }
  return { root, files, issues };
}

/** Returns the first tool of each owner and name. Others are reported. */
export function withoutDuplicates<Tool extends DeclaredTool>(
  tools: readonly Tool[],
  findings: Found<Tool['place']>[],
): readonly Tool[] {
  const firsts = new Map<string, Tool>();
  for (const tool of tools) {
    const { owner, place, entry } = tool;
    const key = `${ownerKey(owner)}/${entry.name}`;
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, tool);
    else {
      const { line } = first.place;
      const where = line === null ? first.source : `${first.source}:${line}`;
      const message = duplicateName('tool', entry.name, where);
      findings.push(findingAt(place, 'duplicate', 'error', message, entry.name));
    }
  }
  return [...firsts.values()];
}

/** Returns shared tools and a persona's own, which replace shared ones of the same name. Allow-lists exclude tools. */
function toolsFor<Tool extends DeclaredTool>(
  tools: readonly Tool[],
  persona: string,
): readonly Tool[] {
  const byName = new Map<string, Tool>();
  for (const owner of ['', personaKey(persona)])
    for (const tool of tools) if (ownerKey(tool.owner) === owner) byName.set(tool.entry.name, tool);
  return [...byName.values()].filter(({ entry }) => allowsPersona(entry.personaAllowlist, persona));
}
