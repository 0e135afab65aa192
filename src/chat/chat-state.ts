import type { Flow } from '../core/flow.js';
import type { Json } from '../core/plain-data.js';
import type { GrantScope, Pending, PendingApproval } from '../safety/calls.js';
import { freezePlain } from '../tool/bound-input.js';
import type { SchemaLevel } from '../tool/render-tool.js';
import type {
  AssistantMessage,
  ChatMessage,
  ToolCallPart,
  ToolMessage,
  ToolOutput,
  ToolResultPart,
} from './thread.js';

/** A call that a chat waits for. A call is `uncertain` if the process that started it is gone: nobody knows whether it had its effect. */
export type ChatPending =
  | Pending
  | {
      readonly kind: 'uncertain';
      readonly callId: string;
      readonly toolName: string;
      readonly input: Json;
      /** Milliseconds since 1970. */ readonly startedAt: number;
    };

/** The progress of one call. `input` holds the user's arguments if the user changed the model's. */
export type CallProgress =
  /** `rerunOf` is the time of an earlier start, if the user lets the call run again. */
  | { readonly state: 'not_started'; readonly input?: Json; readonly rerunOf?: number }
  /** The call is running, or the process that ran it is gone. */
  | { readonly state: 'started'; readonly startedAt: number; readonly input?: Json }
  | { readonly state: 'waiting'; readonly pending: Pending }
  /** The call runs when the chat continues. `grant` covers further calls that the user approved with it. */
  | {
      readonly state: 'approved';
      readonly pending: PendingApproval;
      readonly input?: Json;
      readonly grant?: GrantScope;
    }
  /** `end` says that the run ends with this turn. */
  | {
      readonly state: 'settled';
      readonly output: ToolOutput;
      readonly input?: Json;
      readonly end?: TurnEnd;
    };

/** One call of the open turn. */
export interface CallRecord {
  readonly callId: string;
  readonly toolName: string;
  readonly input: Json;
  /** The digest of the tool when the model called it; missing if the registry had no such tool. */
  readonly digest?: string;
  readonly progress: CallProgress;
}

/** The reason why a call makes its turn the last one. */
export type TurnEnd =
  | {
      readonly reason: 'halt';
      readonly haltedReason: string;
      readonly callId: string;
      readonly value: Json;
    }
  | { readonly reason: 'tool_error'; readonly callId: string; readonly error: string };

/** A turn with calls that have no result yet. Its messages join the thread when every call has its result. */
export interface OpenTurn {
  /** The position of this turn, counted from 0 in its run. */
  readonly index: number;
  readonly message: AssistantMessage;
  readonly calls: readonly CallRecord[];
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

/** A chat between two steps, as plain data. */
export interface ChatState {
  /** The closed turns. Every model accepts them. */
  readonly messages: readonly ChatMessage[];
  readonly openTurn?: OpenTurn;
  /** The end of the last run; missing while a run is under way or calls are pending. */
  readonly end?: ChatEnd;
  /** The tools that the model saw last, in order. Later turns keep this order, so prompts stay cached. */
  readonly offered: readonly { readonly toolName: string; readonly level: SchemaLevel }[];
  /** The labels of the conversation: what it had read before its open turn, or after its last one. */
  readonly flow?: Flow;
}

export const NO_CHAT: ChatState = freezePlain({ messages: [], offered: [] });

/** Returns the state with other progress of one call. */
export function withCall<S extends ChatState>(state: S, callId: string, progress: CallProgress): S {
  return withCalls(state, (call) => (call.callId === callId ? { ...call, progress } : call));
}

/** Returns the state with each call of the open turn changed. */
export function withCalls<S extends ChatState>(
  state: S,
  change: (call: CallRecord) => CallRecord,
): S {
  const { openTurn } = state;
  if (openTurn === undefined) return state;
  return freezePlain({ ...state, openTurn: { ...openTurn, calls: openTurn.calls.map(change) } });
}

/** Returns the record of a call that the model made. */
export function callRecord(
  { toolCallId: callId, toolName, input }: ToolCallPart,
  progress: CallProgress,
  digest?: string,
): CallRecord {
  return { callId, toolName, input, ...(digest !== undefined && { digest }), progress };
}

/** Returns the arguments that the user gave in place of the model's. */
export function editedInput({ progress }: CallRecord): { readonly input?: Json } {
  return 'input' in progress && progress.input !== undefined ? { input: progress.input } : {};
}

/** Returns the arguments with which a call runs, or ran. */
export function argumentsOf(call: CallRecord): Json {
  return editedInput(call).input ?? call.input;
}

/** Returns what the open turn waits for, in the order of its calls. */
export function pendingOf({ openTurn }: ChatState): readonly ChatPending[] {
  const calls = openTurn?.calls ?? [];
  return calls.flatMap((call): readonly ChatPending[] => {
    const { callId, toolName, progress } = call;
    if (progress.state === 'waiting') return [progress.pending];
    if (progress.state !== 'started') return [];
    const { startedAt } = progress;
    return [{ kind: 'uncertain', callId, toolName, input: argumentsOf(call), startedAt }];
  });
}

/** Returns the messages of a turn: the model's, and one message with the results so far, in the order of the calls. */
export function messagesOf(turn: OpenTurn): readonly (AssistantMessage | ToolMessage)[] {
  const content = turn.calls.flatMap(({ callId, toolName, progress }): ToolResultPart[] =>
    progress.state === 'settled'
      ? [{ type: 'tool-result', toolCallId: callId, toolName, output: progress.output }]
      : [],
  );
  return freezePlain(
    content.length === 0 ? [asRun(turn)] : [asRun(turn), { role: 'tool', content }],
  );
}

/** Returns the model's message with the arguments that the user changed, so that the model reads them beside their results. */
function asRun({ message, calls }: OpenTurn): AssistantMessage {
  const edited = new Map(
    calls.flatMap((call) =>
      call.progress.state === 'settled' && call.progress.input !== undefined
        ? [[call.callId, call.progress.input]]
        : [],
    ),
  );
  if (edited.size === 0 || typeof message.content === 'string') return message;
  const content = message.content.map((part) => {
    const input = edited.get((part as ToolCallPart).toolCallId);
    return part.type !== 'tool-call' || input === undefined ? part : { ...part, input };
  });
  return { ...message, content };
}

/** Returns true if every call of the open turn has its result. */
export function isSettled({ calls }: OpenTurn): boolean {
  return calls.every(({ progress }) => progress.state === 'settled');
}

/** Returns why a turn is the last one. A failed call comes before one that halts; then the model's order decides. */
export function turnEndOf(turn: OpenTurn | undefined): TurnEnd | undefined {
  const ends = (turn?.calls ?? []).flatMap(({ progress }) =>
    progress.state === 'settled' && progress.end !== undefined ? [progress.end] : [],
  );
  return ends.find(({ reason }) => reason === 'tool_error') ?? ends[0];
}

/** Returns the state with the messages of a settled turn in the thread. A state whose turn is open stays as it is. */
export function closeTurn<S extends ChatState>(state: S): S {
  const { openTurn, ...rest } = state;
  if (openTurn === undefined || !isSettled(openTurn)) return state;
  const end = turnEndOf(openTurn);
  const messages = [...state.messages, ...messagesOf(openTurn)];
  return freezePlain({ ...rest, messages, ...(end && { end }) } as unknown as S);
}
