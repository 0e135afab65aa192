import { z } from 'zod';
import { randomUUID } from '../../core/crypto.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { aFunction, checkOptions, signal, withMethods } from '../../core/options.js';
import { describeValue, digestOf, isPlainObject, type Json } from '../../core/plain-data.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { isRestarted } from '../../state/state-arguments.js';
import type { StateStore } from '../../state/state-store.js';
import { NO_CHAT, pendingOf, type CallRecord, type ChatState } from '../chat-state.js';
import { cloneMessage, readThread, type ChatMessage, type Thread } from '../thread.js';

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

/** Bytes of a key: as many as the digest that it makes. */
const SHORTEST_KEY = 32;
const ID = /^[A-Za-z0-9._:-]{1,128}$/;
const SHORTEST_TTL_MS = 1;

const isFunction = (value: unknown): boolean => typeof value === 'function';

/** Ids of sessions: what every store, file system and address takes. */
export const sessionId = z.string().regex(ID, '1 to 128 letters, digits, dots, colons, underscores and hyphens');

type Migration = (snapshot: Readonly<Record<string, unknown>>) => unknown;
const key = z.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length >= SHORTEST_KEY, `a key of at least ${SHORTEST_KEY} bytes`).optional();
const reading = {
  key,
  migrations: z.custom<Readonly<Record<number, Migration>>>((value) => isPlainObject(value) && Object.values(value).every(isFunction), 'an object of functions by version').optional(),
};

export const newSessionOptions = z.strictObject({ id: sessionId.optional(), context: z.unknown().optional(), messages: z.unknown().optional() });
export const signingOptions = z.strictObject({ key });
export const readSnapshotOptions = z.strictObject(reading);
export const sessionStoreOptions = z.strictObject({
  ...reading,
  store: withMethods<StateStore>('a StateStore', 'get', 'compareAndSet', 'expire', 'now', 'append', 'read'),
  ttlMs: z.number().int().min(SHORTEST_TTL_MS).optional(),
});
export const runSessionOptions = z.strictObject({
  signal: signal().optional(),
  stream: z.boolean().default(false),
  acceptChangedTools: z.boolean().default(false),
  onCheckpoint: aFunction<(session: never) => void | Promise<void>>().optional(),
});
export const answerOptions = z.strictObject({ now: z.number().optional() });
export const approvalOptions = z.strictObject({ input: z.unknown().optional(), pendingId: z.string().optional() });

/** Which signed snapshot a session comes from: it is continued once among those who share the executor's store. */
export interface Generation {
  readonly rev: number;
  /** Random; tells this reading of the snapshot from others. */
  readonly mark: string;
}

/** What a store knows of a session: from which of its signed snapshots on it was continued, by whom. */
const recordKey = (origin: string) => `session-runs:${digestOf(origin)}`;

/**
 * Enters a run in the store that the executor shares with others.
 *
 * A session that was run there before has a record in it. Where the record is gone, or the store is another one, nobody knows which
 * calls were run since the decisions about them, and they are asked again.
 *
 * @returns the data with which the run goes on.
 * @throws ToolError `STALE_SESSION` for a signed snapshot that was continued before, or one of before it; `STATE_UNAVAILABLE` when that, or
 * decisions, depend on the store.
 */
export async function enterRun(store: StateStore | undefined, data: SessionData, generation: Generation | undefined, now: number): Promise<SessionData> {
  const { id, origin, chat: { openTurn }, storeIdentity: before } = data;
  if (store === undefined) return data;
  for (;;) {
    try {
      const { identity } = await store.now();
      const record = await store.get(recordKey(origin));
      const [continued = -1, mark] = record === undefined ? [] : (JSON.parse(record) as [number, string?]);
      if (generation !== undefined && (continued > generation.rev || (continued === generation.rev && mark !== generation.mark))) {
        throw new ToolError('STALE_SESSION', `Expected a snapshot of the session ${id} that was not continued before, got one that was. Continue the newest snapshot; one that is read without the key is not refused.`, { details: { id, rev: generation.rev } });
      }
      const next = generation === undefined ? (record ?? '[-1]') : JSON.stringify([generation.rev, generation.mark]);
      if (next !== record && !(await store.compareAndSet(recordKey(origin), record, next, { identity }))) continue;
      const approvedIn = openTurn?.calls.flatMap(({ progress }) => (progress.state === 'approved' ? [progress.pending.storeIdentity] : []))[0];
      const known = before ?? approvedIn;
      const isKnown = known === undefined || (known === identity && (before === undefined || record !== undefined));
      return Object.freeze({ ...(isKnown ? data : withDecisionsAskedAgain(data, now)), storeIdentity: identity });
    } catch (error) {
      if (isRestarted(error)) continue;
      // Nothing was decided or begun that the store would have to know of.
      if (isToolError(error, 'STATE_UNAVAILABLE') && generation === undefined && openTurn === undefined) return data;
      throw error;
    }
  }
}

/** A tool that is not what the model knew when it called it. */
export interface ChangedTool {
  readonly toolName: string;
  /** `changed` is also what another tool answers to now: under this name, which may be an alias. */
  readonly change: 'changed' | 'missing';
}

/** Tools of calls of the open turn that are still to be run, and are declared otherwise now or missing. */
export function changedTools({ openTurn }: ChatState, registry: ToolMetadataRegistry): readonly ChangedTool[] {
  const known = new Map((openTurn?.tools ?? []).map(({ toolName, digest }) => [toolName, digest]));
  const changes = new Map<string, ChangedTool>();
  const note = (toolName: string, change: ChangedTool['change']) => changes.set(toolName, Object.freeze({ toolName, change }));
  for (const { toolName, progress } of openTurn?.calls ?? []) {
    if (progress.state === 'settled') continue;
    // By the name that was called: an alias may belong to another tool by now.
    const entry = registry.get(toolName);
    if (entry !== undefined) {
      // A person may have been asked later than the model, about the tool as it was then.
      const asked = 'pending' in progress ? progress.pending.definitionDigest : '';
      if (entry.digest !== (asked === '' ? known.get(entry.name) : asked)) note(entry.name, 'changed');
      continue;
    }
    // A name that nothing answers to now, and nothing did then, is the model's mistake; the model is told.
    const gone = known.has(toolName) ? [toolName] : [...known.keys()].filter((name) => !registry.has(name));
    for (const name of gone) note(name, 'missing');
  }
  return Object.freeze([...changes.values()]);
}
