import type { ChatPending } from './chat-state.js';
import type { ChatTurn } from './chat-turn.js';
import type { ModelUsage } from './model/model-step.js';
import type { ChatMessage, ToolCallPart } from './thread/chat-message.js';

/** What a run of a chat came to. */
export interface ChatResult {
  /** The thread, with the answers and results of this run. Calls that wait have no result in it yet. */
  readonly messages: readonly ChatMessage[];
  /** The text of the model's last answer. */
  readonly text: string;
  /** The calls of the model's last answer. */
  readonly toolCalls: readonly ToolCallPart[];
  readonly turns: readonly ChatTurn[];
  /** Why it stands still; `haltedReason` says which there are. */
  readonly haltedReason: string;
  /** All that it waits for, in the order of the calls. */
  readonly pending: readonly ChatPending[];
  /** The first question that waits for an answer. */
  readonly pendingQuestion?: string;
  readonly pendingToolCallId?: string;
  readonly metadata: ChatMetadata;
  /** Tokens of all turns together, as far as the model's service tells. */
  readonly usage: ModelUsage;
}

/** Facts that go with the halted reason. */
export interface ChatMetadata {
  /** The calls that somebody else answers, whole; not in the mode `manual`, where all calls are `toolCalls`. */
  readonly manualToolCalls?: readonly ToolCallPart[];
  /** The turn in which they were made, counted from 0. */
  readonly manualTurnIndex?: number;
  readonly maxTurns?: number;
  readonly haltWhenTurnIndex?: number;
  /** The call that ended the run, and for a halt its value. */
  readonly haltToolCallId?: string;
  readonly haltResult?: unknown;
  readonly askUserOptions?: readonly string[];
  readonly error?: { readonly code: string; readonly message: string };
}
