import { hmacOf, isEqualSignature } from '../../core/crypto.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { checkOptions } from '../../core/options.js';
import { canonicalJson, cloneFrozen, describeValue, isPlainObject } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { formatIssues, toIssues } from '../../core/issues.js';
import { assertSound } from './assert-sound.js';
import type { SessionData } from './session-data.js';
import { readSnapshotOptions, signingOptions } from './session-options.js';
import { snapshotSchema } from './snapshot-schema.js';

const FORMAT = 'tooldex.session';
const VERSION = 1;

/** A session as plain JSON. */
export interface SessionSnapshot {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  /** HMAC-SHA256 of everything else, as canonical JSON; only of signed snapshots. */
  readonly signature?: string;
  readonly [field: string]: unknown;
}

export interface SignSnapshotOptions {
  /** At least 32 bytes: whoever reads the snapshot with the same key sees any change of it. */
  readonly key?: Uint8Array;
}

export interface ReadSnapshotOptions extends SignSnapshotOptions {
  /** Makes snapshots of the next version of older ones, by the version that they take. */
  readonly migrations?: Readonly<Record<number, (snapshot: Readonly<Record<string, unknown>>) => unknown>>;
}

/** The snapshot of a session, signed when there is a key. @throws ToolError `INVALID_ARGUMENT` for a key of less than 32 bytes. */
export function writeSnapshot({ id, origin, rev, storeIdentity, context, chat, resolutions }: SessionData, options: SignSnapshotOptions = {}): SessionSnapshot {
  const { key } = checkOptions(signingOptions, options, 'options of a snapshot');
  const { messages, openTurn, end, offered } = chat;
  const snapshot = { format: FORMAT, version: VERSION, id, origin, rev, ...(storeIdentity !== undefined && { storeIdentity }), ...(context !== undefined && { context }), messages, ...(openTurn && { openTurn }), ...(end && { end }), offered, resolutions } as const;
  return Object.freeze(key === undefined ? snapshot : { ...snapshot, signature: signatureOf(snapshot, key) });
}

/**
 * Reads a snapshot, and believes nothing in it but what a signature proves.
 *
 * Without a key anybody who can write the snapshot can put a yes into it that nobody gave.
 *
 * @throws ToolError `INVALID_SNAPSHOT` with everything that is wrong; `INVALID_ARGUMENT` for wrong options.
 */
export function readSnapshot(given: unknown, options: ReadSnapshotOptions): SessionData {
  const { key, migrations = {} } = checkOptions(readSnapshotOptions, options, 'options of reading a snapshot');
  const copy = plain(given, 'plain data');
  if (!isPlainObject(copy) || copy['format'] !== FORMAT) throw invalid(`expected an object with the format ${JSON.stringify(FORMAT)}, found ${isPlainObject(copy) ? `the format ${describeValue(copy['format'])}` : describeValue(copy)}`);
  const { signature, ...unsigned } = copy;
  if (key !== undefined && !isSigned(unsigned, signature, key)) throw invalid('expected a signature made with the key, found another or none; the snapshot was changed, or signed elsewhere');
  const snapshot = migrated(unsigned, migrations);
  const parsed = snapshotSchema.safeParse(snapshot);
  if (!parsed.success) {
    const issues = toIssues(parsed.error, snapshot);
    throw new ToolError('INVALID_SNAPSHOT', `The snapshot is refused:\n  ${formatIssues(issues)}`, { details: { issues } });
  }
  // What was checked, and not zod's copy: that loses keys called `__proto__`, which arguments may have.
  const { id, origin, rev, storeIdentity, context, resolutions, format: _format, version: _version, ...chat } = snapshot as typeof parsed.data;
  const data = plain({ id, origin, rev, ...(storeIdentity !== undefined && { storeIdentity }), ...(context !== undefined && { context }), chat, resolutions }, 'plain data') as SessionData;
  try {
    assertSound(data);
  } catch (error) {
    throw invalid(isToolError(error) ? error.message : 'expected fields that fit together, found others');
  }
  return data;
}

/** The snapshot in this version: each migration leads to a later one, so it ends. */
function migrated(snapshot: Readonly<Record<string, unknown>>, migrations: NonNullable<ReadSnapshotOptions['migrations']>): Readonly<Record<string, unknown>> {
  let current = snapshot;
  for (;;) {
    const { version } = current;
    if (version === VERSION) return current;
    if (typeof version !== 'number' || !Number.isInteger(version) || version < 0) throw invalid(`expected the version ${VERSION}, found ${describeValue(version)}`);
    if (version > VERSION) throw invalid(`expected the version ${VERSION} or an older one, found ${version}; it was made by a newer tooldex`);
    const migrate = Object.hasOwn(migrations, version) ? migrations[version] : undefined;
    if (migrate === undefined) throw invalid(`expected the version ${VERSION}, found ${version}, and no migration for it`);
    const next = plain(migrateOnce(migrate, current), `plain data from the migration of version ${version}`);
    if (!isPlainObject(next) || typeof next['version'] !== 'number' || next['version'] <= version) throw invalid(`expected a snapshot of a later version from the migration of version ${version}, found ${isPlainObject(next) ? `version ${describeValue(next['version'])}` : describeValue(next)}`);
    current = next;
  }
}

function migrateOnce(migrate: (snapshot: Readonly<Record<string, unknown>>) => unknown, snapshot: Readonly<Record<string, unknown>>): unknown {
  try {
    return migrate(snapshot);
  } catch (error) {
    throw invalid(`expected that its migration takes it, found that it fails: ${publicMessage(error)}`);
  }
}

function plain(value: unknown, expected: string): unknown {
  try {
    return cloneFrozen(value);
  } catch (error) {
    throw invalid(`expected ${expected}, found ${publicMessage(error)}`);
  }
}

function invalid(message: string): ToolError {
  return new ToolError('INVALID_SNAPSHOT', `The snapshot is refused: ${message}`);
}

function signatureOf(snapshot: Readonly<Record<string, unknown>>, key: Uint8Array): string {
  return hmacOf(key, canonicalJson(snapshot));
}

function isSigned(snapshot: Readonly<Record<string, unknown>>, signature: unknown, key: Uint8Array): boolean {
  return typeof signature === 'string' && isEqualSignature(signature, signatureOf(snapshot, key));
}
