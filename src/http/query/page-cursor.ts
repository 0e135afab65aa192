import { isPlainObject } from '../../core/plain-data.js';
import type { Parameter } from './parameter.js';

/** The place of an item in a list: its rank, then its owner, then its name, then its number among those of the same name. */
export interface Place {
  readonly rank?: number;
  readonly owner: string | null;
  readonly name: string;
  readonly nth?: number;
}

/** The end of a page: the place of its last item, which may be gone when the next page is requested. */
export interface PageCursor extends Place {
  /** The registry's revision at the request of the first page. */
  readonly revision: number;
}

/**
 * The largest cursor: names have 128 characters, personas are folders of at most 255 bytes, and an escaped character
 * may have 6.
 */
const LONGEST = 4_096;

/** A cursor as one word; opaque to clients. */
export function writeCursor({ revision, rank = 0, owner, name, nth = 0 }: PageCursor): string {
  return Buffer.from(JSON.stringify({ r: revision, k: rank, o: owner, n: name, i: nth })).toString('base64url');
}

/** Reads a cursor. @returns `undefined` for a text that `writeCursor` did not write. */
export function readCursor(text: string): PageCursor | undefined {
  if (text.length > LONGEST) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!isPlainObject(value)) return undefined;
    const { r: revision, k: rank, o: owner, n: name, i: nth } = value;
    if (![revision, rank, nth].every(Number.isSafeInteger) || (owner !== null && typeof owner !== 'string') || typeof name !== 'string') return undefined;
    const cursor = { revision: revision as number, rank: rank as number, owner, name, nth: nth as number };
    return writeCursor(cursor) === text ? cursor : undefined;
  } catch {
    return undefined;
  }
}

export const cursorParameter: Parameter<PageCursor> = {
  description: 'Where the page begins: taken from `next` of the page before.',
  expected: 'a cursor out of a `next` address',
  schema: { type: 'string' },
  repeatable: false,
  read: readCursor,
};
