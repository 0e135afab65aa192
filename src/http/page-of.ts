import { z } from 'zod';

/**
 * The start of a page: the revision of the first page, and the number of items before this page.
 */
export const cursorField = z
  .string()
  .regex(/^\d{1,15}-\d{1,15}$/, 'a cursor from a `next` address')
  .transform((text) => {
    const [revision, offset] = text.split('-').map(Number);
    return { revision: revision!, offset: offset! };
  });

/** The query parameters that select a page. */
interface PageRequest {
  readonly limit: number;
  readonly cursor?: z.output<typeof cursorField> | undefined;
}

/**
 * Returns the requested page of a list, and facts about the whole list.
 *
 * If the catalogue changes between two pages, an item can be missing or appear twice. Then
 * `changed` is true.
 *
 * @param address The path and query of the request. They are also used for the address of the next
 * page.
 */
export function pageOf<Item>(
  items: readonly Item[],
  { limit, cursor }: PageRequest,
  revision: number,
  address: { readonly path: string; readonly query: string },
) {
  const { revision: first, offset } = cursor ?? { revision, offset: 0 };
  const page = items.slice(offset, offset + limit);
  const nextAddress = () => {
    const parameters = new URLSearchParams(address.query);
    parameters.set('cursor', `${first}-${offset + limit}`);
    return `${address.path}?${parameters.toString()}`;
  };
  return {
    items: page,
    facts: {
      count: page.length,
      total: items.length,
      revision,
      changed: first !== revision,
      next: offset + limit < items.length ? nextAddress() : null,
    },
  };
}
