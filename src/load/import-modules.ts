import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as TsxCjs from 'tsx/cjs/api';
import type * as TsxEsm from 'tsx/esm/api';
import { systemClock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { missingPackage } from '../core/issues.js';

/** A file's module, or the reason why the file can't be imported. */
export interface ImportedModule {
  /** The path that the caller passed, relative to `cwd`. */
  readonly file: string;
  /**
   * The tsconfig for the file. A module that is imported by files with different tsconfigs is
   * loaded twice.
   */
  readonly tsconfig: string | undefined;
  readonly module?: object;
  readonly error?: unknown;
}

/** The options for importing files. */
export interface ModuleOptions {
  /**
   * The timeout in milliseconds for importing one file. Creating the file's tools has the same
   * timeout again. @default 30_000
   */
  readonly deadlineMs?: number | undefined;
  /** Receives each file before it's imported, and `undefined` at the end. @default none */
  readonly onImport?: ((file: string | undefined) => void) | undefined;
}

/**
 * The default timeout in milliseconds. The timeout is long enough for a file that connects to a
 * service when it's imported.
 */
export const IMPORT_DEADLINE_MS = 30_000;

/**
 * Imports each file. If a file fails, all other files are still imported.
 *
 * TypeScript is loaded with tsx and the user's tsconfig. Without tsx, the file is imported by Node
 * if Node can strip types. If Node can't strip types, the import fails.
 */
export async function* importModules(
  files: readonly string[],
  cwd: string,
  { deadlineMs = IMPORT_DEADLINE_MS, onImport }: ModuleOptions = {},
): AsyncGenerator<ImportedModule> {
  // If there are TypeScript files, JavaScript files are loaded with tsx too. Both kinds of files
  // may import the same module, and that module's tools must not exist twice.
  const tsx = files.some(isTypeScript)
    ? await loadTsx().catch((error: unknown) => ({ error }))
    : undefined;
  const loaders = new Loaders(tsx);
  try {
    for (const file of files) {
      const path = resolve(cwd, file);
      // By default, tsx uses the current folder's tsconfig, whose decorator mode may differ.
      const tsconfig = nearest(dirname(path), 'tsconfig.json');
      onImport?.(file);
      try {
        const module = await finishInTime(loaders.load(path, tsconfig), deadlineMs);
        yield { file, tsconfig, module };
      } catch (error) {
        yield { file, tsconfig, error };
      }
    }
  } finally {
    onImport?.(undefined);
    await loaders.close();
  }
}

/** Loads files with tsx if there are TypeScript files, otherwise with Node. */
class Loaders {
  readonly #loaders = new Map<string | undefined, TsxLoader>();

  /** @param tsx The package, or the reason why it can't be loaded. */
  constructor(readonly tsx: Tsx | { readonly error: unknown } | undefined) {}

  async load(path: string, tsconfig: string | undefined): Promise<object> {
    const { tsx } = this;
    if (tsx === undefined || 'error' in tsx) {
      if (tsx !== undefined && isTypeScript(path) && !stripsTypes()) throw tsx.error;
      return (await importInNode(pathToFileURL(path).href)) as object;
    }
    let loader = this.#loaders.get(tsconfig);
    if (loader === undefined) {
      loader = new TsxLoader(tsx, tsconfig, `tooldex-${this.#loaders.size}`);
      this.#loaders.set(tsconfig, loader);
    }
    return loader.import(path);
  }

  async close(): Promise<void> {
    for (const loader of this.#loaders.values()) await loader.close();
  }
}

export function isTypeScript(path: string): boolean {
  return /\.[cm]?ts$/.test(path);
}

/**
 * Returns true if Node runs TypeScript by stripping types: from 22.18 on, unless this feature is
 * turned off.
 */
function stripsTypes(): boolean {
  return Boolean(Reflect.get(process.features, 'typescript'));
}

interface Tsx {
  readonly esm: typeof TsxEsm;
  readonly cjs: typeof TsxCjs;
}

async function loadTsx(): Promise<Tsx> {
  try {
    const [esm, cjs] = await Promise.all(['tsx/esm/api', 'tsx/cjs/api'].map(importInNode));
    return { esm: esm as typeof TsxEsm, cjs: cjs as typeof TsxCjs };
  } catch (cause) {
    return missingPackage(
      'tsx',
      'TypeScript files need it: run npm install --save-dev tsx.',
    )(cause);
  }
}

/**
 * Imports what bundlers must leave to Node: users' files, and tsx, which looks for its own files next
 * to itself.
 */
function importInNode(specifier: string): Promise<unknown> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ specifier);
}

/**
 * Waits for work until a timeout. The timer also keeps the process alive: if no timer or I/O is
 * left, Node exits even if the work hasn't settled.
 */
export function finishInTime<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  let stopTimer: (() => void) | undefined;
  const deadline = new Promise<never>((_, reject) => {
    const late = `Importing this file and creating its tools took longer than ${milliseconds / 1000} s. Look for a promise that never settles`;
    stopTimer = systemClock.after(milliseconds, () => reject(new ToolError('TIMEOUT', late)));
  });
  return Promise.race([work, deadline]).finally(stopTimer);
}

/**
 * Loads the files of a tsconfig. All files loaded by one loader share the modules
 * that they import.
 *
 * CommonJS files are required and ES modules are imported, each through tsx in a separate
 * namespace. If CommonJS files were imported, they couldn't find TypeScript files next to them on
 * Node 20. A CommonJS file that a TypeScript file requires would also be loaded twice.
 */
class TsxLoader {
  readonly #required: ReturnType<typeof registerCommonJs>;
  readonly #imported: TsxEsm.NamespacedUnregister;

  constructor({ esm, cjs }: Tsx, tsconfig: string | undefined, namespace: string) {
    this.#required = registerCommonJs(cjs, tsconfig, namespace);
    this.#imported = esm.register({ namespace, tsconfig: tsconfig ?? false });
  }

  async import(path: string): Promise<object> {
    const url = pathToFileURL(path).href;
    if (isCommonJs(path)) return { default: this.#required.require(path, url) as unknown };
    return (await this.#imported.import(url, url)) as object;
  }

  async close(): Promise<void> {
    this.#required.unregister();
    await this.#imported.unregister();
  }
}

/**
 * Returns true if Node treats a file as CommonJS, based on its extension or the nearest
 * package.json.
 */
function isCommonJs(path: string): boolean {
  if (/\.c[jt]s$/.test(path)) return true;
  if (/\.m[jt]s$/.test(path)) return false;
  const manifest = nearest(dirname(path), 'package.json');
  return (
    manifest === undefined ||
    (JSON.parse(readFileSync(manifest, 'utf8')) as { type?: unknown }).type !== 'module'
  );
}

function nearest(folder: string, file: string): string | undefined {
  if (basename(folder) === 'node_modules') return undefined;
  const candidate = join(folder, file);
  if (existsSync(candidate)) return candidate;
  return dirname(folder) === folder ? undefined : nearest(dirname(folder), file);
}

/** Sets the environment variable for the tsconfig, because tsx's CommonJS API has no option for it. */
function registerCommonJs(cjs: typeof TsxCjs, tsconfig: string | undefined, namespace: string) {
  const before = process.env['TSX_TSCONFIG_PATH'];
  setTsconfig(tsconfig);
  try {
    return cjs.register({ namespace });
  } finally {
    setTsconfig(before);
  }
}

function setTsconfig(path: string | undefined): void {
  if (path === undefined) delete process.env['TSX_TSCONFIG_PATH'];
  else process.env['TSX_TSCONFIG_PATH'] = path;
}
