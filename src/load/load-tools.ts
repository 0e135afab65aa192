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
  type ImportedModule,
  type ModuleOptions,
} from './import-modules.js';
import {
  isMade,
  isSameCode,
  isSameTool,
  toolsOfModule,
  type ModuleTool,
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
export interface LoadOptions extends ModuleOptions {
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

type Place = Pick<ImportedModule, 'file' | 'tsconfig'>;
/** A tool and the file that it comes from. */
type Origin = ModuleTool & Place;

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
  const checked = checkOptions(OPTIONS, options, 'options of loadTools');
  const { cwd, resolve: instanceOf, hints, ...importing } = checked;
  const matches = new Map<string, readonly string[]>();
  for (const pattern of patterns) matches.set(pattern, await filesOf(pattern, cwd));
  const files = [...new Set([...matches.values()].flat())].sort();
  const loading = new Loading();
  for await (const each of importModules(files, cwd, importing))
    await loading.addModule(each, importing.deadlineMs);
  loading.addRefused(instanceOf);
  for (const [pattern, files] of matches) loading.checkMatches(pattern, files);
  const { registry, problems } = loading;
  return {
    tools: [...registry].map(({ definition }) => definition),
    problems,
    fileOf: loading.fileOf(),
    hints: await readHints(hints, cwd),
  };
}

/** The tools and problems that were found so far. */
class Loading {
  readonly registry = new ToolMetadataRegistry();
  readonly problems: LoadProblem[] = [];
  /** The tools with each name. The tool that was registered comes first. */
  readonly #origins = new Map<string, readonly Origin[]>();
  readonly #refused = new Map<object, RefusedClass & Place>();
  readonly #withoutTools = new Set<string>();

  async addModule(imported: ImportedModule, deadlineMs: number): Promise<void> {
    const { file, tsconfig, module, error } = imported;
    try {
      if (module === undefined) throw error;
      const { tools, refused } = await finishInTime(toolsOfModule(module), deadlineMs);
      if (tools.length + refused.length === 0) this.#withoutTools.add(file);
      for (const each of refused)
        if (!this.#refused.has(each.source))
          this.#refused.set(each.source, { ...each, file, tsconfig });
      for (const tool of tools) this.#add({ ...tool, file, tsconfig });
    } catch (cause) {
      this.problems.push({ file, reason: reasonOf(cause, file) });
    }
  }

  /**
   * Adds the tools of classes that `resolve` instantiates. Without it, a class is a problem unless
   * another file exports an instance.
   */
  addRefused(resolve: ResolveInstance | undefined): void {
    const made = [...this.#origins.values()].flat();
    for (const refused of this.#refused.values()) {
      if (isMade(refused, made)) continue;
      const { source, reason, file, tsconfig } = refused;
      if (resolve === undefined) this.problems.push({ file, reason });
      else
        for (const definition of findDefinitions(source, { resolve }))
          this.#add({ source, file, tsconfig, entry: entryOf(definition) });
    }
  }

  checkMatches(pattern: string, files: readonly string[]): void {
    if (files.every((file) => this.#withoutTools.has(file)))
      this.problems.push({ file: pattern, reason: files.length === 0 ? NO_FILES : NO_TOOLS });
  }

  fileOf(): ReadonlyMap<string, string> {
    return new Map([...this.#origins].map(([name, [first]]) => [name, first!.file]));
  }

  /** Adds a tool. If another tool already has its name, that's a problem. */
  #add(tool: Origin): void {
    const { entry, file } = tool;
    const namesakes = this.#origins.get(entry.name) ?? [];
    if (namesakes.some((other) => isSame(other, tool))) return;
    this.#origins.set(entry.name, [...namesakes, tool]);
    for (const name of [entry.name, ...entry.aliases]) {
      const owner = this.registry.get(name);
      if (owner === undefined) continue;
      const [first] = this.#origins.get(owner.name)!;
      const reason = `"${name}" is already taken by the tool "${owner.name}" in ${first!.file}. Rename one of them.`;
      this.problems.push({ file, reason });
      return;
    }
    this.registry.register(entry.definition);
    // A tool with the same name may have been refused before because of its alias.
    this.#origins.set(entry.name, [tool, ...namesakes]);
  }
}

function isSame(one: Origin, other: Origin): boolean {
  return isSameTool(one, other) || (one.tsconfig !== other.tsconfig && isSameCode(one, other));
}

function reasonOf(cause: unknown, file: string): string {
  if (isToolError(cause)) return cause.message;
  return [String(cause), importAdvice(cause, file)].filter(Boolean).join('. ');
}

const IGNORED = ['**/node_modules/**', '**/*.d.{ts,mts,cts}', '**/*.{test,spec,bench,config}.*'];
const SOURCES = '**/*.{ts,mts,cts,js,mjs,cjs}';
const GLOB = { absolute: true, ignore: IGNORED, expandDirectories: false };

/** Returns the files that match a path, folder, or glob, relative to `cwd` and sorted. */
export async function filesOf(pattern: string, cwd: string): Promise<readonly string[]> {
  const path = resolve(cwd, pattern);
  const status = await stat(path).catch(() => undefined);
  let files = [path];
  // Compiled copies of the sources are loaded only if you list them explicitly.
  if (status?.isDirectory())
    files = await glob(SOURCES, { ...GLOB, cwd: path, ignore: [...IGNORED, '**/dist/**'] });
  else if (!status?.isFile()) files = await glob(withSlashes(pattern), { ...GLOB, cwd });
  return files.map((file) => withSlashes(relative(cwd, file))).sort();
}
