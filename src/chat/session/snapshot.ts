import { z } from 'zod';
import { hmacOf, isEqualSignature } from '../../core/crypto.js';
import { ToolError } from '../../core/errors.js';
import { formatIssues, toIssues } from '../../core/issues.js';
import { checkOptions } from '../../core/options.js';
import { canonicalJson, describeValue, isPlainObject } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { isSettled } from '../chat-state.js';
import { clonePlain, closedMessages, ownCallsIn } from '../thread.js';
import { sessionFields, type SessionData } from './session-data.js';

const FORMAT = 'tooldex.session';
const VERSION = 1;
/** The minimum length of a key in bytes. */
const SHORTEST_KEY = 32;

/** A session as plain JSON. */
export interface SessionSnapshot {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  /** HMAC-SHA256 of everything else, as canonical JSON. Missing in unsigned snapshots. */
  readonly signature?: string;
  readonly [field: string]: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

export type SnapshotOptions = {
  /**
   * A key of at least 32 bytes that signs the snapshot. Loading the snapshot with the same key
   * detects any change. @default snapshots aren't signed
   */
  readonly key?: Uint8Array;
};

/** The schema of a key. */
export const key = z
  .custom<Uint8Array>(
    (value) => value instanceof Uint8Array && value.length >= SHORTEST_KEY,
    `a key of at least ${SHORTEST_KEY} bytes`,
  )
  .optional();
const snapshotOptions = z.strictObject({ key });

/**
 * The schema of a session as JSON. `assertSound` checks that the session's fields are consistent.
 */
const snapshotSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  ...sessionFields,
});

/**
 * Returns a session's snapshot, signed if there is a key. @throws ToolError `INVALID_ARGUMENT` for
 * a key of less than 32 bytes.
 */
export function writeSnapshot(data: SessionData, options: SnapshotOptions = {}): SessionSnapshot {
  const { key } = checkOptions(snapshotOptions, options, 'options of a snapshot');
  return Object.freeze(signed({ format: FORMAT, version: VERSION, ...data } as const, key));
}

/** Adds a signature if there is a key. */
export function signed<T extends Fields>(snapshot: T, key: Uint8Array | undefined): T {
  return key === undefined ? snapshot : { ...snapshot, signature: signatureOf(snapshot, key) };
}

/**
 * Returns a snapshot without its signature. @throws ToolError `INVALID_SNAPSHOT` if the value isn't
 * a snapshot, or wasn't signed with the key.
 */
export function assertSigned(snapshot: unknown, key: Uint8Array | undefined): Fields {
  if (!isPlainObject(snapshot) || snapshot['format'] !== FORMAT) {
    const got = isPlainObject(snapshot)
      ? describeValue(snapshot['format'])
      : describeValue(snapshot);
    throw refused(
      `Expected the format ${JSON.stringify(FORMAT)}, got ${got}. Pass a snapshot from session.snapshot().`,
    );
  }
  const { signature, ...unsigned } = snapshot;
  if (key === undefined) return unsigned;
  if (typeof signature === 'string' && isEqualSignature(signature, signatureOf(unsigned, key)))
    return unsigned;
  throw refused(
    "The signature wasn't made with this key. The snapshot was changed, or signed with another key. Pass the key that signed the snapshot.",
  );
}

/**
 * Parses a snapshot and checks all its data. Without a key, anyone who can write the snapshot can
 * add an approval that nobody gave.
 *
 * @throws ToolError `INVALID_SNAPSHOT` with everything that is invalid, `INVALID_ARGUMENT` for
 * invalid options.
 */
export function readSnapshot(json: unknown, options: SnapshotOptions = {}): SessionData {
  const { key } = checkOptions(snapshotOptions, options, 'options of reading a snapshot');
  const snapshot = assertSigned(clonePlain(json, 'a snapshot', 'INVALID_SNAPSHOT'), key);
  const parsed = snapshotSchema.safeParse(snapshot);
  if (!parsed.success) {
    const issues = toIssues(parsed.error, snapshot);
    throw refused(formatIssues(issues), { issues });
  }
  // Uses this copy instead of zod's, which would lose an argument named `__proto__`.
  const { format: _format, version: _version, ...data } = snapshot;
  assertSound(data as unknown as SessionData);
  return Object.freeze(data) as unknown as SessionData;
}

/**
 * Throws if a session's fields aren't consistent with each other. Each field has already been
 * validated by itself.
 */
function assertSound({ messages, openTurn }: SessionData): void {
  let joined: unknown;
  try {
    joined = closedMessages(messages);
  } catch (error) {
    throw refused(publicMessage(error));
  }
  if (canonicalJson(joined) !== canonicalJson(messages))
    throw refused("A turn's results must be in one message, in the order of its calls.");
  if (openTurn === undefined) return;
  const made = ownCallsIn(openTurn.message).map(({ toolCallId, toolName, input }) => [
    toolCallId,
    toolName,
    input,
  ]);
  const recorded = openTurn.calls.map(({ callId, toolName, input }) => [callId, toolName, input]);
  if (canonicalJson(made) !== canonicalJson(recorded))
    throw refused("The open turn's calls differ from the calls in its message.");
  if (isSettled(openTurn))
    throw refused('Every call in the open turn has its result, so the turn should be closed.');
}

/** The error for a snapshot that can't be trusted. */
export function refused(why: string, details: Fields = {}): ToolError {
  return new ToolError('INVALID_SNAPSHOT', `The snapshot can't be used:\n  ${why}`, { details });
}

function signatureOf(snapshot: Fields, key: Uint8Array): string {
  return hmacOf(key, canonicalJson(snapshot));
}
