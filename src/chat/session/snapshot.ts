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
import type { ChatEnd, OpenTurn } from '../chat-state.js';
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
  /** Makes snapshots of the next version of older ones, by the version that they take. @default none */
  readonly migrations?: Readonly<Record<number, (snapshot: Fields) => unknown>>;
};

const key = z
  .custom<Uint8Array>(
    (value) => value instanceof Uint8Array && value.length >= SHORTEST_KEY,
    `a key of at least ${SHORTEST_KEY} bytes`,
  )
  .optional();
const isMigrations = (value: unknown) =>
  isPlainObject(value) && Object.values(value).every((migrate) => typeof migrate === 'function');
export const readingFields = {
  key,
  migrations: z
    .custom<NonNullable<ReadSnapshotOptions['migrations']>>(
      isMigrations,
      'an object of functions by version',
    )
    .optional(),
};
const signingOptions = z.strictObject({ key });
const readSnapshotOptions = z.strictObject(readingFields);

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
  messages: z.array(messageSchema),
  openTurn: openTurn.optional(),
  end: end.optional(),
  offered: z.array(z.strictObject({ toolName, level: z.enum(SCHEMA_LEVELS) })),
  flow: flowSchema().optional(),
  resolutions: z.array(z.strictObject({ callId: id, digest })),
});

/** Returns the snapshot of a session, signed when there is a key. @throws ToolError `INVALID_ARGUMENT` for a key of less than 32 bytes. */
export function writeSnapshot(
  { id, origin, rev, storeIdentity, context, chat, resolutions }: SessionData,
  options: Pick<ReadSnapshotOptions, 'key'> = {},
): SessionSnapshot {
  const { key } = checkOptions(signingOptions, options, 'options of a snapshot');
  const { messages, openTurn, end, offered, flow } = chat;
  const snapshot = {
    format: FORMAT,
    version: VERSION,
    id,
    origin,
    rev,
    ...(storeIdentity !== undefined && { storeIdentity }),
    ...(context !== undefined && { context }),
    messages,
    ...(openTurn && { openTurn }),
    ...(end && { end }),
    offered,
    ...(flow && { flow }),
    resolutions,
  } as const;
  return Object.freeze(
    key === undefined ? snapshot : { ...snapshot, signature: signatureOf(snapshot, key) },
  );
}

/**
 * Reads a snapshot, and believes nothing in it but what a signature proves.
 *
 * Without a key anybody who can write the snapshot can put an approval into it that nobody gave.
 *
 * @throws ToolError `INVALID_SNAPSHOT` with everything that is wrong; `INVALID_ARGUMENT` for wrong options.
 */
export function readSnapshot(given: unknown, options: ReadSnapshotOptions): SessionData {
  const { key, migrations = {} } = checkOptions(
    readSnapshotOptions,
    options,
    'options of reading a snapshot',
  );
  const copy = clonePlain(given, 'a snapshot', 'INVALID_SNAPSHOT');
  if (!isPlainObject(copy) || copy['format'] !== FORMAT)
    throw refused(
      `an object with the format ${JSON.stringify(FORMAT)}`,
      isPlainObject(copy) ? `the format ${describeValue(copy['format'])}` : describeValue(copy),
    );
  const { signature, ...unsigned } = copy;
  if (
    key !== undefined &&
    !(typeof signature === 'string' && isEqualSignature(signature, signatureOf(unsigned, key)))
  )
    throw refused(
      'a signature made with the key',
      'another or none',
      'The snapshot was changed, or signed elsewhere: give the key that it was written with.',
    );
  const snapshot = migrated(unsigned, migrations);
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
    resolutions,
    ...chat
  } = snapshot as typeof parsed.data;
  const data = {
    id,
    origin,
    rev,
    ...(storeIdentity !== undefined && { storeIdentity }),
    ...(context !== undefined && { context }),
    chat: Object.freeze(chat),
    resolutions,
  } as SessionData;
  assertSound(data);
  return Object.freeze(data);
}

