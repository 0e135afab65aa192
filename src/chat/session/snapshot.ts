import { createHmac, timingSafeEqual } from 'node:crypto';
import { isToolError, ToolError } from '../../core/errors.js';
import { canonicalJson, cloneFrozen, describeValue, isPlainObject } from '../../core/plain-data.js';
import { formatIssues, toIssues } from '../../tool/metadata/zod-issues.js';
import type { ChatState, OpenTurn } from '../chat-state.js';
import { callsIn } from '../thread/chat-message.js';
import { readThread } from '../thread/read-thread.js';
import type { SessionData } from './session-data.js';
import { snapshotSchema } from './snapshot-schema.js';

const FORMAT = 'tooldex.session';
const VERSION = 1;
const SHORTEST_KEY = 32;

/** A session as plain JSON. */
export interface SessionSnapshot {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  /** HMAC-SHA256 of everything else, as canonical JSON; only of signed snapshots. */
  readonly signature?: string;
  readonly [field: string]: unknown;
}

export interface ReadSnapshotOptions {
  /** With which snapshots are signed; one without a signature is refused then. */
  readonly key?: Uint8Array;
  /** Makes snapshots of the next version of older ones, by the version that they take. */
  readonly migrations?: Readonly<Record<number, (snapshot: Readonly<Record<string, unknown>>) => unknown>>;
}

/** The snapshot of a session, signed when there is a key. @throws ToolError `INVALID_ARGUMENT` for a key of less than 32 bytes. */
export function writeSnapshot({ id, rev, context, chat, resolutions }: SessionData, key: Uint8Array | undefined): SessionSnapshot {
  const { messages, openTurn, end, offered } = chat;
  const snapshot = { format: FORMAT, version: VERSION, id, rev, ...(context !== undefined && { context }), messages, ...(openTurn && { openTurn }), ...(end && { end }), offered, resolutions } as const;
  return key === undefined ? Object.freeze(snapshot) : Object.freeze({ ...snapshot, signature: signatureOf(snapshot, key) });
}

/** Reads a snapshot, and believes nothing in it. @throws ToolError `INVALID_SNAPSHOT` with everything that is wrong. */
export function readSnapshot(given: unknown, { key, migrations = {} }: ReadSnapshotOptions): SessionData {
  let copy: unknown;
  try {
    copy = cloneFrozen(given);
  } catch (error) {
    throw invalid(`expected plain data, found ${error instanceof Error ? error.message : 'something else'}`);
  }
  if (!isPlainObject(copy) || copy['format'] !== FORMAT) throw invalid(`expected an object with the format ${JSON.stringify(FORMAT)}, found ${isPlainObject(copy) ? describeValue(copy['format']) : describeValue(copy)}`);
  const { signature, ...unsigned } = copy;
  if (key !== undefined && !isSigned(unsigned, signature, key)) throw invalid('expected a signature made with the key, found another or none; the snapshot was changed, or signed elsewhere');
  const parsed = snapshotSchema.safeParse(migrated(unsigned, migrations));
  if (!parsed.success) {
    const issues = toIssues(parsed.error, unsigned);
    throw new ToolError('INVALID_SNAPSHOT', `The snapshot is refused:\n  ${formatIssues(issues)}`, { details: { issues } });
  }
  const { id, rev, context, resolutions, format: _format, version: _version, ...chat } = parsed.data;
  const data = cloneFrozen({ id, rev, ...(context !== undefined && { context }), chat, resolutions }) as SessionData;
  assertSound(data.chat);
  return data;
}

function migrated(snapshot: Readonly<Record<string, unknown>>, migrations: NonNullable<ReadSnapshotOptions['migrations']>): unknown {
  let current = snapshot;
  for (;;) {
    const { version } = current;
    if (version === VERSION) return current;
    if (typeof version !== 'number' || !Number.isInteger(version) || version < 0) throw invalid(`expected the version ${VERSION}, found ${describeValue(version)}`);
    if (version > VERSION) throw invalid(`expected the version ${VERSION} or an older one, found ${version}; it was made by a newer tooldex`);
    const migrate = Object.hasOwn(migrations, version) ? migrations[version] : undefined;
    if (migrate === undefined) throw invalid(`expected the version ${VERSION}, found ${version}, and no migration for it`);
    const next: unknown = cloneFrozen(migrate(current));
    if (!isPlainObject(next) || typeof next['version'] !== 'number' || next['version'] <= version) throw invalid(`expected a snapshot of a later version from the migration of version ${version}, found ${isPlainObject(next) ? `version ${describeValue(next['version'])}` : describeValue(next)}`);
    current = next;
  }
}

/** What the fields say of each other. */
function assertSound({ messages, openTurn, end }: ChatState): void {
  try {
    const thread = readThread(messages);
    if (thread.open.length > 0) throw invalid(`expected a result of every call in messages, found none of ${thread.open[0]!.toolCallId}`);
    if (canonicalJson(thread.messages) !== canonicalJson(messages)) throw invalid('expected the results of each turn in one message, in the order of its calls');
  } catch (error) {
    throw isToolError(error, 'INVALID_SNAPSHOT') ? error : invalid(isToolError(error) ? error.message : 'expected a thread of messages');
  }
  if (openTurn === undefined) return;
  if (end !== undefined && end.reason !== 'cancelled') throw invalid('expected an open turn or an end, found both');
  assertTurn(openTurn);
}

function assertTurn({ message, calls, end }: OpenTurn): void {
  const asked = callsIn(message).filter(({ providerExecuted }) => providerExecuted !== true);
  const ids = new Set(calls.map(({ callId }) => callId));
  if (ids.size < calls.length) throw invalid('expected calls with different ids in the open turn, found two with the same');
  const matches = asked.length === calls.length && asked.every(({ toolCallId, toolName, input }, at) => calls[at]!.callId === toolCallId && calls[at]!.toolName === toolName && canonicalJson(calls[at]!.input) === canonicalJson(input));
  if (!matches) throw invalid('expected the calls of the open turn as its message makes them, found others');
  for (const { callId, progress } of calls) {
    if ((progress.state === 'waiting' || progress.state === 'approved') && progress.pending.callId !== callId) throw invalid(`expected what waits under the call ${callId} to be of this call, found it of ${progress.pending.callId}`);
  }
  if (calls.every(({ progress }) => progress.state === 'settled')) throw invalid('expected an open turn with a call that is not settled, found all settled');
  if (end !== undefined && !ids.has(end.callId)) throw invalid(`expected the end of the open turn to name one of its calls, found ${describeValue(end.callId)}`);
}

function invalid(message: string): ToolError {
  return new ToolError('INVALID_SNAPSHOT', `The snapshot is refused: ${message}`);
}

function signatureOf(snapshot: Readonly<Record<string, unknown>>, key: Uint8Array): string {
  if (!(key instanceof Uint8Array) || key.length < SHORTEST_KEY) throw new ToolError('INVALID_ARGUMENT', `Expected a key of at least ${SHORTEST_KEY} bytes, found ${key instanceof Uint8Array ? `${key.length} bytes` : describeValue(key)}`);
  return createHmac('sha256', key).update(canonicalJson(snapshot)).digest('hex');
}

function isSigned(snapshot: Readonly<Record<string, unknown>>, signature: unknown, key: Uint8Array): boolean {
  const expected = Buffer.from(signatureOf(snapshot, key));
  const found = Buffer.from(typeof signature === 'string' ? signature : '');
  return expected.length === found.length && timingSafeEqual(expected, found);
}
