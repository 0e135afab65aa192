import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { invalidArgument } from '../../core/issues.js';
import { checkOptions, type FieldsOf, text } from '../../core/options.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import { hasErrors, readFiles } from './file-content.js';
import type { ManifestEntry } from './manifest-entry.js';
import { findManifestFiles, type ManifestFile, personaOfPath } from './manifest-files.js';
import {
  type CapabilityFinding,
  duplicateName,
  findingAt,
  type ManifestIssue,
  ToolManifestValidationError,
  wholeFinding,
} from './manifest-issue.js';
import { allowsPersona, personaKey } from '../../core/persona.js';
import { shownPath } from '../../host/shown-path.js';
import { ownerKey } from './persona.js';
import type { DeclaredTool, ExecuteOf, ReadTool } from './read-manifest.js';

/** The source of manifests: files, or a folder that contains them. */
export type ManifestSource =
  string | URL | readonly (string | URL)[] | { readonly root: string | URL };

/** Functions, by the tool's name or `handler_ref`. */
export type Handlers =
  ReadonlyMap<string, Execute<never>> | Readonly<Record<string, Execute<never>>>;

/** Option fields that both loaders share. `handlerMap` checks the handlers. */
export const loadShape = {
  persona: text().optional(),
  handlers: z.custom<Handlers>().optional(),
  onInvalid: z.enum(['throw', 'quarantine']).default('throw'),
};
const rootSchema = z.strictObject({ root: z.unknown() });

function pathOf(value: unknown): string {
  if (value instanceof URL && value.protocol === 'file:') return fileURLToPath(value);
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value;
  throw invalidArgument('the path of a manifest file, or {root: the path of a folder}', value);
}

/**
 * Returns handlers as a map.
 * @throws ToolError `INVALID_ARGUMENT` unless they're functions by name.
 */
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

/** Returns a function that looks up a tool's handler by `handler_ref`, or else by name. */
export function workOf(works: ReadonlyMap<string, Execute<never>>): ExecuteOf {
  return ({ name, handler_ref: reference }) => works.get(reference ?? name) ?? works.get(name);
}

/** Options for `loadManifest`. */
export interface LoadManifestOptions {
  /**
   * The treatment of entries with errors: `throw` refuses everything, `quarantine` skips those
   * entries.
   * @default 'throw'
   */
  readonly onInvalid?: 'throw' | 'quarantine';
  /**
   * The persona whose tools are loaded. The persona's own tools replace shared tools with the same
   * name.
   * @default all
   */
  readonly persona?: string;
  /**
   * The tools' functions, by name or `handler_ref`. A tool that isn't listed here has no function.
   * @default none
   */
  readonly handlers?: Handlers;
}

const schema = z.strictObject(loadShape satisfies FieldsOf<LoadManifestOptions>);

/** A usable tool from a manifest file, and its place there. */
export interface LoadedEntry {
  /** The entry's index in the file's list, from 0. */
  readonly index: number;
  /** The line where the entry starts, from 1. */
  readonly line: number;
  /** The entry's text in the file, frozen, without its function-calling wrapper. */
  readonly entry: ManifestEntry;
  readonly definition: ToolDefinition;
  /** The file, relative to the working directory if possible. */
  readonly file: string;
  /** The persona that owns the file, spelled like its folder. Missing for shared tools. */
  readonly persona?: string;
}

/** The tools in manifest files, and the problems found in them. */
export interface LoadedManifest {
  /**
   * The tools, in the order in which the files are listed and the tools occur in them. Several
   * personas may have tools with the same name, unless you requested one persona.
   */
  readonly definitions: readonly ToolDefinition[];
  /** The same tools, each with its text in the file. */
  readonly entries: readonly LoadedEntry[];
  /** The errors and warnings in all files. */
  readonly issues: readonly ManifestIssue[];
  /**
   * The number of entries in the files, including unusable entries and the entries of other
   * personas.
   */
  readonly total: number;
}

