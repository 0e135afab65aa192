import { ownerKey } from '../../capability/manifest/persona.js';
import { compareText, isPlainObject } from '../../core/plain-data.js';
import { wholeBetween, type Asked, type Parameter } from './parameters.js';

/** The place of an item in a list: its rank, then its owner, then its name, then its number among those of the same name. */
export interface Place {
  readonly rank?: number;
  readonly owner: string | null;
  readonly name: string;
  readonly nth?: number;
}

/** The end of a page: the place of its last item, which may be gone when the next page is requested. */
interface PageCursor extends Place {
  /** The registry's revision at the request of the first page. */
  readonly revision: number;
}

/**
 * The largest cursor: names have 128 characters, personas are folders of at most 255 bytes, and an escaped character
 * may have 6.
 */
const LONGEST = 4_096;

/** A cursor as one word; opaque to clients. */
function writeCursor({ revision, rank = 0, owner, name, nth = 0 }: PageCursor): string {
  return Buffer.from(JSON.stringify({ r: revision, k: rank, o: owner, n: name, i: nth })).toString(
    'base64url',
  );
}

/** Reads a cursor. @returns `undefined` for a text that `writeCursor` did not write. */
function readCursor(text: string): PageCursor | undefined {
  if (text.length > LONGEST) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!isPlainObject(value)) return undefined;
    const { r: revision, k: rank, o: owner, n: name, i: nth } = value;
    if (
      ![revision, rank, nth].every(Number.isSafeInteger) ||
      (owner !== null && typeof owner !== 'string') ||
      typeof name !== 'string'
    )
      return undefined;
    const cursor = {
      revision: revision as number,
      rank: rank as number,
      owner,
      name,
      nth: nth as number,
    };
    return writeCursor(cursor) === text ? cursor : undefined;
  } catch {
    return undefined;
  }
}

const cursorParameter: Parameter<PageCursor> = {
  description: 'Where the page begins: taken from `next` of the page before.',
  expected: 'a cursor out of a `next` address',
  schema: { type: 'string' },
  repeatable: false,
  read: readCursor,
};

const MOST_ITEMS = 200;
const USUAL_ITEMS = 50;

export const PAGE_PARAMETERS: readonly (readonly [string, Parameter])[] = [
  ['limit', wholeBetween(1, MOST_ITEMS, USUAL_ITEMS, 'The maximum number of items on a page.')],
  ['cursor', cursorParameter],
];

/** One page of a list. */
interface Page<Item extends Place> {
  readonly items: readonly Item[];
  /** The cursor of the next page; `null` on the last. */
  readonly next: string | null;
  /** Says that the registry has changed since the first page. */
  readonly changed: boolean;
}

/**
 * Returns the page of a list that a request asks for.
 *
 * A page begins after the last item of the one before, by its place and not by its number in the list: changes between
 * two pages neither repeat an item nor skip one that stays.
 *
 * @param items in the order of `comparePlaces`, as those of the registry are: shared ones first, then by persona and
 * name in any case.
 */
export function pageOf<Item extends Place>(
  items: readonly Item[],
  asked: Asked,
  revision: number,
): Page<Item> {
  const limit = asked.one<number>('limit') ?? USUAL_ITEMS;
  const cursor = asked.one<PageCursor>('cursor');
  const start = cursor === undefined ? 0 : firstAfter(items, cursor);
  const page = items.slice(start, start + limit);
  const first = cursor?.revision ?? revision;
  const last = page.at(-1);
  const next =
    last === undefined || start + limit >= items.length
      ? null
      : writeCursor({ ...last, revision: first });
  return { items: page, next, changed: first !== revision };
}

function firstAfter(items: readonly Place[], cursor: Place): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comparePlaces(items[middle]!, cursor) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Compares two places of a list. */
export function comparePlaces(a: Place, b: Place): number {
  return (
    (a.rank ?? 0) - (b.rank ?? 0) ||
    compareText(ownerKey(a.owner), ownerKey(b.owner)) ||
    compareText(a.name.toLowerCase(), b.name.toLowerCase()) ||
    compareText(a.name, b.name) ||
    (a.nth ?? 0) - (b.nth ?? 0)
  );
}
