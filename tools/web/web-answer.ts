import { TextDecoder } from 'node:util';
import { z } from 'zod';
import { fail, isToolError, type ToolResult } from '../../src/index.js';
import type { FetchAnswer } from '../walls/guarded-fetch.js';

/** Characters: the longest URL that servers usually take. */
const MAX_URL_LENGTH = 8_192;

/** The schema of a URL among a tool's inputs: what the policy and the tool read is canonical. */
export function urlInput(): z.ZodString {
  return z.string().max(MAX_URL_LENGTH).overwrite(canonicalUrl);
}

/**
 * A URL in one form: host in lower case without trailing dots, no usual port, letters not escaped.
 *
 * Text that is no URL stays as it is, for the wall to refuse.
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

/** Returns the key of what a request to a URL touches; where redirects lead is not known before. */
export function urlKey(text: string): string {
  const url = new URL(canonicalUrl(text));
  url.hash = '';
  url.username = url.password = '';
  return url.href;
}

/** A page that a tool can read: its media type, and its text in the page's own encoding. */
interface TextAnswer {
  readonly contentType: string;
  readonly text: string;
}

/** Turns "the server cannot be reached" into an answer for the model; a refusal of the wall stays an error. */
export async function reached<T>(work: Promise<T>): Promise<T | ToolResult<never>> {
  try {
    return await work;
  } catch (error) {
    if (isToolError(error, 'EXECUTION_FAILED')) return fail(error.message);
    throw error;
  }
}

/** The text of an answer; nothing when it is not text. */
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

/** A piece of a text; never half of a character that takes two units. */
export function pieceOf(
  text: string,
  offset: number,
  length: number,
): { readonly piece: string; readonly nextOffset: number | null } {
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

/** Unknown encodings are read as UTF-8: most pages are. */
function decoderOf(charset: string | undefined): TextDecoder {
  try {
    return new TextDecoder(charset ?? 'utf-8');
  } catch {
    return new TextDecoder();
  }
}
