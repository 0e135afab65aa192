/** A page of a list. */
interface ListPage {
  readonly items: readonly unknown[];
  readonly next: string | null;
  readonly changed: boolean;
}

/** The parts of a list beside its items: `{count, total, revision, changed, next, <name>: […]}` on the wire. */
export interface ListFacts {
  /** The key of the items. */
  readonly name: string;
  /** The path and the query of the request; the address of the next page has them, too. */
  readonly path: string;
  readonly query: string;
  readonly total: number;
  readonly revision: number;
  readonly page: ListPage;
}

/** The JSON of a list up to its first item; `LIST_END` follows the last. */
export function listStart({ name, path, query, total, revision, page: { items, next, changed } }: ListFacts): string {
  const address = next === null ? 'null' : JSON.stringify(`${path}?${withCursor(query, next)}`);
  return `{"count":${items.length},"total":${total},"revision":${revision},"changed":${changed},"next":${address},"${name}":[`;
}

export const LIST_END = ']}';

function withCursor(query: string, cursor: string): string {
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return parameters.toString();
}
