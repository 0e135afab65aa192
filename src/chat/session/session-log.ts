import { z } from 'zod';
import { hmacOf, isEqualSignature, randomUUID } from '../../core/crypto.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { isPlainObject, type Json } from '../../core/plain-data.js';
import type { StateStore } from '../../state/state-store.js';
import type { CallRecord, OpenTurn } from '../chat-state.js';
import { json } from '../thread.js';
import type { SessionData } from './session-data.js';

/** Characters in one item: at most three bytes each, so always below the store's 1 MiB. */
export const ITEM_LENGTH = 300_000;
/** The items of one log: the most that a store takes. */
const MOST_ITEMS = 10_000;
/** The number of items from which on a log is written afresh, whatever their length. */
const MANY_ITEMS = 8_000;
/** Characters of changes that are appended in any case before a log is written afresh. */
const LEAST_CHANGES = 65_536;
/** The milliseconds that a log lives longer than what points to it, and can still be read when nothing does. */
const LEAD_MS = 60_000;
const FORMAT = 'tooldex.session-log';
/** The last item of a log whose session was deleted. */
const DELETED = 'deleted';

const headerSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(1),
  identity: z.string(),
  pieces: z.number().int().min(1).max(MOST_ITEMS),
});
const movedSchema = z.strictObject({ moved: z.uuid() });

/** A log up to its last item; an append names it, so that of two processes that have read the same one is refused. */
export interface LogEnd {
  readonly logId: string;
  readonly items: number;
  /** The signature of the last item; every item is signed together with the one before it. */
  readonly signature: string;
  /** The store's identity when the log was begun. */
  readonly identity: string;
  /** Characters of the snapshot at its beginning, and of what was appended since. */
  readonly snapshotLength: number;
  readonly changesLength: number;
}

/** The content of a log: the snapshot with all changes, or the log that it was moved to. */
type LogContent =
  | { readonly end: LogEnd; readonly snapshot: unknown }
  | { readonly end: LogEnd; readonly movedTo: string };

/**
 * The logs of sessions: lists in a store that begin with a snapshot, in pieces, and go on with one item a checkpoint.
 *
 * With a key every item is signed together with the one before it, the first one together with the name of its log: none
 * can be changed, left out, moved or taken from elsewhere. Items cut off the end leave an older state that is as genuine.
 */
export class SessionLogs {
  readonly #store: StateStore;
  readonly #key: Uint8Array | undefined;
  readonly #lifetime: { readonly ttlMs?: number };

  constructor({
    store,
    key,
    ttlMs,
  }: {
    readonly store: StateStore;
    readonly key?: Uint8Array | undefined;
    readonly ttlMs?: number | undefined;
  }) {
    this.#store = store;
    this.#key = key;
    this.#lifetime = ttlMs === undefined ? {} : { ttlMs: ttlMs + LEAD_MS };
  }

  /** Writes a new log whole. Nothing points to it yet. @throws ToolError `STATE_UNAVAILABLE`. */
  async begin(id: string, snapshot: string, identity: string): Promise<LogEnd> {
    const pieces = split(snapshot);
    const logId = randomUUID();
    let end: LogEnd = {
      logId,
      items: 0,
      signature: firstSignature(id, logId),
      identity,
      snapshotLength: 0,
      changesLength: 0,
    };
    for (const text of [
      JSON.stringify({ format: FORMAT, version: 1, identity, pieces: pieces.length }),
      ...pieces,
    ]) {
      const next = await this.append(id, end, text, identity);
      if (next === undefined)
        throw new ToolError(
          'STATE_UNAVAILABLE',
          expectedGot(
            'the log of a session to be written',
            'a store that takes no more of it',
            'Try again.',
          ),
        );
      end = next;
    }
    return Object.freeze({ ...end, snapshotLength: snapshot.length, changesLength: 0 });
  }

