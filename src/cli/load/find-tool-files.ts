import { stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { glob } from 'tinyglobby';

const EXTENSIONS = '{ts,mts,cts,js,mjs,cjs}';
const IGNORED = ['**/node_modules/**', '**/*.d.ts', '**/*.d.mts', '**/*.d.cts', '**/*.{test,spec,bench,config}.*'];
/** Copies of the sources, unless someone asks for them. */
const IGNORED_IN_FOLDERS = [...IGNORED, '**/dist/**'];

/** What one pattern stands for. */
export interface PatternMatch {
  readonly pattern: string;
  /** Relative to `cwd`, sorted. */
  readonly files: readonly string[];
}

/** The files that paths, folders and globs stand for. */
export async function findToolFiles(patterns: readonly string[], cwd: string): Promise<readonly PatternMatch[]> {
  const matches: PatternMatch[] = [];
  for (const pattern of patterns) {
    const found = await filesOf(pattern, cwd);
    matches.push({ pattern, files: found.map((file) => relative(cwd, file)).sort() });
  }
  return matches;
}

async function filesOf(pattern: string, cwd: string): Promise<string[]> {
  const path = resolve(cwd, pattern);
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return [path];
  if (found?.isDirectory()) return glob(`**/*.${EXTENSIONS}`, { cwd: path, absolute: true, ignore: IGNORED_IN_FOLDERS });
  return glob(pattern, { cwd, absolute: true, ignore: IGNORED, expandDirectories: false });
}
