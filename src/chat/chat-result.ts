import type { Json } from '../core/plain-data.js';
import type { Pending, ToolOutcome } from '../safety/calls.js';
import {
  messagesOf,
  pendingOf,
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

/** One answer of the model, with the results of its calls. */
export interface ChatTurn {
  /** Counted from 0 in each run; one that goes on with an open turn counts on from it. */
  readonly index: number;
  readonly message: AssistantMessage;
  readonly text: string;
  /** The calls in the model's order. */
  readonly toolCalls: readonly ToolCallPart[];
  /** The results of the calls that are settled, in the model's order. */
  readonly toolResults: readonly {
    readonly callId: string;
    readonly toolName: string;
    readonly output: ToolOutput;
  }[];
  /** Calls of tools that users or other programs answer. */
  readonly manualToolCalls: readonly ToolCallPart[];
  readonly finishReason: string;
  readonly usage?: ModelUsage;
}

/** The result of one run of a chat. */
export interface ChatResult {
  /** The thread, with the answers and results of this run. Pending calls have no result in it yet. */
  readonly messages: readonly ChatMessage[];
  /** The text of the model's last answer. */
  readonly text: string;
  /** The calls of the model's last answer. */
  readonly toolCalls: readonly ToolCallPart[];
  readonly turns: readonly ChatTurn[];
  /**
   * The reason why the run stopped: one of `completed`, `error`, `max_turns`, `halt_when`, `ask_user`, `tool_error`, `manual_tool_calls`,
   * `approval_required`, `interrupted` (a process ended in the middle), `cancelled`, or the reason of a tool that halted.
   */
  readonly haltedReason: string;
  /** The calls that it waits for, in the model's order. */
  readonly pending: readonly ChatPending[];
  /** The first question that is pending. */
  readonly pendingQuestion?: string;
  readonly pendingToolCallId?: string;
  /** Facts that go with the halted reason. */
  readonly metadata: {
    /** The manual calls, whole; not in the mode `manual`, where all calls are `toolCalls`. */
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
  };
  /** Tokens of all turns together, as far as the model's service tells. */
  readonly usage: ModelUsage;
}

type CallFacts = { readonly turn: number; readonly callId: string; readonly toolName: string };

/**
 * An event of a chat, told when it happens.
 *
 * Each call that is run tells `tool-started` (not for answers from the cache and refused calls), `tool-completed`, and then
 * either `tool-encoded` with what the model will read or `tool-pending` with what it waits for. Calls of tools that are
 * `manual` tell only `tool-pending`. Calls that run at the same time tell in the order in which things happen.
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
      /** The arguments with which it runs: the user may have changed the model's. */ readonly input: Json;
    })
  | (CallFacts & { readonly type: 'tool-progress'; readonly progress: unknown })
  | (CallFacts & { readonly type: 'tool-completed'; readonly outcome: ToolOutcome })
  | (CallFacts & { readonly type: 'tool-encoded'; readonly output: ToolOutput })
  | (CallFacts & { readonly type: 'tool-pending'; readonly pending: Pending })
  /** The model has answered, and its calls are settled or pending. */
  | { readonly type: 'turn-completed'; readonly turn: ChatTurn }
  | { readonly type: 'chat-completed'; readonly result: ChatResult };

/** Returns the turn as it is told, from its record. */
export function turnOf(
  { index, message, calls }: Pick<OpenTurn, 'index' | 'message' | 'calls'>,
  finishReason: string,
  usage: ModelUsage | undefined,
): ChatTurn {
  const toolCalls = Object.freeze(callsIn(message));
  const manual = new Set(
    calls.flatMap(({ callId, progress }) =>
      progress.state === 'waiting' && progress.pending.kind === 'manual' ? [callId] : [],
    ),
  );
  return Object.freeze({
    index,
    message,
    text: textOf(message),
    toolCalls,
    toolResults: Object.freeze(
      calls.flatMap(({ callId, toolName, progress }) =>
        progress.state === 'settled'
          ? [Object.freeze({ callId, toolName, output: progress.output })]
          : [],
      ),
    ),
    manualToolCalls: Object.freeze(toolCalls.filter(({ toolCallId }) => manual.has(toolCallId))),
    finishReason,
    ...(usage && { usage }),
  });
}

