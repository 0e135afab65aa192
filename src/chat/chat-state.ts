import { z } from 'zod';
import { DangerLevel } from '../core/enums.js';
import type { Flow } from '../core/flow.js';
import { canonicalJson, isPlainObject, type Json } from '../core/plain-data.js';
import { previewSchema } from '../core/preview.js';
import { flowSchema } from '../safety/call-flow.js';
import type { GrantScope, Pending, PendingApproval } from '../safety/calls.js';
import { freezePlain } from '../tool/bound-input.js';
import { questionFields } from '../tool/question.js';
import { SCHEMA_LEVELS } from '../tool/render-tool.js';
import {
  assistantSchema,
  id,
  json,
  messageSchema,
  outputSchema,
  toolName,
  type AssistantMessage,
  type ToolCallPart,
  type ToolMessage,
  type ToolResultPart,
} from './thread.js';

/**
 * A call that a chat is waiting for. A call is `uncertain` if the process that started it is gone:
 * nobody knows whether the call took effect.
 */
export type ChatPending =
  | Pending
  | {
      readonly kind: 'uncertain';
      readonly callId: string;
      readonly toolName: string;
      readonly input: Json;
      /** Milliseconds since 1970, or 0 if the run was stopped before the call started. */ readonly startedAt: number;
    };

export const timestamp = z.number().min(0);
export const digest = z.string().regex(/^[0-9a-f]{64}$/, '64 hexadecimal digits');

const asked = {
  id,
  callId: id,
  toolName,
  input: json,
  principal: z.string().optional(),
  conversationId: z.string().optional(),
  createdAt: timestamp,
  definitionDigest: digest,
};
const approval = z.strictObject({
  kind: z.literal('approval'),
  ...asked,
  danger: z.enum(DangerLevel),
  reason: z.string(),
  rule: z.string(),
  preview: previewSchema().optional(),
  noPreview: z.string().optional(),
  expiresAt: timestamp,
  storeIdentity: z.string(),
});
const pending = z.discriminatedUnion('kind', [
  approval,
  z.strictObject({
    kind: z.literal('manual'),
    ...asked,
    definitionDigest: z.union([digest, z.literal('')]),
    outputSchema: json.optional(),
  }),
  z.strictObject({
    kind: z.literal('question'),
    ...asked,
    ...questionFields(),
    expiresAt: timestamp.optional(),
  }),
]) as unknown as z.ZodType<Pending>;

const halt = z.strictObject({
  reason: z.literal('halt'),
  haltedReason: z.string(),
  callId: id,
  value: json,
});
const toolError = z.strictObject({
  reason: z.literal('tool_error'),
  callId: id,
  error: z.string(),
});
const turnEnd = z.discriminatedUnion('reason', [halt, toolError]);
/** The reason why a call ends the run after its turn. */
export type TurnEnd = z.output<typeof turnEnd>;

const chatEnd = z.discriminatedUnion('reason', [
  z.strictObject({ reason: z.literal('completed'), finishReason: z.string() }),
  halt,
  toolError,
  z.strictObject({ reason: z.literal('max_turns'), maxTurns: z.number().int().min(1) }),
  z.strictObject({ reason: z.literal('halt_when'), turn: z.number().int().min(0) }),
  z.strictObject({ reason: z.literal('cancelled') }),
  z.strictObject({
    reason: z.literal('error'),
    error: z.strictObject({ code: z.string(), message: z.string() }),
  }),
]);
/** The reason why a run ended. */
export type ChatEnd = z.output<typeof chatEnd>;

const progress = z.discriminatedUnion('state', [
  /** `rerunOf` is the time of an earlier start, if the user lets the call run again. */
  z.strictObject({ state: z.literal('not_started'), rerunOf: timestamp.exactOptional() }),
  /** The call is running, or the process that ran it is gone. */
  z.strictObject({ state: z.literal('started'), startedAt: timestamp }),
  z.strictObject({ state: z.literal('waiting'), pending }),
  /**
   * The call runs when the chat continues. `grant` covers further calls that the user approved with
   * this call.
   */
  z.strictObject({
    state: z.literal('approved'),
    pending: approval as unknown as z.ZodType<PendingApproval>,
    grant: z.custom<GrantScope>(isPlainObject, 'the scope of a grant').exactOptional(),
    by: z.string().exactOptional(),
  }),
  /** `end` means that the run ends with this turn. */
  z.strictObject({
    state: z.literal('settled'),
    output: outputSchema,
    end: turnEnd.exactOptional(),
  }),
]);
/** The progress of one call. */
export type CallProgress = z.output<typeof progress>;

const call = z.strictObject({
  callId: id,
  toolName,
  /** The model's arguments. */
  input: json,
  /** The arguments from the user, if they changed the model's arguments. */
  edited: json.exactOptional(),
  progress,
});
/** One call of the open turn. */
export type CallRecord = z.output<typeof call>;

