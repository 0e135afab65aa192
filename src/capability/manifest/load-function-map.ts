import { z } from 'zod';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import { anObject, checkOptions, iterable, type FieldsOf } from '../../core/options.js';
import { ToolError } from '../../core/errors.js';
import { cloneFrozen } from '../../core/plain-data.js';
import type { ToolContext } from '../../tool/tool-options.js';
import { isToolDefinition, type Execute, type ToolDefinition } from '../../tool/tool-definition.js';
import { manifestEntryOf } from './define-entry.js';
import type { ManifestEntry } from './manifest-entry.js';
import {
  entriesFor,
  handlerMap,
  loadManifest,
  loadShape,
  workOf,
  type Handlers,
} from './load-manifest.js';
import { allowsPersona } from './persona.js';

/** A tool of a function map. */
export interface MappedFunction {
  /** Runs the tool directly: nothing is checked, approved or limited. */
  readonly callable: (input?: unknown, context?: ToolContext) => unknown;
  /** The text of its manifest, in the manifest's keys, frozen to the leaves. */
  readonly metadata: ManifestEntry & {
    /** The persona whose manifest it is; missing for shared tools. */
    readonly persona?: string;
    /** The origin of the metadata: a manifest file, or a definition in code. */
    readonly source: 'manifest' | 'definition';
  };
}

/** The options of `loadFunctionMap`. */
export interface LoadFunctionMapOptions {
  /** A folder with manifests; either this or `files`. @default none */
  readonly root?: string | URL;
  /** Manifest files; either these or `root`. @default none */
  readonly files?: string | URL | readonly (string | URL)[];
  /** The persona that uses the map; without it the map has only shared tools that every persona may use. */
  readonly persona?: string;
  /** The work of the tools, by name or `handler_ref`. @default none */
  readonly handlers?: Handlers;
  /**
   * The imported modules: their exported functions and tools are the work of the tools of the same name. Handlers win
   * over them. @default none
   */
  readonly modules?: object | readonly object[];
  /** Tools from code: the work of the entries of the same name. Those without an entry are in the map as well. @default none */
  readonly definitions?: Iterable<ToolDefinition>;
  /** The treatment of wrong manifests. @default 'throw' */
  readonly onInvalid?: 'throw' | 'quarantine';
}

const schema = z.strictObject({
  ...loadShape,
  // `loadManifest` checks them.
  root: z.custom<string | URL>().optional(),
  files: z.custom<NonNullable<LoadFunctionMapOptions['files']>>().optional(),
  modules: anObject<object | readonly object[]>('imported modules').optional(),
  definitions: iterable<ToolDefinition>('a list of tools').optional(),
} satisfies FieldsOf<LoadFunctionMapOptions>);

/**
 * Loads the tools of manifests with the functions that run them: `{name: {callable, metadata}}`, frozen.
 *
 * A persona's own entry replaces the shared one of the same name; allow-lists hold, whatever their case. The callable
 * runs the tool directly, past schema, policy and approval: register the definitions and use an executor for calls that
 * a model makes. A tool whose function is not known is listed, and its callable throws `NOT_EXECUTABLE`.
 *
 * @throws ToolManifestValidationError with every error of every file, unless `onInvalid` is `quarantine`.
 * @throws ToolError `INVALID_ARGUMENT` for wrong options.
 */
export async function loadFunctionMap(
  options: LoadFunctionMapOptions,
): Promise<Readonly<Record<string, MappedFunction>>> {
  const {
    root,
    files,
    persona: asked,
    handlers,
    modules,
    definitions,
    onInvalid,
  } = checkOptions(schema, options ?? null, 'options of loadFunctionMap');
  if ((root === undefined) === (files === undefined))
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot('either root or files', root === undefined ? 'neither' : 'both'),
    );
  const fromCode = definitionMap(definitions);
  const works = new Map([
    ...definitionWorks(fromCode.values()),
    ...moduleWorks(modules),
    ...handlerMap(handlers),
  ]);
  const { entries } = await loadManifest(root === undefined ? files! : { root }, { onInvalid });

  // Without a prototype names like `constructor` are there only when a tool has them.
  const map = Object.create(null) as Record<string, MappedFunction>;
  const toolbox = entriesFor(entries, asked);
  for (const { entry, definition, persona } of toolbox) {
    if (allowsPersona(definition.personaAllowlist, asked))
      map[entry.name] = mapped(
        cloneFrozen({
          ...entry,
          ...(persona === undefined ? {} : { persona }),
          source: 'manifest' as const,
        }),
        works,
      );
  }
  const inFiles = new Set(toolbox.map(({ entry }) => entry.name));
  for (const definition of fromCode.values()) {
    // An allow-list that excludes this persona from the entry excludes it from the definition too.
    if (inFiles.has(definition.name) || !allowsPersona(definition.personaAllowlist, asked))
      continue;
    map[definition.name] = mapped(
      cloneFrozen({ ...manifestEntryOf(definition), source: 'definition' as const }),
      works,
    );
  }
  return Object.freeze(map);
}

function mapped(
  metadata: MappedFunction['metadata'],
  works: ReadonlyMap<string, Execute<never>>,
): MappedFunction {
  const { name, handler_ref: reference = name } = metadata;
  const work = workOf(works)(metadata);
  const notExecutable = () => {
    const key = JSON.stringify(reference);
    throw new ToolError(
      'NOT_EXECUTABLE',
      `Expected a function that runs the tool ${JSON.stringify(name)}, got none. Give one in handlers[${key}], or a module that exports ${key}.`,
      { details: { name } },
    );
  };
  return Object.freeze({
    metadata,
    callable:
      work === undefined
        ? notExecutable
        : (input: unknown = {}, context: ToolContext = {}) => work(input as never, context),
  });
}

function definitionMap(
  definitions: Iterable<ToolDefinition> = [],
): ReadonlyMap<string, ToolDefinition> {
  const list = [...definitions];
  const wrong = list.find((each) => !isToolDefinition(each));
  if (wrong !== undefined) throw invalidArgument('definitions made with defineTool', wrong);
  const map = new Map<string, ToolDefinition>();
  for (const definition of list) {
    if (map.has(definition.name)) throw invalidArgument('every definition once', definition.name);
    map.set(definition.name, definition);
  }
  return map;
}

function definitionWorks(
  definitions: Iterable<ToolDefinition>,
): readonly (readonly [string, Execute<never>])[] {
  return [...definitions].flatMap(({ name, execute }) =>
    execute === undefined ? [] : [[name, execute as Execute<never>] as const],
  );
}

/** Returns the functions and tools that modules export; other exports are ignored. */
function moduleWorks(modules: unknown = []): readonly (readonly [string, Execute<never>])[] {
  const list: readonly unknown[] = Array.isArray(modules) ? modules : [modules];
  return list.flatMap((module) => {
    if (typeof module !== 'object' || module === null)
      throw invalidArgument('modules as imported modules', module);
    return Object.entries(module).flatMap(([name, exported]) => {
      if (isToolDefinition(exported)) return definitionWorks([exported]);
      return typeof exported === 'function' ? [[name, exported as Execute<never>] as const] : [];
    });
  });
}
