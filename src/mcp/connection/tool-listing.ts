import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { expectedGot } from '../../core/issues.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';

/** Pages of one listing that are read. The largest real servers need two or three. */
const MAX_PAGES = 64;
/** Tools of one server: a model can use a few dozen, the largest catalogues have some hundreds. */
const MAX_TOOLS = 1_000;

/** The name under which a page's tools pass by the SDK as they came. */
const RAW_TOOLS = 'tooldex/raw-tools';

/** The error for a listing that cannot be used, in words that hold nothing of the server. */
export class ListingError extends Error {
  override readonly name = 'ListingError';
}

/**
 * Hands messages to the SDK in a way in which it loses none of what they say.
 *
 * Listings pass by its checks, which throw a whole page away for one tool of a wrong type; which tools are sound is decided
 * later, for each by itself. And an answer waits until progress that came just before it is told: the SDK forgets who
 * listens as soon as it has read the answer.
 *
 * Called once the transport is connected.
 */
export function keepWhole(transport: Transport): void {
  const receive = transport.onmessage?.bind(transport);
  let isTelling = false;
  transport.onmessage = (message, extra) => {
    const deliver = () => receive?.(withRawTools(message), extra);
    if ('method' in message) {
      isTelling ||= message.method === 'notifications/progress';
      if (isTelling) setImmediate(() => (isTelling = false));
    }
    if (isTelling && !('method' in message)) setImmediate(deliver);
    else deliver();
  };
}

function withRawTools<M extends JSONRPCMessage>(message: M): M {
  if (!('result' in message)) return message;
  const { result } = message;
  if (!isPlainObject(result) || !Array.isArray(result['tools'])) return message;
  return { ...message, result: { ...result, tools: [], [RAW_TOOLS]: result['tools'] } };
}

/**
 * Reads all tools that a server lists, as it sent them.
 *
 * @param fetchPage asks for a page, and gives the result as it came.
 * @throws ListingError when there is no end to the pages, or a page is none.
 */
export async function readAllPages(fetchPage: (cursor: string | undefined) => Promise<unknown>): Promise<readonly unknown[]> {
  const tools: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 1; page <= MAX_PAGES; page++) {
    const result = await fetchPage(cursor);
    const listed = isPlainObject(result) ? result[RAW_TOOLS] : undefined;
    if (!Array.isArray(listed)) throw new ListingError(expectedGot('a page with a list of tools', 'none'));
    if (tools.length + listed.length > MAX_TOOLS) throw new ListingError(expectedGot(`at most ${MAX_TOOLS} tools`, 'more', 'The server lists too many.'));
    tools.push(...(listed as unknown[]));
    const next = (result as Readonly<Record<string, unknown>>)['nextCursor'];
    // An empty cursor means the end to some servers. One that comes again would begin the same pages once more.
    if (next === undefined || next === null || next === '') return tools;
    if (typeof next !== 'string') throw new ListingError(expectedGot('a cursor as text', describeValue(next)));
    if (seen.has(next)) return tools;
    seen.add(next);
    cursor = next;
  }
  throw new ListingError(expectedGot(`the listing to end within ${MAX_PAGES} pages`, 'more', 'The server never stops.'));
}
