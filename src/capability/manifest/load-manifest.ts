import { z } from 'zod';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import { resolve } from 'node:path';
import { describeValue } from '../../core/plain-data.js';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import type { ManifestEntry } from './entry/manifest-entry.js';
import { findManifestFiles, personaOfPath, type ManifestFile } from './layout.js';
import { handlerMap, loadShape, pathsOf, type Handlers, type ManifestSource, unusedHandlers } from './load-options.js';
import { requireValid, type ManifestIssue } from './manifest-issue.js';
import { allowsPersona, overrideShared, personaKey } from './persona.js';
import { readTextFile, shownPath } from './read-file.js';
import { readManifest, type ReadEntry } from './text/read-manifest.js';

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
