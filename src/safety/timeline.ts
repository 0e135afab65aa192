import { digestOf } from '../core/plain-data.js';
import type { StateStore } from '../state/state-store.js';

/** The maximum number of items in a conversation's timeline, and how long they are kept. */
const MOST = 200;
const KEEP_MS = 86_400_000;

const keyOf = (conversationId: string) => `timeline:${digestOf(conversationId)}`;

/** Adds a call or an answer to the timeline of its conversation. */
export async function noteInTimeline(
  store: StateStore,
  conversationId: string | undefined,
  item: string,
): Promise<void> {
  if (conversationId === undefined) return;
  await store.append(keyOf(conversationId), item, { max: MOST, ttlMs: KEEP_MS });
}

/**
 * Returns the calls and answers of a conversation, oldest first.
 * @throws ToolError `STATE_UNAVAILABLE`.
 */
export async function readTimeline<Item>(
  store: StateStore,
  conversationId: string,
): Promise<readonly Item[]> {
  const items = await store.read(keyOf(conversationId), { limit: MOST });
  return items.map((item) => JSON.parse(item) as Item);
}
