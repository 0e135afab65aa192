import type { Flow } from '../core/flow.js';
import type { Json } from '../core/plain-data.js';
import type { Pending, PendingApproval, GrantScope } from '../safety/calls.js';
import type { SchemaLevel } from '../tool/render-tool.js';
import type {
  AssistantMessage,
  ChatMessage,
  ToolCallPart,
  ToolMessage,
  ToolOutput,
  ToolResultPart,
} from './thread.js';

/** A call that a chat waits for; `uncertain` is a call that was started by a process that is gone, so that nobody knows whether it had its effect. */
export type ChatPending =
  | Pending
  | {
      readonly kind: 'uncertain';
      readonly callId: string;
      readonly toolName: string;
      readonly input: Json;
      /** Milliseconds since 1970. */ readonly startedAt: number;
    };

/** The progress of one call of the open turn; `input` are other arguments than the model's, where the user changed them. */
export type CallProgress =
  /** `rerunOf` is when it was started before, if it may run again. */
  | { readonly state: 'not_started'; readonly input?: Json; readonly rerunOf?: number }
  /** The outcome is not known: the call runs, or the process that ran it is gone. */
  | { readonly state: 'started'; readonly startedAt: number; readonly input?: Json }
  | { readonly state: 'waiting'; readonly pending: Pending }
  /** The call runs when the chat goes on; `grant` are further calls that the user approved with it. */
  | {
      readonly state: 'approved';
      readonly pending: PendingApproval;
      readonly input?: Json;
      readonly grant?: GrantScope;
    }
  | { readonly state: 'settled'; readonly output: ToolOutput; readonly input?: Json };

/** One call that the model made in the open turn. */
export interface CallRecord {
  readonly callId: string;
  readonly toolName: string;
  readonly input: Json;
  readonly progress: CallProgress;
}

/** The reason why a turn is the last, whatever else its calls answer. */
export type TurnEnd =
  | {
      readonly reason: 'halt';
      readonly haltedReason: string;
      readonly callId: string;
      readonly value: Json;
    }
  | { readonly reason: 'tool_error'; readonly callId: string; readonly error: string };

/** A turn whose calls are not all settled. Its messages join the thread when they are. */
export interface OpenTurn {
  /** The position of this answer of the model, counted from 0 in this run. */
  readonly index: number;
  readonly message: AssistantMessage;
  readonly calls: readonly CallRecord[];
  /** The tools called, as they were declared when the model saw them. */
  readonly tools: readonly { readonly toolName: string; readonly digest: string }[];
  readonly end?: TurnEnd;
}

/** The end of a run. */
export type ChatEnd =
  | { readonly reason: 'completed'; readonly finishReason: string }
  | TurnEnd
  | { readonly reason: 'max_turns'; readonly maxTurns: number }
  | { readonly reason: 'halt_when'; readonly turn: number }
  | { readonly reason: 'cancelled' }
  | {
      readonly reason: 'error';
      readonly error: { readonly code: string; readonly message: string };
    };

/** The whole of a chat between two steps: plain data. */
export interface ChatState {
  /** The closed turns: a model accepts them at any time. */
  readonly messages: readonly ChatMessage[];
  readonly openTurn?: OpenTurn;
  /** The end of the last run; missing while one is under way, or has pending calls. */
  readonly end?: ChatEnd;
  /** The tools that the model was shown last, in their order: later turns keep it, so that prompts stay cached. */
  readonly offered: readonly { readonly toolName: string; readonly level: SchemaLevel }[];
  /** The labels of the conversation before its open turn, or after its last one, with those of calls beside the chat; missing where nothing was read. */
  readonly flow?: Flow;
}

export const NO_CHAT: ChatState = Object.freeze({
  messages: Object.freeze([]),
  offered: Object.freeze([]),
});

/** Positions of calls by their ids: those of one message stay where they are, however often a state with them is made. */
const positions = new WeakMap<AssistantMessage, ReadonlyMap<string, number>>();

/** Returns the position of a call in the open turn; -1 for an unknown id. */
export function positionOf({ message, calls }: OpenTurn, callId: string): number {
  let known = positions.get(message);
  if (known?.size !== calls.length)
    positions.set(message, (known = new Map(calls.map((call, at) => [call.callId, at]))));
  return known.get(callId) ?? -1;
}

