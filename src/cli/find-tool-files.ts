import { stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { glob } from 'tinyglobby';

const EXTENSIONS = '{ts,mts,cts,js,mjs,cjs}';
const IGNORED = ['**/node_modules/**', '**/dist/**', '**/*.d.ts', '**/*.d.mts', '**/*.d.cts', '**/*.{test,spec,bench,config}.*'];

/** The files that paths, folders and globs stand for, relative to `cwd`, sorted and each once. */
export async function findToolFiles(patterns: readonly string[], cwd: string): Promise<{ files: string[]; unmatched: string[] }> {
  const files = new Set<string>();
  const unmatched: string[] = [];
  for (const pattern of patterns) {
    const found = await filesOf(pattern, cwd);
    if (found.length === 0) unmatched.push(pattern);
    for (const file of found) files.add(relative(cwd, file));
  }
  return { files: [...files].sort(), unmatched };
}

async function filesOf(pattern: string, cwd: string): Promise<string[]> {
  const path = resolve(cwd, pattern);
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return [path];
  if (found?.isDirectory()) return glob(`**/*.${EXTENSIONS}`, { cwd: path, absolute: true, ignore: IGNORED });
  return glob(pattern, { cwd, absolute: true, ignore: IGNORED, expandDirectories: false });
}
