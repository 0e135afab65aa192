import { glob } from 'tinyglobby';
import { stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { z } from 'zod';
import { withSlashes } from '../host/shown-path.js';
import { isToolError } from '../core/errors.js';
import { invalidArgument } from '../core/issues.js';
import { aFunction, checkOptions, milliseconds, text, type FieldsOf } from '../core/options.js';
import { readHints } from '../registry/read-hints.js';
import { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { ToolHints } from '../search/tool-hints.js';
import { findDefinitions, type ResolveInstance } from '../tool/find-definitions.js';
import { entryOf, type ToolDefinition } from '../tool/tool-definition.js';
import { importAdvice } from './import-advice.js';
import {
  IMPORT_DEADLINE_MS,
  importModules,
  finishInTime,
  type ImportOptions,
} from './import-modules.js';
import {
  isMade,
  isSameCode,
  isSameTool,
  toolsOfModule,
  type FoundTool,
  type RefusedClass,
} from './tools-of-module.js';

/** A file or tool that couldn't be loaded, and the reason. */
export interface LoadProblem {
  readonly file: string;
  /** The line, starting at 1, if known. */
  readonly line?: number;
  /** The column, starting at 1. */
  readonly column?: number;
  readonly reason: string;
}

/** The tools loaded from files. */
export interface LoadedTools {
  /** The tools with unique names, ready for `registry.registerAll(tools)`. */
  readonly tools: readonly ToolDefinition[];
  /** The files that failed, the tools that were left out, and the patterns that matched no tool. */
  readonly problems: readonly LoadProblem[];
  /** The file of each tool, relative to `cwd`, by tool name. */
  readonly fileOf: ReadonlyMap<string, string>;
  /** The hints for the tools, ready for `new ToolMetadataRegistry({ hints })`. (Experimental.) */
  readonly hints?: ToolHints;
}

/** The options of `loadTools`. */
export interface LoadOptions extends ImportOptions {
  /** The folder to which paths and globs are relative. @default process.cwd() */
  readonly cwd?: string | undefined;
  /**
   * Returns the instance of a class whose constructor takes arguments, for each call, as in the
   * registry. Without `resolve`, such a class is a problem unless an instance is exported, too.
   * @default none
   */
  readonly resolve?: ResolveInstance | undefined;
  /**
   * A file of hints that `tooldex enrich` has written, relative to `cwd`. (Experimental.)
   * @default tooldex.hints.json, if it exists
   */
  readonly hints?: string | undefined;
}

const OPTIONS = z.strictObject({
  cwd: text().default(() => process.cwd()),
  deadlineMs: milliseconds().default(IMPORT_DEADLINE_MS),
  onImport: aFunction<(file: string | undefined) => void>().optional(),
  resolve: aFunction<ResolveInstance>().optional(),
  hints: text().optional(),
} satisfies FieldsOf<LoadOptions>);

const GLOBS = z.array(text()).min(1);

/** A tool and the file that it comes from. */
type Origin = FoundTool & { readonly file: string; readonly tsconfig: string | undefined };

const NO_FILES = 'No TypeScript or JavaScript file matches this file, folder or glob.';
const NO_TOOLS =
  'No file exports a tool. Export classes decorated with @tool, instances of them, results of defineTool, a registry, or a function such as createTools that creates them.';

/**
 * Loads the tools exported by files: definitions, decorated classes and their instances, toolkits,
 * registries, lists of any of these, and functions such as `createTools` that create them.
 *
 * Importing a file runs its code, so list only files that you trust. TypeScript is loaded with tsx,
 * if installed, using the tsconfig next to the file. Modules loaded this way are separate copies of
 * the modules that your program imports itself.
 *
 * If a file fails, it's reported as a problem and all other files are still loaded. A tool exported
 * by several files is loaded once. A different tool with the same name is reported as a problem,
 * and so is a pattern that matches no tool.
 *
 * @param globs A file, folder, or glob, or a list of them.
 * @throws ToolError `INVALID_ARGUMENT` if there is no glob, or for invalid options.
 */
export async function loadTools(
  globs: string | readonly string[],
  options: LoadOptions = {},
): Promise<LoadedTools & Required<Pick<LoadedTools, 'hints'>>> {
  const patterns = [globs].flat();
  if (!GLOBS.safeParse(patterns).success)
    throw invalidArgument(
      'a file, folder or glob, or a list of them',
      globs,
      "Call loadTools('src/tools/**/*.ts').",
    );
  const {
    cwd,
    resolve: instanceOf,
    hints,
    ...importing
  } = checkOptions(OPTIONS, options, 'options of loadTools');
  const registry = new ToolMetadataRegistry();
  const problems: LoadProblem[] = [];
  const matches = await Promise.all(
    patterns.map(async (pattern) => ({ pattern, files: await filesOf(pattern, cwd) })),
  );
  const origins = new Map<string, Origin[]>();
  const withoutTools = new Set<string>();
  const refused = new Map<object, RefusedClass & Pick<Origin, 'file' | 'tsconfig'>>();
  for await (const { file, tsconfig, module, error } of importModules(
    [...new Set(matches.flatMap(({ files }) => files))].sort(),
    cwd,
    importing,
  )) {
    try {
      if (module === undefined) throw error;
      const exported = await finishInTime(toolsOfModule(module), importing.deadlineMs);
      if (exported.tools.length + exported.refused.length === 0) withoutTools.add(file);
      for (const each of exported.refused)
        if (!refused.has(each.source)) refused.set(each.source, { ...each, file, tsconfig });
      for (const tool of exported.tools) {
        const reason = addTool(registry, origins, { ...tool, file, tsconfig });
        if (reason !== undefined) problems.push({ file, reason });
      }
    } catch (cause) {
      problems.push({ file, reason: reasonOf(cause, file) });
    }
  }
  const all = [...origins.values()].flat();
  // A class that can't be instantiated here isn't a problem if another file exports an instance of
  // it.
  for (const { reason, ...each } of refused.values()) {
    if (isMade({ ...each, reason }, all)) continue;
    if (instanceOf === undefined) problems.push({ file: each.file, reason });
    else problems.push(...addUnmade(registry, origins, each, instanceOf));
  }
  for (const { pattern, files } of matches)
    if (files.every((file) => withoutTools.has(file)))
      problems.push({ file: pattern, reason: files.length === 0 ? NO_FILES : NO_TOOLS });
  return {
    tools: [...registry].map(({ definition }) => definition),
    problems,
    fileOf: new Map([...origins].map(([name, [first]]) => [name, first!.file])),
    hints: await readHints(hints, cwd),
  };
}

/** Adds the tools of a class that `resolve` instantiates. @returns the tools that can't be added. */
function addUnmade(
  registry: ToolMetadataRegistry,
  origins: Map<string, Origin[]>,
  unmade: Pick<Origin, 'source' | 'file' | 'tsconfig'>,
  instanceOf: ResolveInstance,
): readonly LoadProblem[] {
  return findDefinitions(unmade.source, { resolve: instanceOf }).flatMap((definition) => {
    const reason = addTool(registry, origins, { ...unmade, entry: entryOf(definition) });
    return reason === undefined ? [] : [{ file: unmade.file, reason }];
  });
}

/**
 * Adds a tool, or returns an explanation if another tool already has its name. In `origins`, the
 * tool that was registered comes first.
 */
function addTool(
  registry: ToolMetadataRegistry,
  origins: Map<string, Origin[]>,
  tool: Origin,
): string | undefined {
  const { entry, tsconfig } = tool;
  const known = origins.get(entry.name) ?? [];
  const isSame = (other: Origin) =>
    isSameTool(other, tool) || (other.tsconfig !== tsconfig && isSameCode(other, tool));
  if (known.some(isSame)) return undefined;
  origins.set(entry.name, [...known, tool]);
  for (const name of [entry.name, ...entry.aliases]) {
    const owner = registry.get(name);
    if (owner === undefined) continue;
    const [first] = origins.get(owner.name)!;
    return `"${name}" is already taken by the tool "${owner.name}" in ${first!.file}. Rename one of them.`;
  }
  registry.register(entry.definition);
  // A tool with the same name may have been refused before because of its alias.
  origins.set(entry.name, [tool, ...known]);
  return undefined;
}

function reasonOf(cause: unknown, file: string): string {
  if (isToolError(cause)) return cause.message;
  return [String(cause), importAdvice(cause, file)].filter(Boolean).join('. ');
}

const IGNORED = ['**/node_modules/**', '**/*.d.{ts,mts,cts}', '**/*.{test,spec,bench,config}.*'];

/** Returns the files that match a path, folder, or glob, relative to `cwd` and sorted. */
async function filesOf(pattern: string, cwd: string): Promise<readonly string[]> {
  const path = resolve(cwd, pattern);
  const status = await stat(path).catch(() => undefined);
  const files = status?.isFile()
    ? [path]
    : status?.isDirectory()
      ? await glob('**/*.{ts,mts,cts,js,mjs,cjs}', {
          cwd: path,
          absolute: true,
          // Compiled copies of the sources are loaded only if you list them explicitly.
          ignore: [...IGNORED, '**/dist/**'],
        })
      : await glob(withSlashes(pattern), {
          cwd,
          absolute: true,
          ignore: IGNORED,
          expandDirectories: false,
        });
  return files.map((file) => withSlashes(relative(cwd, file))).sort();
}
