import type { Json } from '../core/plain-data.js';
import type { Pending, ToolOutcome } from '../safety/calls.js';
import { messagesOf, pendingOf, type ChatPending, type ChatState } from './chat-state.js';
import type { ModelUsage } from './model-step.js';
import { callsIn, textOf, type AssistantMessage, type ChatMessage, type ToolCallPart, type ToolOutput } from './thread.js';

/** One answer of the model, and what became of its calls. */
export interface ChatTurn {
  /** Counted from 0 in each run; one that goes on with a turn that was held counts on from it. */
  readonly index: number;
  readonly message: AssistantMessage;
  readonly text: string;
  /** In the model's order. */
  readonly toolCalls: readonly ToolCallPart[];
  /** Of the calls that are settled, in the model's order. */
  readonly toolResults: readonly { readonly callId: string; readonly toolName: string; readonly output: ToolOutput }[];
  /** Calls of tools that somebody else answers. */
  readonly manualToolCalls: readonly ToolCallPart[];
  readonly finishReason: string;
  readonly usage?: ModelUsage;
}

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

interface CallFacts {
  readonly turn: number;
  readonly callId: string;
  readonly toolName: string;
}

/**
 * What happens in a chat, told when it happens.
 *
 * Each call that is run tells `tool-started` (not for answers from the cache and refused calls), `tool-completed`, and then
 * either `tool-encoded` with what the model will read or `tool-pending` with what it waits for. Calls of tools that are
 * `manual` tell only `tool-pending`. Calls that run at the same time tell in the order in which things happen.
 */
export type ChatEvent =
  | { readonly type: 'turn-started'; readonly turn: number; readonly tools: readonly string[] }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly turn: number; readonly text: string }
  | { readonly type: 'model-answered'; readonly turn: number; readonly message: AssistantMessage; readonly finishReason: string; readonly usage?: ModelUsage }
  | (CallFacts & { readonly type: 'tool-started'; /** With which it runs: a person may have changed the model's. */ readonly input: Json })
  | (CallFacts & { readonly type: 'tool-progress'; readonly progress: unknown })
  | (CallFacts & { readonly type: 'tool-completed'; readonly outcome: ToolOutcome })
  | (CallFacts & { readonly type: 'tool-encoded'; readonly output: ToolOutput })
  | (CallFacts & { readonly type: 'tool-pending'; readonly pending: Pending })
  /** The model has answered, and its calls are settled or wait. */
  | { readonly type: 'turn-completed'; readonly turn: ChatTurn }
  | { readonly type: 'chat-completed'; readonly result: ChatResult };

/** What a run came to, from the state in which it left off. */
export function resultOf(state: ChatState, mode: 'auto' | 'manual', turns: readonly ChatTurn[]): ChatResult {
  const { openTurn } = state;
  const messages = openTurn === undefined ? state.messages : [...state.messages, ...messagesOf(openTurn)];
  const last = openTurn?.message ?? turns.at(-1)?.message;
  const pending = pendingOf(state);
  const question = pending.find((each) => each.kind === 'question');
  // All parts are frozen.
  return Object.freeze({
    messages: Object.freeze(messages),
    text: last === undefined ? '' : textOf(last),
    toolCalls: Object.freeze(last === undefined ? [] : callsIn(last)),
    turns: Object.freeze([...turns]),
    haltedReason: haltedReason(state),
    pending: Object.freeze(pending),
    ...(question && { pendingQuestion: question.question, pendingToolCallId: question.callId }),
    metadata: Object.freeze(metadataOf(state, mode, pending)),
    usage: Object.freeze(sum(turns)),
  });
}

function metadataOf({ openTurn, end: closed }: ChatState, mode: 'auto' | 'manual', pending: readonly ChatPending[]): ChatMetadata {
  const manual = new Set(pending.filter(({ kind }) => kind === 'manual').map(({ callId }) => callId));
  const question = pending.find((each) => each.kind === 'question');
  const end = openTurn?.end ?? closed;
  return {
    ...(openTurn && manual.size > 0 && { ...(mode === 'auto' && { manualToolCalls: Object.freeze(callsIn(openTurn.message).filter(({ toolCallId }) => manual.has(toolCallId))) }), manualTurnIndex: openTurn.index }),
    ...(question?.options && { askUserOptions: question.options }),
    ...(end?.reason === 'max_turns' && { maxTurns: end.maxTurns }),
    ...(end?.reason === 'halt_when' && { haltWhenTurnIndex: end.turn }),
    ...(end?.reason === 'halt' && { haltToolCallId: end.callId, haltResult: end.value }),
    ...(end?.reason === 'tool_error' && { haltToolCallId: end.callId, error: Object.freeze({ code: 'EXECUTION_FAILED', message: end.error }) }),
    ...(end?.reason === 'error' && { error: end.error }),
  };
}

function sum(turns: readonly ChatTurn[]): ModelUsage {
  const total = (field: keyof ModelUsage) => turns.reduce<number | undefined>((before, { usage }) => (usage?.[field] === undefined ? before : (before ?? 0) + usage[field]), undefined);
  const [inputTokens, outputTokens, totalTokens] = [total('inputTokens'), total('outputTokens'), total('totalTokens')];
  return { ...(inputTokens !== undefined && { inputTokens }), ...(outputTokens !== undefined && { outputTokens }), ...(totalTokens !== undefined && { totalTokens }) };
}

/** Reasons that a run itself gives for its end; tools that halt give others. */
export const RESERVED_REASONS: ReadonlySet<string> = new Set(['completed', 'error', 'max_turns', 'halt_when', 'ask_user', 'tool_error', 'manual_tool_calls', 'approval_required', 'interrupted', 'cancelled']);

/**
 * Why a chat stands still: one of `completed`, `error`, `max_turns`, `halt_when`, `ask_user`, `tool_error`,
 * `manual_tool_calls`, `approval_required`, `interrupted` (a process ended in the middle), `cancelled`, or the reason of a tool that halted.
 *
 * Of several, the first in this order: the caller gave the chat up, a question, a failed tool, a tool that halted, a call
 * that somebody else answers, a call that needs a yes, a call whose outcome nobody knows.
 */
export function haltedReason(state: ChatState): string {
  if (state.end?.reason === 'cancelled') return 'cancelled';
  const waiting = new Set(pendingOf(state).map(({ kind }) => kind));
  if (waiting.has('question')) return 'ask_user';
  const end = state.openTurn?.end ?? state.end;
  if (end?.reason === 'tool_error') return 'tool_error';
  if (end?.reason === 'halt') return end.haltedReason;
  if (waiting.has('manual')) return 'manual_tool_calls';
  if (waiting.has('approval')) return 'approval_required';
  return end?.reason ?? 'interrupted';
}
