import { randomUUID } from '../../core/crypto.js';
import { ToolError } from '../../core/errors.js';
import { checkOptions } from '../../core/options.js';
import { describeValue, type Json } from '../../core/plain-data.js';
import { NO_CHAT, pendingOf, type CallRecord, type ChatState } from '../chat-state.js';
import { cloneMessage } from '../thread/data-depth.js';
import type { ChatMessage } from '../thread/chat-message.js';
import { readThread, type Thread } from '../thread/read-thread.js';
import { newSessionOptions, sessionId } from './session-options.js';

/** What a person or program decided about one call, so that the same decision twice is one. */
export interface Resolution {
  readonly callId: string;
  /** SHA-256 of the decision. */
  readonly digest: string;
}

/** All that a session is: plain data. */
export interface SessionData {
  readonly id: string;
  /** Random, and the same in every copy of the session. */
  readonly origin: string;
  /** Rises with every change. */
  readonly rev: number;
  /** The identity of the executor's shared store in the last run; what was decided under another one is asked again. */
  readonly storeIdentity?: string | undefined;
  /** Handed to the tools' work as `context.context`, where the engine gives none. */
  readonly context?: Json;
  readonly chat: ChatState;
  readonly resolutions: readonly Resolution[];
}

export type SessionStatus = 'idle' | 'awaiting_user' | 'awaiting_tools' | 'awaiting_approval' | 'completed' | 'error';

/**
 * Where a session stands; it follows from its data, so it cannot contradict them.
 *
 * Of several things that it waits for, a question counts before calls that somebody else answers, and these before
 * approvals: the order of the halted reasons.
 */
export function statusOf({ chat }: SessionData): SessionStatus {
  const waiting = new Set(pendingOf(chat).map(({ kind }) => kind));
  if (waiting.has('question')) return 'awaiting_user';
  if (waiting.has('manual') || waiting.has('uncertain')) return 'awaiting_tools';
  if (waiting.has('approval')) return 'awaiting_approval';
  if (chat.openTurn !== undefined || chat.end === undefined) return 'idle';
  return chat.end.reason === 'error' || chat.end.reason === 'tool_error' ? 'error' : 'completed';
}

export interface NewSession {
  /** 1 to 128 letters, digits, dots, colons, underscores and hyphens. @default random */
  readonly id?: string;
  /** What the tools' work is told as `context.context`: plain data, at most 48 levels deep. */
  readonly context?: unknown;
  /** A conversation so far; every call in it has its result. */
  readonly messages?: readonly ChatMessage[];
}

/** @throws ToolError `INVALID_ARGUMENT` for what cannot be kept as JSON; `OPEN_TOOL_CALLS` for messages with open calls. */
export function newSessionData(options: NewSession): SessionData {
  const { id = randomUUID(), context, messages = [] } = checkOptions(newSessionOptions, options, 'options of a session');
  const chat = Object.freeze({ ...NO_CHAT, messages: closedMessages(messages) });
  return Object.freeze({ id, origin: randomUUID(), rev: 0, ...(context !== undefined && { context: plainContext(context) }), chat, resolutions: Object.freeze([]) });
}

/** Messages that a model accepts. @throws ToolError `OPEN_TOOL_CALLS` for calls without result, and as `readThread` does. */
export function closedMessages(given: unknown): Thread['messages'] {
  const { messages, open } = readThread(given);
  if (open.length > 0) throw new ToolError('OPEN_TOOL_CALLS', `Expected a result for every call of the messages, found none for ${describeValue(open[0]!.toolCallId)}`, { details: { callIds: open.map(({ toolCallId }) => toolCallId) } });
  return messages;
}

/** @throws ToolError `INVALID_ARGUMENT`. */
export function assertId(id: unknown): asserts id is string {
  if (!sessionId.safeParse(id).success) throw new ToolError('INVALID_ARGUMENT', `Expected the id of a session as 1 to 128 letters, digits, dots, colons, underscores and hyphens, found ${describeValue(id)}`);
}

function plainContext(context: unknown): Json {
  try {
    return cloneMessage(context) as Json;
  } catch (error) {
    throw new ToolError('INVALID_ARGUMENT', `Expected the context of a session as plain data, found ${error instanceof TypeError ? error.message : 'data that cannot be read'}`);
  }
}

/**
 * The data as they must be taken when the store may have brought back an older state: nobody knows which calls that are
 * not on record as started have been started since.
 *
 * Calls that were approved wait for approval again, and others that were to run are uncertain, as of `now`.
 */
export function withDecisionsAskedAgain(data: SessionData, now: number): SessionData {
  const { openTurn } = data.chat;
  const isOpen = ({ progress: { state } }: CallRecord) => state === 'approved' || state === 'not_started';
  if (openTurn?.calls.some(isOpen) !== true) return data;
  const doubtful = (call: CallRecord): CallRecord => {
    const { progress } = call;
    if (progress.state === 'approved') return Object.freeze({ ...call, progress: Object.freeze({ state: 'waiting', pending: progress.pending }) });
    if (progress.state !== 'not_started') return call;
    const { input, rerunOf: startedAt = now } = progress;
    return Object.freeze({ ...call, progress: Object.freeze({ state: 'started', startedAt, ...(input !== undefined && { input }) }) });
  };
  const approved = new Set(openTurn.calls.flatMap(({ callId, progress }) => (progress.state === 'approved' ? [callId] : [])));
  const chat = Object.freeze({ ...data.chat, openTurn: Object.freeze({ ...openTurn, calls: Object.freeze(openTurn.calls.map(doubtful)) }) });
  return Object.freeze({ ...withChat(data, chat), resolutions: Object.freeze(data.resolutions.filter(({ callId }) => !approved.has(callId))) });
}

/** The data with another chat, one revision on. */
export function withChat(data: SessionData, chat: ChatState): SessionData {
  return Object.freeze({ ...data, rev: data.rev + 1, chat });
}
