import { z } from 'zod';
import { hmacOf, isEqualSignature } from '../../core/crypto.js';
import { DangerLevel } from '../../core/enums.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot, formatIssues, toIssues } from '../../core/issues.js';
import { checkOptions } from '../../core/options.js';
import { canonicalJson, describeValue, isPlainObject } from '../../core/plain-data.js';
import { previewSchema } from '../../core/preview.js';
import { publicMessage } from '../../core/public-message.js';
import { flowSchema } from '../../safety/call-flow.js';
import { questionFields } from '../../tool/question.js';
import { SCHEMA_LEVELS } from '../../tool/render-tool.js';
import type { OpenTurn } from '../chat-state.js';
import {
  assistantSchema,
  callsIn,
  clonePlain,
  closedMessages,
  id,
  json,
  messageSchema,
  outputSchema,
  ownCallsIn,
  toolName,
  type ToolCallPart,
} from '../thread.js';
import { sessionId, type SessionData } from './session-data.js';

const FORMAT = 'tooldex.session';
const VERSION = 1;
/** Bytes of a key: as many as the digest that it makes. */
const SHORTEST_KEY = 32;

/** A session as plain JSON. */
export interface SessionSnapshot {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  /** HMAC-SHA256 of everything else, as canonical JSON; only of signed snapshots. */
  readonly signature?: string;
  readonly [field: string]: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

export type ReadSnapshotOptions = {
  /** A key of at least 32 bytes: reading the snapshot with the same key shows any change of it. @default unsigned snapshots are read */
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

const time = z.number().min(0);
const digest = z.string().regex(/^[0-9a-f]{64}$/, '64 hexadecimal digits');

const asked = {
  id,
  callId: id,
  toolName,
  input: json,
  principal: z.string().optional(),
  conversationId: z.string().optional(),
  createdAt: time,
};
const approval = z.strictObject({
  kind: z.literal('approval'),
  ...asked,
  definitionDigest: digest,
  danger: z.enum(DangerLevel),
  reason: z.string(),
  rule: z.string(),
  preview: previewSchema().optional(),
  noPreview: z.string().optional(),
  expiresAt: time,
  storeIdentity: z.string(),
  signature: z.string(),
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
    definitionDigest: digest,
    ...questionFields(),
    expiresAt: time.optional(),
  }),
]);

const progress = z.discriminatedUnion('state', [
  z.strictObject({
    state: z.literal('not_started'),
    input: json.optional(),
    rerunOf: time.optional(),
  }),
  z.strictObject({ state: z.literal('started'), startedAt: time, input: json.optional() }),
  z.strictObject({ state: z.literal('waiting'), pending }),
  z.strictObject({
    state: z.literal('approved'),
    pending: approval,
    input: json.optional(),
    grant: z.record(z.string(), json).optional(),
  }),
  z.strictObject({ state: z.literal('settled'), output: outputSchema, input: json.optional() }),
]);

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
const end = z.discriminatedUnion('reason', [
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

const openTurn = z.strictObject({
  index: z.number().int().min(0),
  message: assistantSchema,
  calls: z.array(z.strictObject({ callId: id, toolName, input: json, progress })).min(1),
  tools: z.array(z.strictObject({ toolName, digest })),
  end: z.discriminatedUnion('reason', [halt, toolError]).optional(),
});

/** The schema of a session as JSON, field by field; what must fit together is checked apart. */
const snapshotSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  id: sessionId,
  origin: z.string().min(1).max(128),
  rev: z.number().int().min(0),
  storeIdentity: z.string().max(512).optional(),
  context: json.optional(),
  job: z.string().optional(),
  startedAt: time.optional(),
  messages: z.array(messageSchema),
  openTurn: openTurn.optional(),
  end: end.optional(),
  offered: z.array(z.strictObject({ toolName, level: z.enum(SCHEMA_LEVELS) })),
  flow: flowSchema().optional(),
  resolutions: z.array(z.strictObject({ callId: id, digest })),
});

/** Returns the snapshot of a session, signed when there is a key. @throws ToolError `INVALID_ARGUMENT` for a key of less than 32 bytes. */
export function writeSnapshot(
  { id, origin, rev, storeIdentity, context, job, startedAt, chat, resolutions }: SessionData,
  options: Pick<ReadSnapshotOptions, 'key'> = {},
): SessionSnapshot {
  const { key } = checkOptions(snapshotOptions, options, 'options of a snapshot');
  const { messages, openTurn, end, offered, flow } = chat;
  const snapshot = {
    format: FORMAT,
    version: VERSION,
    id,
    origin,
    rev,
    ...(storeIdentity !== undefined && { storeIdentity }),
    ...(context !== undefined && { context }),
    ...(job !== undefined && { job }),
    ...(startedAt !== undefined && { startedAt }),
    messages,
    ...(openTurn && { openTurn }),
    ...(end && { end }),
    offered,
    ...(flow && { flow }),
    resolutions,
  } as const;
  return Object.freeze(signed(snapshot, key));
}

