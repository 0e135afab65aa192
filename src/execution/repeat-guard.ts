import { isWriting } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { canonicalJson, digestOf, isPlainObject, type Json } from '../core/plain-data.js';
import { RecentMap } from '../core/recent-map.js';
import type { ToolEntry } from '../tool/tool-definition.js';

const MOST_CONVERSATIONS = 1_000;
/** Different calls remembered of one conversation. */
const MOST_CALLS = 64;
/** Characters of a call that are remembered as they are; a digest stands for longer ones. */
const LONGEST = 256;

class Conversation {
  /** The number of times each call was made since the last progress. */
  readonly counts = new RecentMap<string, number>(MOST_CALLS);
  /** Writes that were made before: making them again is no progress. */
  readonly writes = new RecentMap<string, true>(MOST_CALLS);
}

/**
 * Notices when a model makes the same call again and again, run or denied by the user.
 *
 * Two calls of a tool are the same when their `progressParams` are equal, for tools that name none when all their
 * arguments are. A write that starts and was not made before in the conversation is progress: after it everything may be
 * called afresh.
 */
export class RepeatGuard {
  readonly #conversations = new RecentMap<string, Conversation>(MOST_CONVERSATIONS);
  readonly #maxRepeats: number;

  constructor(maxRepeats: number) {
    this.#maxRepeats = maxRepeats;
  }

  /** Forgets what was called in a conversation: what a user says is progress. */
  forget(conversationId: string): void {
    this.#conversations.delete(conversationId);
  }

  /** Counts a call. @throws ToolError `LOOP_DETECTED` when it was made `maxRepeats` times already without progress. */
  admit(conversationId: string | undefined, entry: ToolEntry, input: Json): void {
    if (conversationId === undefined) return;
    const { counts } = this.#of(conversationId);
    const signature = signatureOf(entry, input);
    const made = counts.get(signature) ?? 0;
    if (made >= this.#maxRepeats)
      throw new ToolError(
        'LOOP_DETECTED',
        `${entry.name} was called ${this.#maxRepeats} times with the same arguments and without progress. Use what those calls answered, or try something else.`,
      );
    counts.set(signature, made + 1);
  }

  /** Notes that a call starts. */
  started(conversationId: string | undefined, entry: ToolEntry, input: Json): void {
    if (conversationId === undefined || !isWriting(entry.accessMode)) return;
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