/**
 * Loads tools from manifest files.
 *
 * A source is a path, several paths, or `{root}` for everything in a folder (see
 * `findManifestFiles`). A file has at most 1 MiB and 1,000 tools. Warnings, for example about
 * unknown keys, are listed in `issues`, but a manifest isn't refused because of a warning.
 *
 * @throws ToolManifestValidationError, which lists every error of every file. With `onInvalid:
 * 'quarantine'`, the errors are in the result's `issues` instead. An unreadable file counts as an
 * error.
 * @throws ToolError `INVALID_ARGUMENT` for invalid arguments.
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
  const { files, issues: found } = await manifestFilesOf(source);
  const contents = await readFiles(files, workOf(handlerMap(handlers)));
  const issues = [...found];
  const declared: ReadTool[] = [];
  let total = 0;
  for (const content of contents) {
    issues.push(...content.findings);
    declared.push(...content.tools);
    total += content.total;
  }
  const tools = withoutDuplicates(declared, issues);
  if (onInvalid === 'throw' && hasErrors(issues))
    throw new ToolManifestValidationError(issues.filter(({ severity }) => severity === 'error'));
  const entries = (asked === undefined ? tools : toolsFor(tools, asked)).map(loadedEntry);
  return Object.freeze({
    definitions: Object.freeze(entries.map(({ definition }) => definition)),
    entries: Object.freeze(entries),
    issues: Object.freeze(issues),
    total,
  });
}

function loadedEntry({ owner, index, line, manifest, source, entry }: ReadTool): LoadedEntry {
  const { definition } = entry;
  return Object.freeze({
    index,
    line,
    entry: manifest,
    definition,
    file: source,
    ...(owner !== null && { persona: owner }),
  });
}

/** Returns a source's files, with names for messages. */
async function manifestFilesOf(
  source: unknown,
): Promise<{ readonly files: readonly ManifestFile[]; readonly issues: readonly ManifestIssue[] }> {
  if (!isPlainObject(source)) {
    const paths = [source].flat();
    if (paths.length === 0) throw invalidArgument('at least one manifest file', source);
    const files = paths.map((named): ManifestFile => {
      const path = resolve(pathOf(named));
      return { path, file: shownPath(path), kind: 'tools', owner: personaOfPath(path) ?? null };
    });
    return { files, issues: [] };
  }
  const { root: folder } = checkOptions(rootSchema, source, 'fields of the source of manifests');
  const root = resolve(pathOf(folder));
  const named = <Item extends { readonly file: string }>(item: Item): Item => ({
    ...item,
    file: shownPath(join(root, item.file), root),
  });
  const found = await findManifestFiles(root);
  const files = found.files.filter(({ kind }) => kind === 'tools').map(named);
  const issues = found.issues.map(named);
  if (files.length === 0 && !hasErrors(issues)) {
    const message = 'The folder contains no functions.json or tools.json.';
    issues.push(wholeFinding(null, shownPath(root, root), { message }));
  }
  return { files, issues };
}

/** Returns the first tool for each owner and name, and reports duplicates. */
export function withoutDuplicates<Tool extends DeclaredTool>(
  tools: readonly Tool[],
  findings: (CapabilityFinding & Pick<Tool['place'], 'line' | 'column'>)[],
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

/**
 * Returns a persona's own tools, and the shared tools that they don't replace. Tools whose
 * allow-list excludes the persona are left out.
 */
function toolsFor<Tool extends DeclaredTool>(
  tools: readonly Tool[],
  persona: string,
): readonly Tool[] {
  const byName = new Map<string, Tool>();
  for (const owner of ['', personaKey(persona)])
    for (const tool of tools) if (ownerKey(tool.owner) === owner) byName.set(tool.entry.name, tool);
  return [...byName.values()].filter(({ entry }) => allowsPersona(entry.personaAllowlist, persona));
}