/** Returns the snapshot in this version: each migration leads to a later one, so it ends. */
function migrated(
  snapshot: Fields,
  migrations: NonNullable<ReadSnapshotOptions['migrations']>,
): Fields {
  let current = snapshot;
  for (;;) {
    const { version } = current;
    if (version === VERSION) return current;
    if (typeof version !== 'number' || !Number.isInteger(version) || version < 0)
      throw refused(`the version ${VERSION}`, describeValue(version));
    if (version > VERSION)
      throw refused(
        `the version ${VERSION} or an older one`,
        String(version),
        'It was made by a newer tooldex: upgrade this one.',
      );
    const migrate = Object.hasOwn(migrations, version) ? migrations[version] : undefined;
    if (migrate === undefined)
      throw refused(
        `the version ${VERSION}`,
        `${version}, and no migration for it`,
        `Give options.migrations[${version}].`,
      );
    let made: unknown;
    try {
      made = migrate(current);
    } catch (error) {
      throw refused(
        `a snapshot that the migration of version ${version} takes`,
        `its failure: ${publicMessage(error)}`,
        'See to the migration.',
      );
    }
    const next = clonePlain(
      made,
      `the snapshot from the migration of version ${version}`,
      'INVALID_SNAPSHOT',
    );
    if (!isPlainObject(next) || typeof next['version'] !== 'number' || next['version'] <= version)
      throw refused(
        `a snapshot of a later version from the migration of version ${version}`,
        isPlainObject(next) ? `version ${describeValue(next['version'])}` : describeValue(next),
        'See to the migration.',
      );
    current = next;
  }
}

/**
 * Checks that the fields of a session fit together; each alone is right already.
 *
 * @throws ToolError for the first thing that no session can be.
 */
function assertSound({ chat: { messages, openTurn, end }, resolutions }: SessionData): void {
  assertClosed(messages);
  const closed = new Set(
    messages.flatMap((message) =>
      message.role === 'assistant' ? callsIn(message).map(({ toolCallId }) => toolCallId) : [],
    ),
  );
  if (openTurn !== undefined) assertTurn(openTurn, closed);
  assertEnd(end, openTurn, closed);
  const called = new Set([...closed, ...(openTurn?.calls ?? []).map(({ callId }) => callId)]);
  const resolved = new Set(resolutions.map(({ callId }) => callId));
  if (resolved.size < resolutions.length)
    throw refused('one decision about each call', 'two about one');
  for (const callId of resolved)
    if (!called.has(callId))
      throw refused('decisions about calls of the session', `one about ${describeValue(callId)}`);
  const undecided = openTurn?.calls.find(
    ({ callId, progress }) => progress.state === 'approved' && !resolved.has(callId),
  );
  if (undecided !== undefined)
    throw refused(
      'a decision for each call that is approved',
      `none about ${describeValue(undecided.callId)}`,
    );
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

function assertTurn({ message, calls, tools, end }: OpenTurn, closed: ReadonlySet<string>): void {
  const made = ownCallsIn(message);
  const byId = new Map(calls.map((call) => [call.callId, call]));
  if (byId.size < calls.length)
    throw refused('calls with different ids in the open turn', 'two with the same');
  if (made.length !== calls.length || !made.every((call, at) => isSame(call, calls[at]!)))
    throw refused('the calls of the open turn as its message makes them', 'others');
  const again = calls.find(({ callId }) => closed.has(callId));
  if (again !== undefined)
    throw refused(
      'new calls in the open turn',
      `${describeValue(again.callId)}, which an earlier one made`,
    );
  for (const { callId, progress } of calls) {
    if ('pending' in progress && progress.pending.callId !== callId)
      throw refused(
        `what is pending under the call ${describeValue(callId)} to be of this call`,
        `it of ${describeValue(progress.pending.callId)}`,
      );
  }
  if (calls.every(({ progress }) => progress.state === 'settled'))
    throw refused('an open turn with a call that is not settled', 'all settled');
  if (new Set(tools.map(({ toolName }) => toolName)).size < tools.length)
    throw refused('each tool of the open turn once', 'one twice');
  if (end !== undefined && byId.get(end.callId)?.progress.state !== 'settled')
    throw refused(
      'the end of the open turn to be of one of its calls that is settled',
      describeValue(end.callId),
    );
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

function assertEnd(
  end: ChatEnd | undefined,
  openTurn: OpenTurn | undefined,
  closed: ReadonlySet<string>,
): void {
  if (end === undefined) return;
  if (openTurn !== undefined && end.reason !== 'cancelled')
    throw refused('an open turn or an end', 'both');
  if ('callId' in end && !closed.has(end.callId))
    throw refused('the end to be of a call of the session', describeValue(end.callId));
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
