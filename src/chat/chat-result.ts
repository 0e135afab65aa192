import type { Json } from '../core/plain-data.js';
import type { Pending, ToolOutcome } from '../safety/calls.js';
import { freezePlain } from '../tool/bound-input.js';
import {
  messagesOf,
  pendingOf,
  turnEndOf,
  type ChatEnd,
  type ChatPending,
  type ChatState,
  type OpenTurn,
} from './chat-state.js';
import type { ModelUsage } from './model-step.js';
import {
  callsIn,
  textOf,
  type AssistantMessage,
  type ChatMessage,
  type ToolCallPart,
  type ToolOutput,
} from './thread.js';

/** One answer from the model, and the results of its calls. */
export interface ChatTurn {
  /**
   * The turn's number in its run, from 0. A run that continues an open turn continues the
   * numbering.
   */
  readonly index: number;
  readonly message: AssistantMessage;
  readonly text: string;
  /** All calls, in the model's order. */
  readonly toolCalls: readonly ToolCallPart[];
  /** The results so far, in the model's order. */
  readonly toolResults: readonly {
    readonly callId: string;
    readonly toolName: string;
    readonly output: ToolOutput;
  }[];
  /** Calls that users or other programs answer. */
  readonly manualToolCalls: readonly ToolCallPart[];
  readonly finishReason: string;
  readonly usage?: ModelUsage;
}

/** The result of one run of a chat. */
export interface ChatResult {
  /** The thread, including this run. Pending calls don't have results in the thread yet. */
  readonly messages: readonly ChatMessage[];
  /** The text of the model's last answer. */
  readonly text: string;
  /** The calls in the model's last answer. */
  readonly toolCalls: readonly ToolCallPart[];
  readonly turns: readonly ChatTurn[];
  /**
   * The reason why the run stopped: `completed`, `error`, `max_turns`, `halt_when`, `ask_user`,
   * `tool_error`, `manual_tool_calls`, `approval_required`, `interrupted` (a process ended in the
   * middle), `cancelled`, or the reason given by a tool that halted.
   */
  readonly haltedReason: string;
  /** The calls that the chat is waiting for, in the model's order. */
  readonly pending: readonly ChatPending[];
  /** The first pending question. */
  readonly pendingQuestion?: string;
  readonly pendingToolCallId?: string;
  /** Details of `haltedReason`. */
  readonly metadata: {
    /** The manual calls. Missing in `manual` mode, where every call in `toolCalls` is manual. */
    readonly manualToolCalls?: readonly ToolCallPart[];
    /** The turn of the manual calls, counted from 0. */
    readonly manualTurnIndex?: number;
    readonly maxTurns?: number;
    readonly haltWhenTurnIndex?: number;
    /** The call that ended the run. */
    readonly haltToolCallId?: string;
    readonly haltResult?: unknown;
    readonly askUserOptions?: readonly string[];
    readonly error?: { readonly code: string; readonly message: string };
  };
  /** The total tokens of all turns, as far as the model's service reports them. */
  readonly usage: ModelUsage;
}

type CallFacts = {
  readonly turn: number;
  readonly callId: string;
  readonly toolName: string;
};

/**
 * An event in a chat, reported when it happens.
 *
 * A call produces `tool-started` (unless it's refused or answered from the cache),
 * `tool-completed`, and then either `tool-encoded`, with the output that the model reads next, or
 * `tool-pending`. A manual call produces only `tool-pending`.
 */
export type ChatEvent =
  | { readonly type: 'turn-started'; readonly turn: number; readonly tools: readonly string[] }
  | {
      readonly type: 'text-delta' | 'reasoning-delta';
      readonly turn: number;
      readonly text: string;
    }
  | {
      readonly type: 'model-answered';
      readonly turn: number;
      readonly message: AssistantMessage;
      readonly finishReason: string;
      readonly usage?: ModelUsage;
    }
  | (CallFacts & {
      readonly type: 'tool-started';
      /** The arguments that the call runs with. The user may have changed the model's arguments. */
      readonly input: Json;
    })
  | (CallFacts & { readonly type: 'tool-progress'; readonly progress: unknown })
  | (CallFacts & { readonly type: 'tool-completed'; readonly outcome: ToolOutcome })
  | (CallFacts & { readonly type: 'tool-encoded'; readonly output: ToolOutput })
  | (CallFacts & { readonly type: 'tool-pending'; readonly pending: Pending })
  /** The model has answered, and its calls have results or are pending. */
  | { readonly type: 'turn-completed'; readonly turn: ChatTurn }
  | { readonly type: 'chat-completed'; readonly result: ChatResult };

