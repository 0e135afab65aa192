import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { expectedGot, invalidArgument, suggestNames } from '../../core/issues.js';
import { checkOptions, type FieldsOf, text } from '../../core/options.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import type { ToolOptions } from '../../tool/metadata/tool-options.js';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import type { ManifestEntry } from './manifest-entry.js';
import { findManifestFiles, type ManifestFile, personaOfPath, readTextFile, shownPath } from './manifest-files.js';
import { type ManifestIssue, requireValid } from './manifest-issue.js';
import { allowsPersona, overrideShared, personaKey } from './persona.js';
import { type ReadEntry, readManifest } from './read-manifest.js';

/** The source of manifests: files, or a folder with them. */
export type ManifestSource = string | URL | readonly (string | URL)[] | { readonly root: string | URL };

/** Functions by the name of their tool, or by its `handler_ref`. */
export type Handlers = ReadonlyMap<string, Execute<never>> | Readonly<Record<string, Execute<never>>>;

/** The fields that both loaders have; `handlerMap` checks each of the handlers. */
export const loadShape = { persona: text().optional(), handlers: z.custom<Handlers>().optional(), onInvalid: z.enum(['throw', 'quarantine']).default('throw') };
const rootSchema = z.strictObject({ root: z.unknown() });

/** Returns the files, or the folder to find them in, as paths. */
export function pathsOf(source: unknown): { readonly root: string } | { readonly paths: readonly string[] } {
  if (Array.isArray(source)) {
    if (source.length === 0) throw invalidArgument('at least one manifest file', source);
    return { paths: source.map(pathOf) };
  }
  if (!isPlainObject(source)) return { paths: [pathOf(source)] };
  return { root: pathOf(checkOptions(rootSchema, source, 'fields of the source of manifests').root) };
}

function pathOf(value: unknown): string {
  if (value instanceof URL && value.protocol === 'file:') return fileURLToPath(value);
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value;
  throw invalidArgument('the path of a manifest file, or {root: the path of a folder}', value);
}

/** Returns handlers as a map. @throws ToolError `INVALID_ARGUMENT` for anything but functions by name. */
export function handlerMap(handlers: unknown): ReadonlyMap<string, Execute<never>> {
  if (handlers === undefined) return new Map();
  if (!(handlers instanceof Map) && !isPlainObject(handlers)) throw invalidArgument('handlers as an object or Map of functions', handlers);
  const entries = handlers instanceof Map ? [...(handlers as Map<unknown, unknown>)] : Object.entries(handlers);
  for (const [name, handler] of entries) {
    if (typeof name !== 'string' || typeof handler !== 'function') throw invalidArgument(`a function as handler ${describeValue(name)}`, handler);
  }
  return new Map(entries as [string, Execute<never>][]);
}

/** A handler that belongs to no tool and would never be called. */
export interface UnusedHandler {
  readonly message: string;
  /** The name that was probably meant. */
  readonly close: string | undefined;
}

/** Returns the handlers whose name is neither the name nor the `handler_ref` of any of some tools. */
export function unusedHandlers(handlers: Iterable<string>, tools: readonly Pick<ToolOptions, 'name' | 'handlerRef'>[]): readonly UnusedHandler[] {
  const names = [...new Set(tools.flatMap(({ name, handlerRef }) => (handlerRef === undefined ? name : [name, handlerRef])))];
  return [...handlers].filter((handler) => !names.includes(handler)).map((handler) => {
    const close = suggestNames(handler, names)[0];
    const advice = close === undefined ? 'Nothing calls it.' : `Did you mean ${JSON.stringify(close)}?`;
    return { message: expectedGot('handlers by the name or handler_ref of a tool in the manifests', describeValue(handler), advice), close };
  });
}

export interface LoadManifestOptions {
  /** The treatment of entries with errors: everything is refused, or only they are left out. @default 'throw' */
  readonly onInvalid?: 'throw' | 'quarantine';
  /** The persona whose tools are loaded: shared ones and its own, which replace shared ones of the same name. */
  readonly persona?: string;
  /** The work of the tools, by their names or `handler_ref`s; the others have none. */
  readonly handlers?: Handlers;
}

const schema = z.strictObject(loadShape satisfies FieldsOf<LoadManifestOptions>);

/** A usable tool of a manifest file, and its origin. */
export interface LoadedEntry extends ReadEntry {
  /** The file, relative to the working directory where that is possible. */
  readonly file: string;
  /** The persona whose file it is, as its folder spells it; missing for shared tools. */
  readonly persona?: string;
}

export interface LoadedManifest {
  /** The tools in the order of files and entries. Several personas may have the same name, unless one was requested. */
  readonly definitions: readonly ToolDefinition[];
  /** The same tools, each with the text of its file. */
  readonly entries: readonly LoadedEntry[];
  /** The errors and warnings of all files. */
  readonly issues: readonly ManifestIssue[];
  /** The number of entries in the files, usable or not, for any persona. */
  readonly total: number;
}

/**
 * Loads tools from manifest files.
 *
 * A source is a path, several, or `{root}` for all of a folder, see `findManifestFiles`. A file is at most 1 MiB with
 * at most 1,000 tools. Warnings (unknown keys, patterns that are not checked, unused handlers) are among the issues and
 * refuse nothing.
 *
 * @throws ToolManifestValidationError with every error of every file, unless `onInvalid` is `quarantine`: then the
 * result has them as issues. A file that cannot be read is an error as well.
 * @throws ToolError `INVALID_ARGUMENT` for wrong arguments.
 */
