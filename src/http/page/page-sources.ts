import { buildSync } from 'esbuild';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The page's files as text, by their path.
 *
 * This module is for running from source: the build replaces it by its value (see tsup.config.ts), so that the package
 * needs neither esbuild nor files beside its code, as a module, in CommonJS, or bundled by its users.
 */
export const PAGE_SOURCES: Readonly<Record<string, string>> = Object.freeze({
  '/': textOf('index.html'),
  '/assets/app.css': textOf('app.css'),
  '/assets/app.js': bundle('client/main.ts'),
  '/assets/icon.svg': textOf('icon.svg'),
});

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}

function textOf(file: string): string {
  return readFileSync(pathOf(file), 'utf8');
}

/** Bundles one script, loaded at once: a page of thirty requests would wait for each import in turn. */
function bundle(file: string): string {
  const { outputFiles } = buildSync({ entryPoints: [pathOf(file)], bundle: true, write: false, format: 'iife', target: 'es2022', minify: true, charset: 'utf8', logLevel: 'silent' });
  return outputFiles[0]!.text;
}
