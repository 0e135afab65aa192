import { z } from 'zod';
import { randomUUID } from '../../core/crypto.js';
import { isToolError } from '../../core/errors.js';
import { checkOptions, text } from '../../core/options.js';
import { type Json, without } from '../../core/plain-data.js';
import type { StateStore } from '../../state/state-store.js';
import { freezePlain } from '../../tool/bound-input.js';
import {
  chatFields,
  digest,
  NO_CHAT,
  pendingOf,
  timestamp,
  withCalls,
  waiting,
  type CallRecord,
} from '../chat-state.js';
import { cloneMessage, closedMessages, id, json, type ChatMessage } from '../thread.js';

/** The schema of session ids: characters that every store, file system and URL accepts. */
const sessionId = z
  .string()
  .regex(
    /^[A-Za-z0-9._:-]{1,128}$/,
    '1 to 128 letters, digits, dots, colons, underscores and hyphens',
  );
/** The fields of a session: a chat, and data that outlives its runs. */
export const sessionFields = {
  ...chatFields,
  id: sessionId,
  /** A random name, the same in every copy of the session. */
  origin: z.string().min(1).max(128),
  /** Increases with every change. */
  rev: z.number().int().min(0),
  /**
   * The identity of the executor's store in the last run. If the store restarts, the user has to
   * decide again.
   */
  storeIdentity: z.string().max(512).exactOptional(),
  /** The value that tools receive as `context.context`, unless the engine has a context. */
  context: json.exactOptional(),
  job: z.string().exactOptional(),
  /** The start of the job's first run, in milliseconds since 1970. */
  startedAt: timestamp.exactOptional(),
  /**
   * The SHA-256 of the decision about each call, to recognize a repeated decision, and the person who
   * decided.
   */
  resolutions: z
    .array(z.strictObject({ callId: id, digest, by: z.string().exactOptional() }))
    .readonly(),
};
/** A session as plain data. */
export type SessionData = Readonly<z.output<z.ZodObject<typeof sessionFields>>>;

/** The state of a session: what the session is waiting for, or which step is next. */
export type SessionStatus =
  'idle' | 'awaiting_user' | 'awaiting_tools' | 'awaiting_approval' | 'completed' | 'error';

/**
 * Returns the status, which is derived from the data. A pending question takes precedence over
 * manual calls, and manual calls over approvals.
 */
export function statusOf(data: SessionData): SessionStatus {
  const kinds = new Set(pendingOf(data).map(({ kind }) => kind));
  if (kinds.has('question')) return 'awaiting_user';
  if (kinds.has('manual') || kinds.has('uncertain')) return 'awaiting_tools';
  if (kinds.has('approval')) return 'awaiting_approval';
  if (data.openTurn !== undefined || data.end === undefined) return 'idle';
  const { reason } = data.end;
  return reason === 'error' || reason === 'tool_error' ? 'error' : 'completed';
}

export type NewSession = {
  /** 1 to 128 letters, digits, dots, colons, underscores and hyphens. @default random */
  readonly id?: string;
  /** Plain data for the tools, which receive it as `context.context`. */
  readonly context?: unknown;
  /**
   * The catalogue's job that the session runs. The engine's `jobs` records how the job ends.
   * @default none
   */
  readonly job?: string;
  /** The conversation so far. Every call in the conversation needs a result. */
  readonly messages?: readonly ChatMessage[];
};

const newSessionOptions = z.strictObject({
  id: sessionId.optional(),
  context: z.unknown().optional(),
  job: text().optional(),
  messages: z.unknown().optional(),
});

/**
 * Returns the data of a new session. @throws ToolError `INVALID_ARGUMENT` for values that aren't
 * JSON-serializable, `OPEN_TOOL_CALLS` for messages with open calls.
 */
export function newSessionData(options: NewSession): SessionData {
  const checked = checkOptions(newSessionOptions, options, 'options of a session');
  const { id = randomUUID(), context, job, messages = [] } = checked;
  return freezePlain({
    ...NO_CHAT,
    id,
    origin: randomUUID(),
    rev: 0,
    ...(context !== undefined && {
      context: cloneMessage(context as Json, 'the context of a session', 'INVALID_ARGUMENT'),
    }),
    ...without({ job }),
    messages: closedMessages(messages),
    resolutions: [],
  });
}

/** Returns changed data as the next revision. */
export function revised(data: SessionData): SessionData {
  return freezePlain({ ...data, rev: data.rev + 1 });
}

/**
 * Returns the session's data for use after the store has restarted. The store may have gone back to
 * an older state. Approved calls need approval again. Calls that hadn't started become uncertain,
 * because another process may have started them.
 */
export function withDecisionsAskedAgain(data: SessionData, now: number): SessionData {
  const approved = new Set<string>();
  let isDecided = true;
  for (const { callId, progress } of data.openTurn?.calls ?? []) {
    if (progress.state === 'approved') approved.add(callId);
    if (progress.state === 'approved' || progress.state === 'not_started') isDecided = false;
  }
  if (isDecided) return data;
  const doubted = withCalls(data, (call) => askedAgain(call, now));
  const resolutions = data.resolutions.filter(({ callId }) => !approved.has(callId));
  return revised({ ...doubted, resolutions });
}

function askedAgain(call: CallRecord, now: number): CallRecord {
  const { progress } = call;
  if (progress.state === 'approved') return waiting(call, progress.pending);
  if (progress.state !== 'not_started') return call;
  return { ...call, progress: { state: 'started', startedAt: progress.rerunOf ?? now } };
}

/**
 * Binds a run to the store that its executor shares. If the store has restarted, we can't tell
 * which calls have run since they were approved or denied, so the user has to decide again.
 *
 * @throws ToolError `STATE_UNAVAILABLE` if decisions depend on a store that doesn't respond.
 */
export async function enterRun(
  store: StateStore | undefined,
  data: SessionData,
  now: number,
): Promise<SessionData> {
  if (store === undefined) return data;
  const approvedIn = data.openTurn?.calls.flatMap(({ progress }) =>
    progress.state === 'approved' ? [progress.pending.storeIdentity] : [],
  )[0];
  const storeBefore = data.storeIdentity ?? approvedIn;
  try {
    const { identity: storeIdentity } = await store.now();
    const isSame = storeBefore === undefined || storeBefore === storeIdentity;
    return freezePlain({ ...(isSame ? data : withDecisionsAskedAgain(data, now)), storeIdentity });
  } catch (error) {
    // There's no open turn, so the store isn't needed.
    if (isToolError(error, 'STATE_UNAVAILABLE') && data.openTurn === undefined) return data;
    throw error;
  }
}