const openTurn = z.strictObject({
  /** The position of this turn in its run, counted from 0. */
  index: z.number().int().min(0),
  message: assistantSchema,
  calls: z.array(call).min(1).readonly(),
});
/**
 * A turn with calls that have no result yet. The turn's messages are added to the thread when every
 * call has its result.
 */
export type OpenTurn = z.output<typeof openTurn>;

/** The schema of a chat between two steps. */
export const chatFields = {
  /** The messages of the closed turns, which every model accepts. */
  messages: z.array(messageSchema).readonly(),
  openTurn: openTurn.exactOptional(),
  /** The reason why the last run ended. Missing while a run is in progress or calls are pending. */
  end: chatEnd.exactOptional(),
  /**
   * The tools that the model saw last, in order. Later turns keep this order, so that prompts stay
   * cached.
   */
  offered: z.array(z.strictObject({ toolName, level: z.enum(SCHEMA_LEVELS) })).readonly(),
  /**
   * The conversation's labels: the labels from before the open turn or, if no turn is open, from
   * after the last turn.
   */
  flow: (flowSchema() as z.ZodType<Flow>).exactOptional(),
};
/** A chat between two steps, as plain data. */
export type ChatState = Readonly<z.output<z.ZodObject<typeof chatFields>>>;

export const NO_CHAT: ChatState = freezePlain({ messages: [], offered: [] });

/** Returns the state with new progress for one call. */
export function withCall<S extends ChatState>(state: S, callId: string, progress: CallProgress): S {
  return withCalls(state, (call) => (call.callId === callId ? { ...call, progress } : call));
}

/** Returns the state with each call in the open turn changed. */
export function withCalls<S extends ChatState>(
  state: S,
  change: (call: CallRecord) => CallRecord,
): S {
  const { openTurn } = state;
  if (openTurn === undefined) return state;
  return freezePlain({ ...state, openTurn: { ...openTurn, calls: openTurn.calls.map(change) } });
}

/** Returns the arguments that a call runs or ran with. */
export function argumentsOf({ input, edited = input }: CallRecord): Json {
  return edited;
}

/** Returns a call with the arguments that a user sees or entered. */
export function withArguments({ edited: _, ...call }: CallRecord, input: Json): CallRecord {
  return canonicalJson(input) === canonicalJson(call.input) ? call : { ...call, edited: input };
}

/** Returns a call that waits for a user or a program. */
export function waiting(call: CallRecord, pending: Pending): CallRecord {
  return { ...withArguments(call, pending.input), progress: { state: 'waiting', pending } };
}

/** Returns the state in which a call waits for a user or a program. */
export function withPending(state: ChatState, pending: Pending): ChatState {
  return withCalls(state, (call) =>
    call.callId === pending.callId ? waiting(call, pending) : call,
  );
}

/** Returns the calls that the open turn is waiting for, in order. */
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

/**
 * Returns a turn's messages: the model's message, and one message with the results so far, in call
 * order.
 */
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

/**
 * Returns the model's message with the arguments as changed by the user, so that the model reads
 * these arguments next to the results.
 */
function asRun({ message, calls }: OpenTurn): AssistantMessage {
  const changed = calls.filter(
    ({ edited, progress }) => edited !== undefined && progress.state === 'settled',
  );
  if (changed.length === 0 || typeof message.content === 'string') return message;
  const content = message.content.map((part) => {
    const call = changed.find(({ callId }) => callId === (part as ToolCallPart).toolCallId);
    return part.type !== 'tool-call' || !call ? part : { ...part, input: argumentsOf(call) };
  });
  return { ...message, content };
}

/** Returns true if every call of the open turn has its result. */
export function isSettled({ calls }: OpenTurn): boolean {
  return calls.every(({ progress }) => progress.state === 'settled');
}

/**
 * Returns the reason why a turn is the last in its run. A failed call takes precedence over a call
 * that halts. Among equal calls, the first in the model's order wins.
 */
export function turnEndOf(turn: OpenTurn | undefined): TurnEnd | undefined {
  const ends = (turn?.calls ?? []).flatMap(({ progress }) =>
    progress.state === 'settled' && progress.end !== undefined ? [progress.end] : [],
  );
  return ends.find(({ reason }) => reason === 'tool_error') ?? ends[0];
}

/**
 * Returns the state with a settled turn's messages added to the thread. If the turn is open,
 * returns the state unchanged.
 */
export function closeTurn<S extends ChatState>(state: S): S {
  const { openTurn, ...rest } = state;
  if (openTurn === undefined || !isSettled(openTurn)) return state;
  const end = turnEndOf(openTurn);
  const messages = [...state.messages, ...messagesOf(openTurn)];
  return freezePlain({ ...rest, messages, ...(end && { end }) } as unknown as S);
}
