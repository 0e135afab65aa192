import { z } from 'zod';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import { anObject, checkOptions, type FieldsOf } from '../../core/options.js';
import { ToolError } from '../../core/errors.js';
import { cloneFrozen } from '../../core/plain-data.js';
import type { ToolContext } from '../../tool/tool-options.js';
import { isToolDefinition, type Execute } from '../../tool/tool-definition.js';
import type { ManifestEntry } from './manifest-entry.js';
import { handlerMap, loadManifest, loadShape, workOf, type Handlers } from './load-manifest.js';

/** A tool in a function map. */
export interface MappedFunction {
  /** Runs the tool directly, without any check, approval or limit. */
  readonly callable: (input?: unknown, context?: ToolContext) => unknown;
  /** The tool's entry in the manifest, with the manifest's own keys, deeply frozen. */
  readonly metadata: ManifestEntry & {
    /** The persona that owns the manifest. Missing for shared tools. */
    readonly persona?: string;
    readonly source: 'manifest';
  };
}

/** Options for `loadFunctionMap`. */
export interface LoadFunctionMapOptions {
  /** A folder with manifests. Pass either `root` or `files`. @default none */
  readonly root?: string | URL;
  /** Manifest files. Pass either `files` or `root`. @default none */
  readonly files?: string | URL | readonly (string | URL)[];
  /**
   * The persona that uses the map. If omitted, the map contains only shared tools that every
   * persona may use.
   */
  readonly persona?: string;
  /** The tools' functions, by name or `handler_ref`. @default none */
  readonly handlers?: Handlers;
  /**
   * Modules that you imported. An exported function or tool runs the manifest's tool with the same
   * name. `handlers` take precedence.
   * @default none
   */
  readonly modules?: object | readonly object[];
  /** The treatment of invalid manifests: `throw` or `quarantine`. @default 'throw' */
  readonly onInvalid?: 'throw' | 'quarantine';
}

const schema = z.strictObject({
  ...loadShape,
  // `loadManifest` checks the files.
  root: z.custom<string | URL>().optional(),
  files: z.custom<NonNullable<LoadFunctionMapOptions['files']>>().optional(),
  modules: anObject<object | readonly object[]>('imported modules').optional(),
} satisfies FieldsOf<LoadFunctionMapOptions>);

/**
 * Loads the tools in manifests with the functions that run them: `{name: {callable, metadata}}`,
 * frozen.
 *
 * A persona's own entry replaces the shared entry with the same name. Tools whose allow-list
 * excludes the persona are left out. The callable runs the tool directly, without schema, policy or
 * approval. For a model's calls, register the definitions and use an executor. If a tool has no
 * known function, its callable throws `NOT_EXECUTABLE`.
 *
 * @throws ToolManifestValidationError, which lists every error of every file, unless `onInvalid` is
 * `quarantine`.
 * @throws ToolError `INVALID_ARGUMENT` for invalid options.
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
    onInvalid,
  } = checkOptions(schema, options ?? null, 'options of loadFunctionMap');
  if ((root === undefined) === (files === undefined))
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot('either root or files', root === undefined ? 'neither' : 'both'),
    );
  const works = new Map([...moduleWorks(modules), ...handlerMap(handlers)]);
  const { entries } = await loadManifest(root === undefined ? files! : { root }, {
    onInvalid,
    ...(asked !== undefined && { persona: asked }),
  });

  // The map has no prototype, so a name like `constructor` exists only if a tool has it.
  const map = Object.create(null) as Record<string, MappedFunction>;
  for (const { entry, definition, persona } of entries) {
    const isForAll = persona === undefined && definition.personaAllowlist === undefined;
    if (asked !== undefined || isForAll)
      map[entry.name] = mapped(
        cloneFrozen({
          ...entry,
          ...(persona !== undefined && { persona }),
          source: 'manifest' as const,
        }),
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
      `The tool ${JSON.stringify(name)} has no function. Pass one in handlers[${key}], or a module that exports ${key}.`,
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

/** Returns the functions and tools that modules export. Ignores other exports. */
function moduleWorks(modules: unknown = []): readonly (readonly [string, Execute<never>])[] {
  const list: readonly unknown[] = Array.isArray(modules) ? modules : [modules];
  return list.flatMap((module) => {
    if (typeof module !== 'object' || module === null)
      throw invalidArgument('modules as imported modules', module);
    return Object.entries(module).flatMap(([name, exported]: [string, unknown]) => {
      const isTool = isToolDefinition(exported);
      const work = isTool ? exported.execute : exported;
      const key = isTool ? exported.name : name;
      return typeof work === 'function' ? [[key, work as Execute<never>] as const] : [];
    });
  });
}