export async function loadManifest(source: ManifestSource, options: LoadManifestOptions = {}): Promise<LoadedManifest> {
  const { onInvalid, persona: asked, handlers } = checkOptions(schema, options, 'options of loadManifest');
  const works = handlerMap(handlers);
  const place = pathsOf(source);
  const { files, issues: layoutIssues } = await manifestFilesOf(place);
  const loader = new Loader((entry) => works.get(entry.handler_ref ?? entry.name) ?? works.get(entry.name));
  for (const file of files) await loader.add(file);
  const read = [...layoutIssues, ...loader.issues];
  const issues = Object.freeze([...read, ...(read.some(({ severity }) => severity === 'error') ? [] : handlerIssues(place, files, loader, works.keys()))]);
  if (onInvalid === 'throw') requireValid(issues);
  const entries = asked === undefined ? loader.entries : entriesFor(loader.entries, asked).filter(({ definition }) => allowsPersona(definition.personaAllowlist, asked));
  return Object.freeze({ definitions: Object.freeze(entries.map(({ definition }) => definition)), entries: Object.freeze([...entries]), issues, total: loader.total });
}

/**
 * Returns warnings for unused handlers. Only a whole folder has all tools: the handlers of single files may belong to
 * other files, too, unless a name is nearly right.
 */
function handlerIssues(place: ReturnType<typeof pathsOf>, files: readonly ManifestFile[], { entries }: Loader, handlers: Iterable<string>): readonly ManifestIssue[] {
  const isWhole = 'root' in place;
  const file = isWhole ? shownPath(resolve(place.root), resolve(place.root)) : files[0]!.file;
  const unused = unusedHandlers(handlers, entries.map(({ definition }) => definition)).filter(({ close }) => isWhole || close !== undefined);
  return unused.map(({ message }) => Object.freeze({ file, path: '', line: 1, column: 1, message, severity: 'warning' }));
}

async function manifestFilesOf(place: ReturnType<typeof pathsOf>): Promise<{ readonly files: readonly ManifestFile[]; readonly issues: readonly ManifestIssue[] }> {
  if ('paths' in place) {
    const files = place.paths.map((path): ManifestFile => {
      const persona = personaOfPath(resolve(path));
      return { path, file: shownPath(resolve(path)), kind: 'tools', ...(persona === undefined ? {} : { persona }) };
    });
    return { files, issues: [] };
  }
  const { files, issues } = await findManifestFiles(place.root);
  const tools = files.filter(({ kind }) => kind === 'tools');
  if (tools.length > 0 || issues.some(({ severity }) => severity === 'error')) return { files: tools, issues };
  const nothing: ManifestIssue = { file: shownPath(resolve(place.root), resolve(place.root)), path: '', line: 1, column: 1, message: 'Expected a folder with functions.json or tools.json, got none.', severity: 'error' };
  return { files: [], issues: [...issues, nothing] };
}

/**
 * Returns shared tools and those of a persona, which replace shared ones of the same name; without a persona the shared
 * ones.
 */
export function entriesFor(entries: readonly LoadedEntry[], persona: string | undefined): readonly LoadedEntry[] {
  const reachable = entries.filter((each) => each.persona === undefined || (persona !== undefined && personaKey(each.persona) === personaKey(persona)));
  return overrideShared(reachable, ({ definition }) => definition.name);
}

class Loader {
  readonly entries: LoadedEntry[] = [];
  readonly issues: ManifestIssue[] = [];
  total = 0;
  readonly #executeOf: (entry: ManifestEntry) => Execute<never> | undefined;
  /** The file in which an owner defines a name. */
  readonly #files = new Map<string, string>();

  constructor(executeOf: (entry: ManifestEntry) => Execute<never> | undefined) {
    this.#executeOf = executeOf;
  }

  async add({ path, file, persona }: ManifestFile): Promise<void> {
    const content = await readTextFile(path);
    if ('fault' in content) {
      this.issues.push(Object.freeze({ file, path: '', line: 1, column: 1, message: content.fault, severity: 'error' }));
      return;
    }
    const { entries, issues, total } = readManifest(content.text, { file, executeOf: this.#executeOf });
    this.total += total;
    this.issues.push(...issues);
    for (const entry of entries) {
      const loaded = Object.freeze({ ...entry, file, ...(persona === undefined ? {} : { persona }) });
      if (this.#isFirst(loaded)) this.entries.push(loaded);
    }
  }

  #isFirst({ entry, index, line, file, persona }: LoadedEntry): boolean {
    // A name has no blank, so that no two pairs share a key.
    const place = `${entry.name} ${persona === undefined ? '' : personaKey(persona)}`;
    const first = this.#files.get(place);
    if (first === undefined) this.#files.set(place, file);
    else this.issues.push(Object.freeze({ file, path: `/${index}/name`, line, column: 1, entryName: entry.name, message: `Expected a name that no other tool has, got ${describeValue(entry.name)} again (first in ${first}). Rename or remove one.`, severity: 'error' }));
    return first === undefined;
  }
}
