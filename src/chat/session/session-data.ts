import { randomUUID } from 'node:crypto';
import { ToolError } from '../../core/errors.js';
import { cloneFrozen, describeValue, type Json } from '../../core/plain-data.js';
import { NO_CHAT, pendingOf, type ChatState } from '../chat-state.js';
import { readThread } from '../thread/read-thread.js';

/** What a person or program decided about one call, so that the same decision twice is one. */
export interface Resolution {
  readonly callId: string;
  /** SHA-256 of the decision. */
  readonly digest: string;
}

/** All that a session is: plain data. */
export interface SessionData {
  readonly id: string;
  /** Rises with every change. */
  readonly rev: number;
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
  /** @default random */
  readonly id?: string;
  readonly context?: unknown;
  readonly messages?: unknown;
}

const ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** @throws ToolError `INVALID_ARGUMENT` for what cannot be kept as JSON; `OPEN_TOOL_CALLS` for messages with open calls. */
export function newSessionData({ id = randomUUID(), context, messages = [] }: NewSession): SessionData {
  assertId(id);
  const thread = readThread(messages);
  if (thread.open.length > 0) throw new ToolError('OPEN_TOOL_CALLS', `Expected a result for every call of the messages, found none for ${thread.open[0]!.toolCallId}`, { details: { callIds: thread.open.map(({ toolCallId }) => toolCallId) } });
  return Object.freeze({ id, rev: 0, ...(context !== undefined && { context: plainContext(context) }), chat: Object.freeze({ ...NO_CHAT, messages: thread.messages }), resolutions: Object.freeze([]) });
}

/** @throws ToolError `INVALID_ARGUMENT`. */
export function assertId(id: unknown): asserts id is string {
  if (typeof id !== 'string' || !ID.test(id)) throw new ToolError('INVALID_ARGUMENT', `Expected the id of a session as 1 to 128 letters, digits, dots, colons, underscores and hyphens, found ${describeValue(id)}`);
}

function plainContext(context: unknown): Json {
  try {
    return cloneFrozen(context) as Json;
  } catch (error) {
    throw new ToolError('INVALID_ARGUMENT', `Expected the context of a session as plain data, found ${error instanceof Error ? error.message : 'something else'}`);
  }
}

/** The data with another chat, one revision on. */
export function withChat(data: SessionData, chat: ChatState): SessionData {
  return Object.freeze({ ...data, rev: data.rev + 1, chat });
}
