import { createHash } from 'node:crypto';
import { PAGE_SOURCES } from './page-sources.js';

/** One file of the page. */
export interface PageFile {
  /** The path from the root of the server: `/` or `/assets/…`. */
  readonly path: string;
  /** The value of `content-type`. */
  readonly type: string;
  readonly body: string;
  /** The value of `etag`, quotes included. */
  readonly etag: string;
}

const TYPES: readonly (readonly [ending: string, type: string])[] = [
  ['/', 'text/html; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
];
const DIGEST_LENGTH = 22;

/**
 * Returns the files of the page that shows a catalogue to users: the page itself under `/` and its resources under
 * `/assets/`.
 *
 * They hold nothing of the catalogue, so they may be served without a token. The page requests `tools`, `search`,
 * `skills`, `jobs`, `findings` and `events` beside it, and needs no more than this content security policy:
 * `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:`.
 */
export function pageFiles(): readonly PageFile[] {
  return Object.freeze(
    Object.entries(PAGE_SOURCES).map(([path, body]) => {
      const [, type] = TYPES.find(([ending]) => path.endsWith(ending))!;
      return Object.freeze({ path, type, body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, DIGEST_LENGTH)}"` });
    }),
  );
}
