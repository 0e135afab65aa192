import { z } from 'zod';
import { randomUUID } from '../../core/crypto.js';
import { isToolError } from '../../core/errors.js';
import { invalidArgument } from '../../core/issues.js';
import { checkOptions, text } from '../../core/options.js';
import type { Json } from '../../core/plain-data.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { StateStore } from '../../state/state-store.js';
import { NO_CHAT, pendingOf, type CallRecord, type ChatState } from '../chat-state.js';
import { cloneMessage, closedMessages, type ChatMessage } from '../thread.js';

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
  /** The job that the session runs. */
  readonly job?: string;
  /** The beginning of the first run of the job, in milliseconds since 1970. */
  readonly startedAt?: number;
  readonly chat: ChatState;
  /** The decisions about calls, each with its SHA-256, so that the same decision twice counts once. */
  readonly resolutions: readonly { readonly callId: string; readonly digest: string }[];
}

/** The state of a session: which of its next steps is due. */
export type SessionStatus =
  'idle' | 'awaiting_user' | 'awaiting_tools' | 'awaiting_approval' | 'completed' | 'error';

/**
 * Returns the status of a session; it follows from its data, so it cannot contradict them.
 *
 * A pending question counts before manual calls, and these before approvals: the order of the halted reasons.
 */
export function statusOf({ chat }: SessionData): SessionStatus {
  const kinds = new Set(pendingOf(chat).map(({ kind }) => kind));
  if (kinds.has('question')) return 'awaiting_user';
  if (kinds.has('manual') || kinds.has('uncertain')) return 'awaiting_tools';
  if (kinds.has('approval')) return 'awaiting_approval';
  if (chat.openTurn !== undefined || chat.end === undefined) return 'idle';
  return chat.end.reason === 'error' || chat.end.reason === 'tool_error' ? 'error' : 'completed';
}

export type NewSession = {
  /** 1 to 128 letters, digits, dots, colons, underscores and hyphens. @default random */
  readonly id?: string;
  /** Data for the tools' work, which gets it as `context.context`: plain data, at most 48 levels deep. */
  readonly context?: unknown;
  /** The job of a catalogue that the session runs; `jobs` of the engine counts how it ends. @default none */
  readonly job?: string;
  /** A conversation so far; every call in it has its result. */
  readonly messages?: readonly ChatMessage[];
};

/** The schema of ids of sessions: what every store, file system and address takes. */
export const sessionId = z
  .string()
  .regex(
    /^[A-Za-z0-9._:-]{1,128}$/,
    '1 to 128 letters, digits, dots, colons, underscores and hyphens',
  );
const newSessionOptions = z.strictObject({
  id: sessionId.optional(),
  context: z.unknown().optional(),
  job: text().optional(),
  messages: z.unknown().optional(),
});

/** Returns the data of a new session. @throws ToolError `INVALID_ARGUMENT` for what cannot be kept as JSON; `OPEN_TOOL_CALLS` for messages with open calls. */
export function newSessionData(options: NewSession): SessionData {
  const {
    id = randomUUID(),
    context,
    job,
    messages = [],
  } = checkOptions(newSessionOptions, options, 'options of a session');
  const chat = Object.freeze({ ...NO_CHAT, messages: closedMessages(messages) });
  const plain = cloneMessage(
    (context ?? null) as Json,
    'the context of a session',
    'INVALID_ARGUMENT',
  );
  return Object.freeze({
    id,
    origin: randomUUID(),
    rev: 0,
    ...(context !== undefined && { context: plain }),
    ...(job !== undefined && { job }),
    chat,
    resolutions: Object.freeze([]),
  });
}

/** Throws `INVALID_ARGUMENT` for anything but the id of a session. */
export function assertId(id: unknown): asserts id is string {
  if (!sessionId.safeParse(id).success)
    throw invalidArgument(
      'the id of a session as 1 to 128 letters, digits, dots, colons, underscores and hyphens',
      id,
    );
}

/** Returns the data with another chat, one revision on. */
export function withChat(data: SessionData, chat: ChatState): SessionData {
  return Object.freeze({ ...data, rev: data.rev + 1, chat });
}