/** Returns the result of a run, from the state in which it stopped. All parts are frozen. */
export function resultOf(
  state: ChatState,
  mode: 'auto' | 'manual',
  turns: readonly ChatTurn[],
): ChatResult {
  const { openTurn } = state;
  const messages =
    openTurn === undefined ? state.messages : [...state.messages, ...messagesOf(openTurn)];
  const last = openTurn?.message ?? turns.at(-1)?.message;
  const pending = pendingOf(state);
  const question = pending.find((each) => each.kind === 'question');
  const manual = new Set(
    pending.filter(({ kind }) => kind === 'manual').map(({ callId }) => callId),
  );
  const end = openTurn?.end ?? state.end;
  const metadata: ChatResult['metadata'] = {
    ...(openTurn &&
      manual.size > 0 && {
        ...(mode === 'auto' && {
          manualToolCalls: Object.freeze(
            callsIn(openTurn.message).filter(({ toolCallId }) => manual.has(toolCallId)),
          ),
        }),
        manualTurnIndex: openTurn.index,
      }),
    ...(question?.options && { askUserOptions: question.options }),
    ...(end?.reason === 'max_turns' && { maxTurns: end.maxTurns }),
    ...(end?.reason === 'halt_when' && { haltWhenTurnIndex: end.turn }),
    ...(end?.reason === 'halt' && { haltToolCallId: end.callId, haltResult: end.value }),
    ...(end?.reason === 'tool_error' && {
      haltToolCallId: end.callId,
      error: Object.freeze({ code: 'EXECUTION_FAILED', message: end.error }),
    }),
    ...(end?.reason === 'error' && { error: end.error }),
  };
  return Object.freeze({
    messages: Object.freeze(messages),
    text: last === undefined ? '' : textOf(last),
    toolCalls: Object.freeze(last === undefined ? [] : callsIn(last)),
    turns: Object.freeze([...turns]),
    haltedReason: haltedReason(state),
    pending: Object.freeze(pending),
    ...(question && { pendingQuestion: question.question, pendingToolCallId: question.callId }),
    metadata: Object.freeze(metadata),
    usage: Object.freeze(usageOf(turns)),
  });
}

/** Returns the tokens of all turns; what no turn tells is missing. */
function usageOf(turns: readonly ChatTurn[]): ModelUsage {
  const told = (['inputTokens', 'outputTokens', 'totalTokens'] as const).map(
    (field) => [field, turns.flatMap(({ usage }) => usage?.[field] ?? [])] as const,
  );
  return Object.fromEntries(
    told
      .filter(([, counts]) => counts.length > 0)
      .map(([field, counts]) => [field, counts.reduce((sum, count) => sum + count, 0)]),
  );
}

/** The reasons that a run itself gives for its end; tools that halt give others. */
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
 * Returns the first of the reasons that hold, in this order: the caller gave the chat up, a question, a failed tool, a tool that
 * halted, a manual call, a call that needs approval, a call whose outcome nobody knows.
 */
export function haltedReason(state: ChatState): string {
  if (state.end?.reason === 'cancelled') return 'cancelled';
  const kinds = new Set(pendingOf(state).map(({ kind }) => kind));
  if (kinds.has('question')) return 'ask_user';
  const end = state.openTurn?.end ?? state.end;
  if (end?.reason === 'tool_error') return 'tool_error';
  if (end?.reason === 'halt') return end.haltedReason;
  if (kinds.has('manual')) return 'manual_tool_calls';
  if (kinds.has('approval')) return 'approval_required';
  return end?.reason ?? 'interrupted';
}
