import { TextDecoder } from 'node:util';
import { z } from 'zod';
import { fail, isToolError, type ToolResult } from '../../src/index.js';
import type { FetchAnswer } from '../walls/guarded-fetch.js';

/** Maximum length of a URL in characters. Servers usually accept a URL of this length. */
const MAX_URL_LENGTH = 8_192;

/**
 * Returns the schema for an input URL. The policy and the tool both see the URL's canonical form.
 */
export function urlInput(): z.ZodString {
  return z.string().max(MAX_URL_LENGTH).overwrite(canonicalUrl);
}

/**
 * Returns a URL in canonical form: lower-case host without trailing dots, no default port,
 * unreserved characters unescaped.
 *
 * Text that isn't a URL is left unchanged, because the tool refuses it later.
 */
function canonicalUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  url.hostname = url.hostname.replace(/\.+$/, '');
  const unescaped = (part: string) =>
    part.replace(/%([\da-f]{2})/gi, (escape, hex: string) => {
      const character = String.fromCharCode(parseInt(hex, 16));
      return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
    });
  url.pathname = unescaped(url.pathname);
  url.search = unescaped(url.search);
  return url.href;
}

/**
 * Returns the key of the resource that a request to a URL touches. Redirects aren't included,
 * because they can't be known in advance.
 */
export function urlKey(text: string): string {
  const url = new URL(canonicalUrl(text));
  url.hash = '';
  url.username = url.password = '';
  return url.href;
}

/** A readable page: its media type, and its text decoded from the page's own encoding. */
interface TextAnswer {
  readonly contentType: string;
  readonly text: string;
}

/**
 * Converts the error for an unreachable server to a failed result for the model. The error for a
 * refused URL is still thrown.
 */
export async function reached<T>(work: Promise<T>): Promise<T | ToolResult<never>> {
  try {
    return await work;
  } catch (error) {
    if (isToolError(error, 'EXECUTION_FAILED')) return fail(error.message);
    throw error;
  }
}

/** Returns the text of a response, or `undefined` if it isn't text. */
export function textOf({ headers, body }: FetchAnswer): TextAnswer | undefined {
  const [type = '', ...parameters] = (headers['content-type'] ?? 'text/plain').split(';');
  const contentType = type.trim().toLowerCase();
  if (!isText(contentType)) return undefined;
  const charset = parameters
    .map((parameter) => parameter.trim())
    .find((parameter) => parameter.toLowerCase().startsWith('charset='));
  return {
    contentType,
    text: decoderOf(charset?.slice('charset='.length).replaceAll('"', '')).decode(body),
  };
}

export function isHtml(contentType: string): boolean {
  return contentType === 'text/html' || contentType === 'application/xhtml+xml';
}

export function isJson(contentType: string): boolean {
  return contentType === 'application/json' || contentType.endsWith('+json');
}

/** Returns a piece of a text. Never splits a surrogate pair. */
export function pieceOf(text: string, offset: number, length: number) {
  let end = Math.min(offset + length, text.length);
  const last = text.charCodeAt(end - 1);
  if (end < text.length && last >= 0xd800 && last <= 0xdbff) end += end - 1 > offset ? -1 : 1;
  return { piece: text.slice(offset, end), nextOffset: end < text.length ? end : null };
}

const TEXT_TYPES = new Set([
  'application/javascript',
  'application/xml',
  'application/x-yaml',
  'application/yaml',
  'application/toml',
  'application/x-ndjson',
  'application/sql',
  'application/x-www-form-urlencoded',
]);

function isText(contentType: string): boolean {
  return (
    contentType.startsWith('text/') ||
    isHtml(contentType) ||
    isJson(contentType) ||
    contentType.endsWith('+xml') ||
    TEXT_TYPES.has(contentType)
  );
}

/**
 * Returns the decoder for an encoding. Unknown encodings are decoded as UTF-8, because most pages
 * are UTF-8.
 */
function decoderOf(charset: string | undefined): TextDecoder {
  try {
    return new TextDecoder(charset ?? 'utf-8');
  } catch {
    return new TextDecoder();
  }
}
