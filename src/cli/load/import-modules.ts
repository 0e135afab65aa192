import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ToolError } from '../../core/errors.js';
import { createTsxLoader, isCommonJs, nearestTsconfig, type TsxLoader } from './tsx-loader.js';

export interface ImportedModule {
  /** As it was given, relative to `cwd`. */
  readonly file: string;
  /** Files of one scope share the modules they import; a module that two scopes import exists twice. */
  readonly scope: string;
  readonly module?: object;
  readonly error?: unknown;
}

export interface ImportOptions {
  /** How long one file may take. @default IMPORT_DEADLINE_MS */
  readonly deadlineMs?: number;
  /** Told of each file before it is imported, and of `undefined` when none is. */
  readonly onImport?: (file: string | undefined) => void;
}

/** Long enough for a file that connects to something when it is imported. */
export const IMPORT_DEADLINE_MS = 30_000;

/** Imports each file; one that fails does not stop the others. TypeScript goes through tsx, with the user's own settings. */
export async function* importModules(files: readonly string[], cwd: string, options: ImportOptions = {}): AsyncGenerator<ImportedModule> {
  const { deadlineMs = IMPORT_DEADLINE_MS, onImport } = options;
  // JavaScript beside TypeScript takes the same way: both may import the same file, and a tool must not exist twice.
  const native = !files.some(isTypeScript);
  const loaders = new Map<string, TsxLoader>();
  try {
    for (const file of files) {
      const path = resolve(cwd, file);
      onImport?.(file);
      let scope = '';
      try {
        const tsconfig = native ? undefined : nearestTsconfig(path);
        if (!native) scope = `${isCommonJs(path) ? 'cjs' : 'esm'} ${tsconfig ?? ''}`;
        const load = async () => (native ? ((await import(pathToFileURL(path).href)) as object) : (await loaderFor(tsconfig, loaders)).import(path));
        yield { file, scope, module: await withDeadline(load(), deadlineMs) };
      } catch (error) {
        yield { file, scope, error };
      }
    }
  } finally {
    onImport?.(undefined);
    for (const loader of loaders.values()) await loader.close();
  }
}

function isTypeScript(path: string): boolean {
  return ['.ts', '.mts', '.cts'].includes(extname(path));
}

/** One loader per tsconfig, which decides the decorator mode. */
async function loaderFor(tsconfig: string | undefined, loaders: Map<string, TsxLoader>): Promise<TsxLoader> {
  let loader = loaders.get(tsconfig ?? '');
  if (loader === undefined) loaders.set(tsconfig ?? '', (loader = await createTsxLoader(tsconfig, `tooldex-${loaders.size}`)));
  return loader;
}

/** The timer also keeps the process alive, which Node would end when nothing is left that could settle the work. */
export async function withDeadline<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    const late = `Expected a file that is imported and whose tools are made within ${milliseconds / 1000} s, got one that is still waiting. Look for a promise that never settles`;
    timer = setTimeout(() => reject(new ToolError('TIMEOUT', late)), milliseconds);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
