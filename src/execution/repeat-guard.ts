import { isWriting } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { canonicalJson, digestOf, isPlainObject, type Json } from '../core/plain-data.js';
import { RecentMap } from '../core/recent-map.js';
import type { ToolEntry } from '../tool/tool-definition.js';

const MOST_CONVERSATIONS = 1_000;
/** The maximum number of different calls remembered per conversation. */
const MOST_CALLS = 64;
/**
 * The maximum length of a call that is stored as text, in characters. Longer calls are stored as a
 * digest.
 */
const LONGEST = 256;

class Conversation {
  /** The number of times each call was made since the last progress. */
  readonly counts = new RecentMap<string, number>(MOST_CALLS);
  /** The writes made so far. Making the same write again isn't progress. */
  readonly writes = new RecentMap<string, true>(MOST_CALLS);
}

/**
 * Detects that a model keeps making the same call. Calls that the user denied count as well.
 *
 * Two calls of a tool are the same if their `progressParams` are equal. If the tool doesn't declare
 * `progressParams`, all arguments must be equal. A write that is new in the conversation is
 * progress: when it starts, all counts are reset.
 */
export class RepeatGuard {
  readonly #conversations = new RecentMap<string, Conversation>(MOST_CONVERSATIONS);
  readonly #maxRepeats: number;

  constructor(maxRepeats: number) {
    this.#maxRepeats = maxRepeats;
  }

  /** Resets the counts of a conversation, because a message from the user counts as progress. */
  forget(conversationId: string): void {
    this.#conversations.delete(conversationId);
  }

  /**
   * Counts a call.
   * @throws ToolError `LOOP_DETECTED` if the call has already been made `maxRepeats` times without
   * progress.
   */
  admit(conversationId: string, entry: ToolEntry, input: Json): void {
    const { counts } = this.#of(conversationId);
    const signature = signatureOf(entry, input);
    const made = counts.get(signature) ?? 0;
    if (made >= this.#maxRepeats)
      throw new ToolError(
        'LOOP_DETECTED',
        `${entry.name} was called ${this.#maxRepeats} times with the same arguments and no progress. Use the results you already have, or try something else.`,
      );
    counts.set(signature, made + 1);
  }

  /** Records that a call is starting. */
  started(conversationId: string, entry: ToolEntry, input: Json): void {
    if (!isWriting(entry.accessMode)) return;
    const { counts, writes } = this.#of(conversationId);
    const signature = signatureOf(entry, input);
    if (!writes.has(signature)) {
      counts.clear();
      counts.set(signature, 1);
    }
    writes.set(signature, true);
  }

  #of(conversationId: string): Conversation {
    const conversation = this.#conversations.get(conversationId) ?? new Conversation();
    this.#conversations.set(conversationId, conversation);
    return conversation;
  }
}

function signatureOf({ name, progressParams }: ToolEntry, input: Json): string {
  const told =
    progressParams.length === 0 || !isPlainObject(input)
      ? input
      : progressParams.map((field) => (Object.hasOwn(input, field) ? input[field] : null));
  const text = canonicalJson([name, told]);
  return text.length > LONGEST ? digestOf(text) : text;
}
