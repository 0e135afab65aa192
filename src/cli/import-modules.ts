import { existsSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface ImportedModule {
  /** As it was given, relative to `cwd`. */
  readonly file: string;
  readonly module?: object;
  readonly error?: unknown;
}

interface TsxLoader {
  import(specifier: string, parentUrl: string): Promise<object>;
  unregister(): Promise<void>;
}

/** Imports each file; one that fails does not stop the others. TypeScript goes through tsx, with the user's own settings. */
export async function* importModules(files: readonly string[], cwd: string): AsyncGenerator<ImportedModule> {
  // One loader per tsconfig: it decides the decorator mode, and files that share it share their modules.
  const loaders = new Map<string, TsxLoader>();
  try {
    for (const file of files) {
      const path = resolve(cwd, file);
      const url = pathToFileURL(path).href;
      try {
        const module = (isTypeScript(path) ? await (await loaderFor(path, loaders)).import(url, url) : await import(url)) as object;
        yield { file, module };
      } catch (error) {
        yield { file, error };
      }
    }
  } finally {
    for (const loader of loaders.values()) await loader.unregister();
  }
}

function isTypeScript(path: string): boolean {
  return ['.ts', '.mts', '.cts'].includes(extname(path));
}

async function loaderFor(path: string, loaders: Map<string, TsxLoader>): Promise<TsxLoader> {
  const tsconfig = nearestTsconfig(dirname(path));
  const known = loaders.get(tsconfig ?? '');
  if (known !== undefined) return known;
  const { register } = await import('tsx/esm/api').catch(() => {
    throw new Error('expected the package tsx to load TypeScript files, found none; install it with: npm install --save-dev tsx');
  });
  const loader = register({ namespace: `tooldex-${loaders.size}`, tsconfig: tsconfig ?? false }) as unknown as TsxLoader;
  loaders.set(tsconfig ?? '', loader);
  return loader;
}

/** tsx would take the one of the current folder, and compile a project in legacy mode as if it were in standard mode. */
function nearestTsconfig(folder: string): string | undefined {
  const candidate = join(folder, 'tsconfig.json');
  if (existsSync(candidate)) return candidate;
  return dirname(folder) === folder ? undefined : nearestTsconfig(dirname(folder));
}