/**
 * Returns the data as they must be taken when the store may have brought back an older state: nobody knows which calls that are
 * not on record as started have been started since.
 *
 * Calls that were approved need approval again, and others that were to run are uncertain, as of `now`.
 */
export function withDecisionsAskedAgain(data: SessionData, now: number): SessionData {
  const { openTurn } = data.chat;
  const isOpen = ({ progress: { state } }: CallRecord) =>
    state === 'approved' || state === 'not_started';
  if (openTurn?.calls.some(isOpen) !== true) return data;
  const doubtful = (call: CallRecord): CallRecord => {
    const { progress } = call;
    if (progress.state === 'approved')
      return Object.freeze({
        ...call,
        progress: Object.freeze({ state: 'waiting', pending: progress.pending }),
      });
    if (progress.state !== 'not_started') return call;
    const { input, rerunOf: startedAt = now } = progress;
    return Object.freeze({
      ...call,
      progress: Object.freeze({
        state: 'started',
        startedAt,
        ...(input !== undefined && { input }),
      }),
    });
  };
  const approved = new Set(
    openTurn.calls.flatMap(({ callId, progress }) =>
      progress.state === 'approved' ? [callId] : [],
    ),
  );
  const chat = Object.freeze({
    ...data.chat,
    openTurn: Object.freeze({ ...openTurn, calls: Object.freeze(openTurn.calls.map(doubtful)) }),
  });
  return Object.freeze({
    ...withChat(data, chat),
    resolutions: Object.freeze(data.resolutions.filter(({ callId }) => !approved.has(callId))),
  });
}

/**
 * Binds a run to the store that the executor shares with others.
 *
 * After a restart of the store, and in another one, nobody knows which calls were run since the decisions about them, and
 * they are asked again.
 *
 * @throws ToolError `STATE_UNAVAILABLE` when decisions depend on a store that does not answer.
 */
export async function enterRun(
  store: StateStore | undefined,
  data: SessionData,
  now: number,
): Promise<SessionData> {
  if (store === undefined) return data;
  const { openTurn } = data.chat;
  const approvedIn = openTurn?.calls.flatMap(({ progress }) =>
    progress.state === 'approved' ? [progress.pending.storeIdentity] : [],
  )[0];
  const known = data.storeIdentity ?? approvedIn;
  try {
    const { identity: storeIdentity } = await store.now();
    const isKnown = known === undefined || known === storeIdentity;
    return Object.freeze({
      ...(isKnown ? data : withDecisionsAskedAgain(data, now)),
      storeIdentity,
    });
  } catch (error) {
    // Nothing was decided or begun that the store would have to know of.
    if (isToolError(error, 'STATE_UNAVAILABLE') && openTurn === undefined) return data;
    throw error;
  }
}

/** A tool that is not what the model knew when it called it; `changed` is also what another tool answers to now: under this name, which may be an alias. */
export type ChangedTool = { readonly toolName: string; readonly change: 'changed' | 'missing' };

/** Returns the tools of calls of the open turn that are still to be run, and are declared otherwise now or missing. */
export function changedTools(
  { openTurn }: ChatState,
  registry: ToolMetadataRegistry,
): readonly ChangedTool[] {
  const known = new Map((openTurn?.tools ?? []).map(({ toolName, digest }) => [toolName, digest]));
  const changes = new Map<string, ChangedTool>();
  const note = (toolName: string, change: ChangedTool['change']) =>
    changes.set(toolName, Object.freeze({ toolName, change }));
  for (const { toolName, progress } of openTurn?.calls ?? []) {
    if (progress.state === 'settled') continue;
    // By the name that was called: an alias may belong to another tool by now.
    const entry = registry.get(toolName);
    if (entry !== undefined) {
      // The user may have been asked later than the model, about the tool as it was then.
      const asked = 'pending' in progress ? progress.pending.definitionDigest : '';
      if (entry.digest !== (asked === '' ? known.get(entry.name) : asked))
        note(entry.name, 'changed');
      continue;
    }
    // A name that nothing answers to now, and nothing did then, is the model's mistake; the model is told.
    const gone = known.has(toolName)
      ? [toolName]
      : [...known.keys()].filter((name) => !registry.has(name));
    for (const name of gone) note(name, 'missing');
  }
  return Object.freeze([...changes.values()]);
}
