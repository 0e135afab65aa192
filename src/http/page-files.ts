import { buildSync } from 'esbuild';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A file of the page, as a server sends it. */
export interface PageFile {
  /** The path from the server's root: `/` or `/assets/…`. */
  readonly path: string;
  /** The value of `content-type`. */
  readonly type: string;
  readonly body: string;
}

/**
 * The files of the page that shows a catalogue to users. These files contain no catalogue data, so
 * they can be served without a token.
 *
 * This module runs only from source. The build replaces this module with the files' contents (see
 * `tsup.config.ts`), so the package needs neither esbuild nor extra files.
 */
export const PAGE_FILES: readonly PageFile[] = Object.freeze([
  { path: '/', type: 'text/html; charset=utf-8', body: textOf('index.html') },
  { path: '/assets/app.css', type: 'text/css; charset=utf-8', body: textOf('app.css') },
  { path: '/assets/app.js', type: 'text/javascript; charset=utf-8', body: bundle('app.ts') },
  { path: '/assets/icon.svg', type: 'image/svg+xml', body: textOf('icon.svg') },
]);

function pathOf(file: string): string {
  return fileURLToPath(new URL(`page/${file}`, import.meta.url));
}

function textOf(file: string): string {
  return readFileSync(pathOf(file), 'utf8');
}

/**
 * Bundles everything into one script, because a browser would load separate imports one after
 * another.
 */
function bundle(file: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [pathOf(file)],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    minify: true,
    charset: 'utf8',
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}