/** Returns a snapshot with its signature, if there is a key. */
export function signed<T extends Fields>(snapshot: T, key: Uint8Array | undefined): T {
  return key === undefined ? snapshot : { ...snapshot, signature: signatureOf(snapshot, key) };
}

/** Returns a snapshot without its signature. @throws ToolError `INVALID_SNAPSHOT` if it is none, or not signed with the key. */
export function assertSigned(given: unknown, key: Uint8Array | undefined): Fields {
  if (!isPlainObject(given) || given['format'] !== FORMAT)
    throw refused(
      `an object with the format ${JSON.stringify(FORMAT)}`,
      isPlainObject(given) ? `the format ${describeValue(given['format'])}` : describeValue(given),
    );
  const { signature, ...unsigned } = given;
  if (
    key !== undefined &&
    !(typeof signature === 'string' && isEqualSignature(signature, signatureOf(unsigned, key)))
  )
    throw refused(
      'a signature made with the key',
      'another or none',
      'The snapshot was changed, or signed elsewhere: give the key that it was written with.',
    );
  return unsigned;
}

/**
 * Reads a snapshot, and believes nothing in it but what a signature proves.
 *
 * Without a key anybody who can write the snapshot can put an approval into it that nobody gave.
 *
 * @throws ToolError `INVALID_SNAPSHOT` with everything that is wrong; `INVALID_ARGUMENT` for wrong options.
 */
export function readSnapshot(given: unknown, options: ReadSnapshotOptions = {}): SessionData {
  const { key } = checkOptions(snapshotOptions, options, 'options of reading a snapshot');
  const copy = clonePlain(given, 'a snapshot', 'INVALID_SNAPSHOT');
  const snapshot = assertSigned(copy, key);
  const parsed = snapshotSchema.safeParse(snapshot);
  if (!parsed.success) {
    const issues = toIssues(parsed.error, snapshot);
    throw new ToolError('INVALID_SNAPSHOT', `The snapshot is refused:\n  ${formatIssues(issues)}`, {
      details: { issues },
    });
  }
  // What was checked, and not zod's copy: that loses keys called `__proto__`, which arguments may have.
  const {
    format: _format,
    version: _version,
    id,
    origin,
    rev,
    storeIdentity,
    context,
    job,
    startedAt,
    resolutions,
    ...chat
  } = snapshot as typeof parsed.data;
  const data = {
    id,
    origin,
    rev,
    ...(storeIdentity !== undefined && { storeIdentity }),
    ...(context !== undefined && { context }),
    ...(job !== undefined && { job }),
    ...(startedAt !== undefined && { startedAt }),
    chat: Object.freeze(chat),
    resolutions,
  } as SessionData;
  assertSound(data);
  return Object.freeze(data);
}

/**
 * Checks that the fields of a session fit together; each alone is right already.
 *
 * @throws ToolError for the first thing that no session can be.
 */
function assertSound({ chat: { messages, openTurn } }: SessionData): void {
  assertClosed(messages);
  if (openTurn === undefined) return;
  const made = ownCallsIn(openTurn.message);
  const { calls } = openTurn;
  if (made.length !== calls.length || !made.every((call, at) => isSame(call, calls[at]!)))
    throw refused('the calls of the open turn as its message makes them', 'others');
  const closed = messages.flatMap((message) =>
    message.role === 'assistant' ? callsIn(message).map(({ toolCallId }) => toolCallId) : [],
  );
  const ids = [...closed, ...calls.map(({ callId }) => callId)];
  if (new Set(ids).size < new Set(closed).size + calls.length)
    throw refused('new calls with different ids in the open turn', 'one that was made before');
  const other = calls.find(
    ({ callId, progress }) => 'pending' in progress && progress.pending.callId !== callId,
  );
  if (other !== undefined)
    throw refused(
      `what is pending under the call ${describeValue(other.callId)} to be of this call`,
      'it of another',
    );
  if (calls.every(({ progress }) => progress.state === 'settled'))
    throw refused('an open turn with a call that is not settled', 'all settled');
}

function assertClosed(messages: SessionData['chat']['messages']): void {
  let joined: unknown;
  try {
    joined = closedMessages(messages);
  } catch (error) {
    throw new ToolError('INVALID_SNAPSHOT', `The snapshot is refused:\n  ${publicMessage(error)}`);
  }
  if (canonicalJson(joined) !== canonicalJson(messages))
    throw refused('the results of each turn in one message, in the order of its calls', 'others');
}

function isSame(
  { toolCallId, toolName, input }: ToolCallPart,
  call: OpenTurn['calls'][number],
): boolean {
  return (
    call.callId === toolCallId &&
    call.toolName === toolName &&
    canonicalJson(call.input) === canonicalJson(input)
  );
}

function refused(
  expected: string,
  got: string,
  advice = 'Give a snapshot as session.snapshot() returned it.',
): ToolError {
  return new ToolError(
    'INVALID_SNAPSHOT',
    `The snapshot is refused:\n  ${expectedGot(expected, got, advice)}`,
  );
}

function signatureOf(snapshot: Fields, key: Uint8Array): string {
  return hmacOf(key, canonicalJson(snapshot));
}
