import { isPlainObject } from '../../core/plain-data.js';
import type { Parameter } from './parameter.js';

/** Where a page ended. */
export interface PageCursor {
  /** The registry's revision when the first page was asked for. */
  readonly revision: number;
  /** The last item of the page. It need not be there any more when the next page is asked for. */
  readonly owner: string | null;
  readonly name: string;
}

/** Names have 128 characters, personas are folders: of at most 255 bytes. */
const LONGEST = 1_024;

/** A cursor as one word; opaque to clients. */
export function writeCursor({ revision, owner, name }: PageCursor): string {
  return Buffer.from(JSON.stringify({ r: revision, o: owner, n: name })).toString('base64url');
}

/** @returns `undefined` for what `writeCursor` did not write. */
export function readCursor(text: string): PageCursor | undefined {
  if (text.length > LONGEST) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!isPlainObject(value)) return undefined;
    const { r: revision, o: owner, n: name } = value;
    if (!Number.isSafeInteger(revision) || (owner !== null && typeof owner !== 'string') || typeof name !== 'string') return undefined;
    const cursor = { revision: revision as number, owner, name };
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
