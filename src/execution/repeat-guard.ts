import { digestOf, isPlainObject, type Json } from '../core/plain-data.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { isWriting } from '../core/enum-order.js';

/** Conversations remembered; the longest unused is forgotten first. */
const MOST_CONVERSATIONS = 1_000;
/** Different calls remembered of one conversation; the longest unused is forgotten first. */
const MOST_CALLS = 64;

interface Conversation {
  /** The number of times each call was made since the last progress. */
  readonly counts: Map<string, number>;
  /** Writes that were made before: making them again is no progress. */
  readonly writes: Map<string, true>;
}

/**
 * Notices when a model makes the same call again and again.
 *
 * Two calls of a tool are the same when their `progressParams` are equal, for tools that name none when all their
 * arguments are. A write that was not made before in the conversation is progress: after it everything may be called afresh.
 */
export class RepeatGuard {
  readonly #conversations = new Map<string, Conversation>();

  constructor(readonly maxRepeats: number) {}

  /** Forgets what was called in a conversation: what a user says is progress. */
  forget(conversationId: string): void {
    this.#conversations.delete(conversationId);
  }

  /** Counts a call. @returns whether it may be made; `false` when it was made `maxRepeats` times already without progress. */
  admit(conversationId: string, entry: ToolEntry, input: Json): boolean {
    const conversation = this.#conversations.get(conversationId) ?? {
      counts: new Map<string, number>(),
      writes: new Map<string, true>(),
    };
    keepRecent(this.#conversations, conversationId, conversation, MOST_CONVERSATIONS);
    const { counts, writes } = conversation;
    const signature = signatureOf(entry, input);
    if (isWriting(entry.accessMode)) {
      if (!writes.has(signature)) counts.clear();
      keepRecent(writes, signature, true, MOST_CALLS);
    }
    const made = counts.get(signature) ?? 0;
    if (made >= this.maxRepeats) return false;
    keepRecent(counts, signature, made + 1, MOST_CALLS);
    return true;
  }
}

function signatureOf(entry: ToolEntry, input: Json): string {
  if (entry.progressParams.length === 0 || !isPlainObject(input))
    return digestOf([entry.name, input]);
  return digestOf([
    entry.name,
    entry.progressParams.map((field) =>
      Object.hasOwn(input, field) ? (input[field] ?? null) : null,
    ),
  ]);
}

function keepRecent<V>(map: Map<string, V>, key: string, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) for (const [oldest] of map) return void map.delete(oldest);
}
