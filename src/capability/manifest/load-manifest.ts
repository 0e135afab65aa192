import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { expectedGot, invalidArgument, suggestNames } from '../../core/issues.js';
import { checkOptions, type FieldsOf, text } from '../../core/options.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import type { ToolOptions } from '../../tool/tool-options.js';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import {
  findManifestFiles,
  personaOfPath,
  readTextFile,
  shownPath,
  type FolderFiles,
  type ManifestFile,
} from './manifest-files.js';
import { fileIssue, requireValid, type ManifestIssue } from './manifest-issue.js';
import { allowsPersona, personaKey } from './persona.js';
import { readManifest, type ExecuteOf, type ReadEntry } from './read-manifest.js';

/** The source of manifests: files, or a folder with them. */
export type ManifestSource =
  string | URL | readonly (string | URL)[] | { readonly root: string | URL };

/** Functions by the name of their tool, or by its `handler_ref`. */
export type Handlers =
  ReadonlyMap<string, Execute<never>> | Readonly<Record<string, Execute<never>>>;

/** The fields that both loaders have; `handlerMap` checks each of the handlers. */
export const loadShape = {
  persona: text().optional(),
  handlers: z.custom<Handlers>().optional(),
  onInvalid: z.enum(['throw', 'quarantine']).default('throw'),
};
const rootSchema = z.strictObject({ root: z.unknown() });

/** Returns the files, or the folder to find them in, as paths. */
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

/** Returns handlers as a map. @throws ToolError `INVALID_ARGUMENT` for anything but functions by name. */
export function handlerMap(handlers: unknown): ReadonlyMap<string, Execute<never>> {
  if (handlers === undefined) return new Map();
  if (!(handlers instanceof Map) && !isPlainObject(handlers))
    throw invalidArgument('handlers as an object or Map of functions', handlers);
  const entries =
    handlers instanceof Map ? [...(handlers as Map<unknown, unknown>)] : Object.entries(handlers);
  for (const [name, handler] of entries) {
    if (typeof name !== 'string' || typeof handler !== 'function')
      throw invalidArgument(`a function as handler ${describeValue(name)}`, handler);
  }
  return new Map(entries as [string, Execute<never>][]);
}

/** Returns the work of tools by their `handler_ref`, or else by their name. */
export function workOf(works: ReadonlyMap<string, Execute<never>>): ExecuteOf {
  return ({ name, handler_ref: reference }) => works.get(reference ?? name) ?? works.get(name);
}

/**
 * Returns a message for each handler that no tool has as its name or `handler_ref`, so that nothing would ever call it.
 *
 * @param onlyClose leaves out those that look like the name of no tool.
 */
export function unusedHandlers(
  handlers: Iterable<string>,
  tools: readonly Pick<ToolOptions, 'name' | 'handlerRef'>[],
  onlyClose = false,
): readonly string[] {
  const names = [
    ...new Set(
      tools.flatMap(({ name, handlerRef }) =>
        handlerRef === undefined ? name : [name, handlerRef],
      ),
    ),
  ];
  return [...handlers]
    .filter((handler) => !names.includes(handler))
    .flatMap((handler) => {
      const close = suggestNames(handler, names)[0];
      if (close === undefined && onlyClose) return [];
      const advice =
        close === undefined ? 'Nothing calls it.' : `Did you mean ${JSON.stringify(close)}?`;
      return expectedGot(
        'handlers by the name or handler_ref of a tool in the manifests',
        describeValue(handler),
        advice,
      );
    });
}

