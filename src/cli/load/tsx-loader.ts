import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Imports TypeScript with the settings of one tsconfig. */
export interface TsxLoader {
  import(path: string): Promise<object>;
  close(): Promise<void>;
}

/** The variable by which tsx is told of a tsconfig where its interface takes none. */
const TSCONFIG_VARIABLE = 'TSX_TSCONFIG_PATH';

/**
 * A loader for the files of one tsconfig: files that it loads share the modules they import.
 *
 * CommonJS files are required and ES modules imported, each by tsx in a namespace of its own: on Node 20 a CommonJS file
 * that is imported cannot find its TypeScript siblings, and is loaded once more when one of them requires it.
 */
export async function createTsxLoader(tsconfig: string | undefined, namespace: string): Promise<TsxLoader> {
  const [esm, cjs] = await Promise.all([import('tsx/esm/api'), import('tsx/cjs/api')]).catch(() => {
    throw new Error('expected the package tsx to load TypeScript files, found none; install it with: npm install --save-dev tsx');
  });
  const required = withVariable(TSCONFIG_VARIABLE, tsconfig, () => cjs.register({ namespace }));
  const imported = esm.register({ namespace, tsconfig: tsconfig ?? false });
  return {
    async import(path) {
      const url = pathToFileURL(path).href;
      if (isCommonJs(path)) return { default: required.require(path, url) as unknown };
      return (await imported.import(url, url)) as object;
    },
    async close() {
      required.unregister();
      await imported.unregister();
    },
  };
}

/** The tsconfig beside a file or above it. tsx would take the one of the current folder, whose decorator mode may be another. */
export function nearestTsconfig(path: string): string | undefined {
  return nearest(dirname(path), 'tsconfig.json');
}

/** Whether Node takes a file for CommonJS: by its extension, or by the nearest package.json. */
export function isCommonJs(path: string): boolean {
  const extension = extname(path);
  if (extension === '.cts' || extension === '.cjs') return true;
  if (extension === '.mts' || extension === '.mjs') return false;
  const manifest = nearest(dirname(path), 'package.json');
  return manifest === undefined || (JSON.parse(readFileSync(manifest, 'utf8')) as { type?: unknown }).type !== 'module';
}

function nearest(folder: string, file: string): string | undefined {
  if (basename(folder) === 'node_modules') return undefined;
  const candidate = join(folder, file);
  if (existsSync(candidate)) return candidate;
  return dirname(folder) === folder ? undefined : nearest(dirname(folder), file);
}

function withVariable<T>(name: string, value: string | undefined, work: () => T): T {
  const before = process.env[name];
  const set = (next: string | undefined) => {
    if (next === undefined) delete process.env[name];
    else process.env[name] = next;
  };
  set(value);
  try {
    return work();
  } finally {
    set(before);
  }
}