  /** @returns the log with one item more; `undefined` when another process has appended since. @throws ToolError `STATE_UNAVAILABLE`. */
  async append(
    id: string,
    end: LogEnd,
    text: string,
    identity: string,
  ): Promise<LogEnd | undefined> {
    const signature = this.#key === undefined ? '' : signatureOf(this.#key, end.signature, text);
    const items = await this.#store.append(keyOf(id, end.logId), `${signature}:${text}`, {
      at: end.items,
      max: MOST_ITEMS,
      identity,
      ...this.#lifetime,
    });
    return items === undefined
      ? undefined
      : Object.freeze({ ...end, items, signature, changesLength: end.changesLength + text.length });
  }

  /** Tells readers and writers of a log that the session goes on in another one. @returns whether they are told. */
  async move(id: string, from: LogEnd, to: LogEnd): Promise<boolean> {
    return (
      (await this.append(id, from, JSON.stringify({ moved: to.logId }), to.identity)) !== undefined
    );
  }

  /** Returns true for a log that should be written afresh, which costs as much as what was appended since it was. */
  isLong({ items, snapshotLength, changesLength }: LogEnd): boolean {
    return items >= MANY_ITEMS || changesLength > Math.max(snapshotLength, LEAST_CHANGES);
  }

  /** @returns `undefined` for a log that is gone, or going. @throws ToolError `INVALID_SNAPSHOT`, `STATE_UNAVAILABLE`. */
  async read(id: string, logId: string): Promise<LogContent | undefined> {
    let signature = firstSignature(id, logId);
    const texts: string[] = [];
    for await (const item of this.#items(keyOf(id, logId))) {
      if (item === DELETED) return undefined;
      const at = item.indexOf(':');
      const text = item.slice(at + 1);
      const given = item.slice(0, Math.max(at, 0));
      if (
        this.#key !== undefined &&
        !isEqualSignature(given, signatureOf(this.#key, signature, text))
      )
        throw refused('items signed with the key, each after the one before it', 'others');
      signature = given;
      texts.push(text);
    }
    if (texts.length === 0) return undefined;
    const header = parse(texts[0]!);
    if (!headerSchema.safeParse(header).success)
      throw refused(`a log of the format ${JSON.stringify(FORMAT)}, version 1`, 'something else');
    const { identity, pieces } = header as z.output<typeof headerSchema>;
    if (texts.length <= pieces) return undefined;
    const json = texts.slice(1, pieces + 1).join('');
    const changes = texts.slice(pieces + 1);
    const end = Object.freeze({
      logId,
      items: texts.length,
      signature,
      identity,
      snapshotLength: json.length,
      changesLength: changes.reduce((sum, { length }) => sum + length, 0),
    });
    const last = movedSchema.safeParse(changes.length === 0 ? undefined : parse(changes.at(-1)!));
    if (last.success) return { end, movedTo: last.data.moved };
    const snapshot = parse(json);
    if (!isPlainObject(snapshot))
      throw refused('a snapshot at the beginning of the log', 'something else');
    for (const text of changes) applyDelta(snapshot, parse(text));
    return { end, snapshot };
  }

  /** Lets logs go that nothing points to any more; a process that reads one of them at the moment can read on. Nothing depends on it. */
  async drop(id: string, logIds: readonly string[]): Promise<void> {
    await Promise.all(logIds.map((logId) => this.#store.expire(keyOf(id, logId), LEAD_MS))).catch(
      () => undefined,
    );
  }

  /** Ends a log, and those that it was moved to: nobody can append to it any more. @throws ToolError `STATE_UNAVAILABLE`. */
  async end(id: string, logId: string): Promise<void> {
    const ended = new Set<string>();
    for (let next: string | undefined = logId; next !== undefined && !ended.has(next);) {
      ended.add(next);
      const key = keyOf(id, next);
      const items = await this.#store.append(key, DELETED, { max: MOST_ITEMS, ttlMs: LEAD_MS });
      const [last = ''] =
        items === undefined || items < 2
          ? []
          : await this.#store.read(key, { from: items - 2, limit: 1 });
      next = /^[0-9a-f]*:\{"moved":"([0-9a-f-]{36})"\}$/.exec(last)?.[1];
    }
  }

  /** Reads items in pages that grow as long as they are short: an operation of a store must be over in a moment. */
  async *#items(key: string): AsyncGenerator<string, void> {
    for (let from = 0, limit = 4; ;) {
      const page = await this.#store.read(key, { from, limit });
      yield* page;
      if (page.length < limit) return;
      from += page.length;
      limit =
        page.reduce((sum, { length }) => sum + length, 0) < ITEM_LENGTH
          ? Math.min(limit * 4, 1_000)
          : 4;
    }
  }
}

/** Returns the pieces of a text, split between characters and not between their halves: stores take no half. */
function split(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    const last = text.charCodeAt(start + ITEM_LENGTH - 1);
    const end = start + ITEM_LENGTH - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

function keyOf(id: string, logId: string): string {
  return `session-log/${id}/${logId}`;
}

function firstSignature(id: string, logId: string): string {
  return `${FORMAT}/${id}/${logId}`;
}

function signatureOf(key: Uint8Array, before: string, text: string): string {
  return hmacOf(key, `${before}\n${text}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refused('JSON', 'something else');
  }
}

function refused(expected: string, got: string): ToolError {
  return new ToolError(
    'INVALID_SNAPSHOT',
    `The log of the session is refused:\n  ${expectedGot(expected, got, 'It was changed by something else, or is read with another key: delete the session, or give its key.')}`,
  );
}

const anObject = z.custom<object>(isPlainObject, { error: 'an object' });
const position = z.number().int().min(0);
/** A list as it was up to a position, and what follows there now. */
const tail = z.strictObject({ from: position, items: z.array(anObject) });

/**
 * The changes of one checkpoint; what is missing stayed as it was.
 *
 * Only the shape is declared here: what the changes come to is checked as a snapshot.
 */
const deltaSchema = z.strictObject({
  rev: z.number().int().min(0),
  storeIdentity: z.string().optional(),
  messages: tail.optional(),
  /** `null`: the open turn was closed. */
  openTurn: anObject.nullable().optional(),
  /** The progress of calls of the open turn, by their position. */
  calls: z.array(z.tuple([position, json])).optional(),
  turnEnd: anObject.optional(),
  /** `null`: the session goes on. */
  end: anObject.nullable().optional(),
  offered: z.array(anObject).optional(),
  flow: anObject.optional(),
  resolutions: tail.optional(),
});

type Tail = z.output<typeof tail>;
type SessionDelta = z.output<typeof deltaSchema>;

/**
 * Returns what changed between two states of one session, by comparing references: data is frozen, so the same
 * object is the same data.
 */
export function deltaOf(
  { chat: before, resolutions, storeIdentity: store }: SessionData,
  { rev, chat, resolutions: decided, storeIdentity }: SessionData,
): SessionDelta {
  return {
    rev,
    ...(storeIdentity !== undefined && storeIdentity !== store && { storeIdentity }),
    ...(chat.messages !== before.messages && { messages: tailOf(before.messages, chat.messages) }),
    ...(chat.openTurn !== before.openTurn && turnDelta(before.openTurn, chat.openTurn)),
    ...(chat.end !== before.end && { end: chat.end ?? null }),
    ...(chat.offered !== before.offered && { offered: [...chat.offered] }),
    ...(chat.flow !== undefined && chat.flow !== before.flow && { flow: chat.flow }),
    ...(decided !== resolutions && { resolutions: tailOf(resolutions, decided) }),
  };
}

function tailOf(before: readonly object[], after: readonly object[]): Tail {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from += 1;
  return { from, items: after.slice(from) };
}

function turnDelta(
  before: OpenTurn | undefined,
  after: OpenTurn | undefined,
): Partial<SessionDelta> {
  if (
    before === undefined ||
    after === undefined ||
    before.message !== after.message ||
    before.tools !== after.tools ||
    before.index !== after.index ||
    (before.end !== undefined && after.end === undefined)
  )
    return { openTurn: after ?? null };
  const calls = after.calls.flatMap(({ progress }, at): [number, CallRecord['progress']][] =>
    after.calls[at] === before.calls[at] ? [] : [[at, progress]],
  );
  return {
    ...(calls.length > 0 && { calls: calls as unknown as [number, Json][] }),
    ...(after.end !== before.end && { turnEnd: after.end! }),
  };
}

/**
 * Brings the JSON of a snapshot, which is the reader's own and is changed, up to a delta.
 *
 * @throws ToolError `INVALID_SNAPSHOT` for changes of another snapshot.
 */
function applyDelta(snapshot: Record<string, unknown>, given: unknown): void {
  if (!deltaSchema.safeParse(given).success) throw refused('changes of a session', 'others');
  // What was checked, and not zod's copy: that loses keys called `__proto__`, which arguments may have.
  const {
    rev,
    storeIdentity,
    messages,
    openTurn,
    calls = [],
    turnEnd,
    end,
    offered,
    flow,
    resolutions,
  } = given as SessionDelta;
  if (rev < Number(snapshot['rev']))
    throw refused('changes in the order in which they were made', 'others');
  snapshot['rev'] = rev;
  if (storeIdentity !== undefined) snapshot['storeIdentity'] = storeIdentity;
  if (messages !== undefined) replaceTail(snapshot['messages'], messages);
  if (resolutions !== undefined) replaceTail(snapshot['resolutions'], resolutions);
  if (offered !== undefined) snapshot['offered'] = offered;
  if (flow !== undefined) snapshot['flow'] = flow;
  putOrRemove(snapshot, 'openTurn', openTurn);
  putOrRemove(snapshot, 'end', end);
  const turn = snapshot['openTurn'] as
    { calls: Record<string, unknown>[]; end?: unknown } | undefined;
  for (const [at, progress] of calls) {
    const call = turn?.calls?.[at];
    if (call === undefined) throw refused('changes of calls that the session has', 'others');
    call['progress'] = progress;
  }
  if (turnEnd === undefined) return;
  if (turn === undefined) throw refused('the end of a turn that is open', 'another');
  turn.end = turnEnd;
}

function replaceTail(list: unknown, { from, items }: Tail): void {
  if (!Array.isArray(list) || from > list.length)
    throw refused('changes of a list that the session has', 'others');
  list.length = from;
  for (const item of items) list.push(item);
}

function putOrRemove(
  snapshot: Record<string, unknown>,
  field: string,
  value: object | null | undefined,
): void {
  if (value === null) delete snapshot[field];
  else if (value !== undefined) snapshot[field] = value;
}
