import { buildSync } from 'esbuild';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A file of the page, as a server sends it. */
interface PageFile {
  /** The path from the server's root: `/` or `/assets/…`. */
  readonly path: string;
  /** The value of `content-type`. */
  readonly type: string;
  readonly body: string;
  /** The value of `etag`, including quotes. */
  readonly etag: string;
}

const DIGEST_LENGTH = 22;

/**
 * The files of the page that shows a catalogue to users. These files contain no catalogue data, so
 * they can be served without a token.
 *
 * This module runs only from source. The build replaces this module with the files' contents (see
 * `tsup.config.ts`), so the package needs neither esbuild nor extra files.
 */
export const PAGE_FILES: readonly PageFile[] = Object.freeze([
  pageFile('/', 'text/html; charset=utf-8', textOf('index.html')),
  pageFile('/assets/app.css', 'text/css; charset=utf-8', textOf('app.css')),
  pageFile('/assets/app.js', 'text/javascript; charset=utf-8', bundle('app.ts')),
  pageFile('/assets/icon.svg', 'image/svg+xml', textOf('icon.svg')),
]);

function pageFile(path: string, type: string, body: string): PageFile {
  return Object.freeze({
    path,
    type,
    body,
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, DIGEST_LENGTH)}"`,
  });
}

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