/** The options of `loadManifest`. */
export interface LoadManifestOptions {
  /** The treatment of entries with errors: everything is refused, or only they are left out. @default 'throw' */
  readonly onInvalid?: 'throw' | 'quarantine';
  /** The persona whose tools are loaded: shared ones and its own, which replace shared ones of the same name. @default all */
  readonly persona?: string;
  /** The work of the tools, by their names or `handler_ref`s; the others have none. @default none */
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

/** The tools of manifest files, and what is wrong in them. */
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
  const place = pathsOf(source);
  const { files, issues: folderIssues } = await manifestFilesOf(place);
  const issues = [...folderIssues];
  const loaded: LoadedEntry[] = [];
  let total = 0;
  /** The file in which an owner defines a name first. A name has no blank, so that no two pairs share a key. */
  const fileOf = new Map<string, string>();
  for (const { path, file, persona } of files) {
    const content = await readTextFile(path);
    const read =
      'fault' in content
        ? { entries: [], issues: [fileIssue(file, content.fault)], total: 0 }
        : readManifest(content.text, { file, executeOf: workOf(works) });
    total += read.total;
    issues.push(...read.issues);
    for (const each of read.entries) {
      const { name } = each.entry;
      const key = `${name} ${persona === undefined ? '' : personaKey(persona)}`;
      const first = fileOf.get(key);
      if (first === undefined) {
        fileOf.set(key, file);
        loaded.push(
          Object.freeze({ ...each, file, ...(persona === undefined ? {} : { persona }) }),
        );
      } else
        issues.push(
          Object.freeze({
            ...fileIssue(
              file,
              `Expected a name that no other tool has, got ${describeValue(name)} again (first in ${first}). Rename or remove one.`,
            ),
            path: `/${each.index}/name`,
            line: each.line,
            entryName: name,
          }),
        );
    }
  }
  if (!issues.some(({ severity }) => severity === 'error')) {
    // Only a whole folder has all tools: the handlers of single files may belong to other files, unless a name is nearly right.
    const isWhole = 'root' in place;
    const shown = isWhole ? shownPath(resolve(place.root), resolve(place.root)) : files[0]!.file;
    issues.push(
      ...unusedHandlers(
        works.keys(),
        loaded.map(({ definition }) => definition),
        !isWhole,
      ).map((message) => fileIssue(shown, message, 'warning')),
    );
  }
  if (onInvalid === 'throw') requireValid(issues);
  const entries =
    asked === undefined
      ? loaded
      : entriesFor(loaded, asked).filter(({ definition }) =>
          allowsPersona(definition.personaAllowlist, asked),
        );
  return Object.freeze({
    definitions: Object.freeze(entries.map(({ definition }) => definition)),
    entries: Object.freeze([...entries]),
    issues: Object.freeze(issues),
    total,
  });
}

async function manifestFilesOf(place: ReturnType<typeof pathsOf>): Promise<FolderFiles> {
  if ('paths' in place) {
    const files = place.paths.map((path): ManifestFile => {
      const persona = personaOfPath(resolve(path));
      return {
        path,
        file: shownPath(resolve(path)),
        kind: 'tools',
        ...(persona === undefined ? {} : { persona }),
      };
    });
    return { files, issues: [] };
  }
  const { files, issues } = await findManifestFiles(place.root);
  const tools = files.filter(({ kind }) => kind === 'tools');
  if (tools.length > 0 || issues.some(({ severity }) => severity === 'error'))
    return { files: tools, issues };
  return {
    files: [],
    issues: [
      ...issues,
      fileIssue(
        shownPath(resolve(place.root), resolve(place.root)),
        'Expected a folder with functions.json or tools.json, got none.',
      ),
    ],
  };
}

/** Returns shared tools and those of a persona, which replace shared ones of the same name; without a persona the shared ones. */
export function entriesFor(
  entries: readonly LoadedEntry[],
  persona: string | undefined,
): readonly LoadedEntry[] {
  const byName = new Map<string, LoadedEntry>();
  for (const each of entries) {
    if (
      each.persona !== undefined &&
      (persona === undefined || personaKey(each.persona) !== personaKey(persona))
    )
      continue;
    if (each.persona !== undefined || !byName.has(each.definition.name))
      byName.set(each.definition.name, each);
  }
  return [...byName.values()];
}