/** Returns the state with other progress of one call of the open turn. */
export function withCall(state: ChatState, callId: string, progress: CallProgress): ChatState {
  const { openTurn } = state;
  const at = openTurn === undefined ? -1 : positionOf(openTurn, callId);
  if (openTurn === undefined || at < 0) return state;
  // A spread: other copies of a frozen array take sixty times as long to be frozen again.
  const calls = [...openTurn.calls];
  calls[at] = Object.freeze({ ...calls[at]!, progress: Object.freeze(progress) });
  return Object.freeze({
    ...state,
    openTurn: Object.freeze({ ...openTurn, calls: Object.freeze(calls) }),
  });
}

/** Returns the record of a call that an answer of the model makes. */
export function callRecord(
  { toolCallId, toolName, input }: ToolCallPart,
  progress: CallProgress,
): CallRecord {
  return Object.freeze({ callId: toolCallId, toolName, input, progress: Object.freeze(progress) });
}

/** Returns the arguments that the user gave instead of the model's. */
export function editedInput({ progress }: CallRecord): { readonly input?: Json } {
  return 'input' in progress && progress.input !== undefined ? { input: progress.input } : {};
}

/** Returns the arguments with which a call is run, or was started. */
export function argumentsOf(call: CallRecord): Json {
  const { input = call.input } = editedInput(call);
  return input;
}

/** Returns what the open turn waits for, in the order of its calls. */
export function pendingOf({ openTurn }: ChatState): readonly ChatPending[] {
  return (openTurn?.calls ?? []).flatMap((call): readonly ChatPending[] => {
    const { callId, toolName, progress } = call;
    if (progress.state === 'waiting') return [progress.pending];
    if (progress.state === 'started')
      return [
        Object.freeze({
          kind: 'uncertain',
          callId,
          toolName,
          input: argumentsOf(call),
          startedAt: progress.startedAt,
        }),
      ];
    return [];
  });
}

/** Returns the messages of a turn: the model's, and one with the results that are there, in the order of the calls. */
export function messagesOf(turn: OpenTurn): readonly (AssistantMessage | ToolMessage)[] {
  const results = turn.calls.flatMap(({ callId, toolName, progress }): ToolResultPart[] =>
    progress.state === 'settled'
      ? [
          Object.freeze({
            type: 'tool-result',
            toolCallId: callId,
            toolName,
            output: progress.output,
          }),
        ]
      : [],
  );
  return results.length === 0
    ? [asRun(turn)]
    : [asRun(turn), Object.freeze({ role: 'tool', content: Object.freeze(results) })];
}

/** Returns the model's message with the arguments that its calls were run with: the model would take the results for those of its own. */
function asRun({ message, calls }: OpenTurn): AssistantMessage {
  const changed = new Map(
    calls.flatMap((call) =>
      call.progress.state === 'settled' && call.progress.input !== undefined
        ? [[call.callId, call.progress.input] as const]
        : [],
    ),
  );
  if (changed.size === 0 || typeof message.content === 'string') return message;
  const content = message.content.map((part) => {
    const input =
      part.type === 'tool-call' ? changed.get((part as ToolCallPart).toolCallId) : undefined;
    return input === undefined ? part : Object.freeze({ ...part, input });
  });
  return Object.freeze({ ...message, content: Object.freeze(content) });
}

/** Returns true when every call of the open turn has its result. */
export function isSettled({ calls }: OpenTurn): boolean {
  return calls.every(({ progress }) => progress.state === 'settled');
}

/** Returns the state in which the messages of a settled turn have joined the thread; other states stay as they are. */
export function closeTurn(state: ChatState): ChatState {
  const { openTurn, ...rest } = state;
  if (openTurn === undefined || !isSettled(openTurn)) return state;
  const messages: readonly ChatMessage[] = Object.freeze([
    ...state.messages,
    ...messagesOf(openTurn),
  ]);
  return Object.freeze({ ...rest, messages, ...(openTurn.end && { end: openTurn.end }) });
}