/** Returns a turn as programs see it. */
export function turnOf(
  { index, message, calls }: OpenTurn,
  finishReason: string,
  usage: ModelUsage | undefined,
): ChatTurn {
  return freezePlain({
    index,
    message,
    text: textOf(message),
    toolCalls: callsIn(message),
    toolResults: calls.flatMap(({ callId, toolName, progress }) =>
      progress.state === 'settled' ? [{ callId, toolName, output: progress.output }] : [],
    ),
    manualToolCalls: manualCallsOf({ message, calls }),
    finishReason,
    ...(usage && { usage }),
  });
}

function manualCallsOf({
  message,
  calls,
}: Pick<OpenTurn, 'message' | 'calls'>): readonly ToolCallPart[] {
  const manual = new Set(
    calls.flatMap(({ callId, progress }) =>
      progress.state === 'waiting' && progress.pending.kind === 'manual' ? callId : [],
    ),
  );
  return callsIn(message).filter(({ toolCallId }) => manual.has(toolCallId));
}

/** Returns the result of a run from the state in which it stopped. */
export function resultOf(
  state: ChatState,
  mode: 'auto' | 'manual',
  turns: readonly ChatTurn[],
): ChatResult {
  const { openTurn } = state;
  const last = openTurn?.message ?? turns.at(-1)?.message;
  const toolCalls = last === undefined ? [] : callsIn(last);
  const pending = pendingOf(state);
  const question = pending.find((each) => each.kind === 'question');
  const manual = openTurn === undefined ? [] : manualCallsOf(openTurn);
  const metadata: ChatResult['metadata'] = {
    ...(manual.length > 0 && mode === 'auto' && { manualToolCalls: manual }),
    ...(manual.length > 0 && { manualTurnIndex: openTurn!.index }),
    ...(question?.options && { askUserOptions: question.options }),
    ...endFacts(turnEndOf(openTurn) ?? state.end),
  };
  return freezePlain({
    messages: openTurn ? [...state.messages, ...messagesOf(openTurn)] : state.messages,
    text: last === undefined ? '' : textOf(last),
    toolCalls,
    turns: [...turns],
    haltedReason: haltedReason(state),
    pending,
    ...(question && { pendingQuestion: question.question, pendingToolCallId: question.callId }),
    metadata,
    usage: usageOf(turns),
  });
}

function endFacts(end: ChatEnd | undefined): ChatResult['metadata'] {
  switch (end?.reason) {
    case 'max_turns':
      return { maxTurns: end.maxTurns };
    case 'halt_when':
      return { haltWhenTurnIndex: end.turn };
    case 'halt':
      return { haltToolCallId: end.callId, haltResult: end.value };
    case 'tool_error':
    case 'error':
      return {
        ...('callId' in end && { haltToolCallId: end.callId }),
        error: errorOf(end)!,
      };
    default:
      return {};
  }
}

/** Returns the error that ended a run, if there was one. */
export function errorOf(
  end: ChatEnd | undefined,
): { readonly code: string; readonly message: string } | undefined {
  if (end?.reason === 'error') return end.error;
  if (end?.reason !== 'tool_error') return undefined;
  return { code: 'EXECUTION_FAILED', message: end.error };
}

/** Adds up the tokens of all turns. A count that no turn reports is omitted. */
function usageOf(turns: readonly ChatTurn[]): ModelUsage {
  const sums: Record<string, number> = {};
  for (const { usage } of turns)
    for (const [field, count] of Object.entries<number>({ ...usage }))
      sums[field] = (sums[field] ?? 0) + count;
  return sums;
}

/** Reserved reasons, which the loop itself uses. A tool that halts must use another reason. */
export const RESERVED_REASONS: ReadonlySet<string> = new Set([
  'completed',
  'error',
  'max_turns',
  'halt_when',
  'ask_user',
  'tool_error',
  'manual_tool_calls',
  'approval_required',
  'interrupted',
  'cancelled',
]);

/**
 * Returns why a run stopped. If there are several reasons, the first in this order wins: the caller
 * aborted, a question, a failed tool, a tool that halted, a manual call, a call that needs
 * approval, a call whose outcome is unknown.
 */
export function haltedReason(state: ChatState): string {
  const kinds = new Set(pendingOf(state).map(({ kind }) => kind));
  const end = turnEndOf(state.openTurn) ?? state.end;
  if (state.end?.reason === 'cancelled') return 'cancelled';
  if (kinds.has('question')) return 'ask_user';
  if (end?.reason === 'tool_error') return 'tool_error';
  if (end?.reason === 'halt') return end.haltedReason;
  if (kinds.has('manual')) return 'manual_tool_calls';
  if (kinds.has('approval')) return 'approval_required';
  return end?.reason ?? 'interrupted';
}
