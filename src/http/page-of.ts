import { z } from 'zod';
import { ownerKey } from '../capability/manifest/persona.js';
import { compareText } from '../core/plain-data.js';

/** The place of an item in a list: by rank, owner, name, and number among items of the same name. */
export interface Place {
  readonly rank?: number;
  readonly owner: string | null;
  readonly name: string;
  readonly nth?: number;
}

/**
 * The end of a page: the revision of the first page, and the place of the last item. That item may be gone by the next
 * request.
 */
const cursor = z.tuple([
  z.int(),
  z.object({
    rank: z.int(),
    owner: z.string().nullable(),
    name: z.string(),
    nth: z.int(),
  }),
]);
type Cursor = z.output<typeof cursor>;

/** Enough for a name of 128 characters and a persona of 255 bytes, even if each takes 6 as an escape. */
const LONGEST = 4_096;

/** Writes a cursor as one word. Clients can't read it. */
function writeCursor(revision: number, { rank = 0, owner, name, nth = 0 }: Place): string {
  const text = JSON.stringify([revision, { rank, owner, name, nth }]);
  return Buffer.from(text).toString('base64url');
}

export const cursorField = z
  .string()
  .max(LONGEST)
  .transform((text, context): Cursor => {
    try {
      const read = cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
      if (writeCursor(...read) === text) return read;
    } catch {
      // Everything that `writeCursor` didn't write is refused in the same way.
    }
    context.addIssue({ code: 'custom', message: 'a cursor out of a `next` address' });
    return z.NEVER;
  });

/** The part of a query that names a page. */
interface PageRequest {
  readonly limit: number;
  readonly cursor?: Cursor | undefined;
}

/** A page of a list, with the facts that go beside it. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly facts: {
    readonly count: number;
    readonly total: number;
    readonly revision: number;
    /** True if the registry has changed since the first page. */
    readonly changed: boolean;
    /** The address of the next page; `null` on the last. */
    readonly next: string | null;
  };
}

/**
 * Returns the requested page of a list.
 *
 * A page starts after the last item of the previous page, by place and not by index, so changes in
 * between neither repeat an item nor skip one.
 *
 * @param items Sorted as by `comparePlaces`, like those of the registry.
 * @param address The path and query of the request. The address of the next page has them too.
 */
export function pageOf<Item extends Place>(
  items: readonly Item[],
  { limit, cursor }: PageRequest,
  revision: number,
  address: { readonly path: string; readonly query: string },
): Page<Item> {
  const [first, after] = cursor ?? [revision];
  const start = after === undefined ? 0 : firstAfter(items, after);
  const page = items.slice(start, start + limit);
  const last = start + limit < items.length ? page.at(-1) : undefined;
  let next: string | null = null;
  if (last !== undefined) {
    const parameters = new URLSearchParams(address.query);
    parameters.set('cursor', writeCursor(first, last));
    next = `${address.path}?${parameters.toString()}`;
  }
  return {
    items: page,
    facts: { count: page.length, total: items.length, revision, changed: first !== revision, next },
  };
}

function firstAfter(items: readonly Place[], place: Place): number {
  const index = items.findIndex((item) => comparePlaces(item, place) > 0);
  return index === -1 ? items.length : index;
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
