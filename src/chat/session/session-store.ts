import { z } from 'zod';
import { randomUUID, sha256Of } from '../../core/crypto.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { checkOptions, withMethods } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import { isRestarted } from '../../state/state-arguments.js';
import type { StateStore } from '../../state/state-store.js';
import {
  newSessionData,
  withDecisionsAskedAgain,
  type NewSession,
  type SessionData,
} from './session-data.js';
import { keptSession, type Keep, type Session } from './session.js';
import { assertSigned, key, readSnapshot, refused, signed, writeSnapshot } from './snapshot.js';

type SessionStoreOptions = {
  /** The store for the sessions. All processes that run the sessions must use the same store. */
  readonly store: StateStore;
  /** The lifetime of a session after its last change, in milliseconds. @default forever */
  readonly ttlMs?: number;
  /**
   * A key of at least 32 bytes. A session that was changed in the store without the key is refused.
   * @default sessions aren't signed
   */
  readonly key?: Uint8Array;
};

const sessionStoreOptions = z.strictObject({
  key,
  store: withMethods<StateStore>('a StateStore', 'get', 'compareAndSet', 'expire', 'now'),
  ttlMs: z.number().int().min(1).optional(),
});

/**
 * The maximum length of a part that is stored in the head, in characters. Longer parts have their
 * own keys.
 */
const INLINE = 400;
/**
 * The time in milliseconds for which a part can still be read after the last head that refers to
 * the part is gone.
 */
const LEAD_MS = 60_000;

/**
 * The name of a part, in hexadecimal: 64 random bits, and the first 128 bits of the part's SHA-256.
 */
type Reference = string;

/** A session as it was last stored or read. */
interface Kept {
  /** The text under the session's key. The next head replaces exactly this text. */
  readonly head: string;
  /** The store's identity when the session was read. Writes are bound to this identity. */
  readonly identity: string;
  /** Parts that have their own keys. Parts are frozen, so each object is written only once. */
  readonly parts: ReadonlyMap<unknown, Reference>;
  /** The time at which the lifetimes of all parts began, on the store's clock. */
  readonly renewedAt: number;
}

/**
 * A store for sessions that processes share. Each change is stored before the next change begins.
 * If two processes continue the same session, only one of them succeeds.
 *
 * A session consists of a small head, which is replaced by compare-and-set, and parts that are
 * written once: its messages and calls. A part can be at most 1 MiB. Decisions are stored when the
 * session continues, or by `save`. If a process ends in the middle of a run, the session opens in
 * its last stored state, and calls that had started are uncertain. If the store restarts, it may
 * have an older state, so the user has to decide again about calls that were approved or hadn't
 * started.
 *
 * ```ts
 * import { MemoryStateStore } from 'tooldex/state';
 * import { scriptedModel, SessionStore } from 'tooldex/chat';
 *
 * const sessions = new SessionStore({ store: new MemoryStateStore() });
 * const { session } = await sessions.create({ id: 'order-17' }).start({ model: scriptedModel(['Hello!']) }, 'Hi');
 * const again = await sessions.open('order-17'); // In this or any other process.
 * again?.messages.length; // → 2
 * ```
 */
export class SessionStore {
  readonly #store: StateStore;
  readonly #ttlMs: number | undefined;
  readonly #key: Uint8Array | undefined;

  /** @throws ToolError `INVALID_ARGUMENT` with every invalid option. */
  constructor(options: SessionStoreOptions) {
    const checked = checkOptions(sessionStoreOptions, options, 'options of a store of sessions');
    this.#store = checked.store;
    this.#ttlMs = checked.ttlMs;
    this.#key = checked.key;
  }

  /**
   * Returns a new session, which is stored from its first run on. @throws ToolError
   * `INVALID_ARGUMENT` like `Session.create`.
   */
  create(options: NewSession = {}): Session {
    return keptSession(newSessionData(options), this.#keepAfter(undefined));
  }

  /**
   * Opens a session in its last stored state. Returns `undefined` for an unknown id. @throws
   * ToolError `INVALID_SNAPSHOT`, `STATE_UNAVAILABLE`.
   */
  async open(id: string): Promise<Session | undefined> {
    for (let before: string | undefined; ;) {
      // Reads the identity first: if the store restarts after this, later writes are refused.
      const { identity, time } = await this.#store.now();
      const head = await this.#store.get(headKey(id));
      if (head === undefined) return undefined;
      const read = await this.#read(id, head);
      if (read !== undefined) {
        const data =
          read.identity === identity
            ? read.data
            : afterRestart(read.data, read.identity, identity, time);
        const kept = { head, identity, parts: read.parts, renewedAt: -Infinity };
        return keptSession(data, this.#keepAfter(kept));
      }
      // If another process has stored the session in the meantime, a part may be gone. In that
      // case, the head has changed too.
      if (head === before) throw refused(`Parts of it are missing. ${DELETE_IT}`);
      before = head;
    }
  }

  /**
   * Deletes a session. A run in progress ends with `STALE_SESSION`. @throws ToolError
   * `STATE_UNAVAILABLE`.
   */
  async delete(id: string): Promise<void> {
    for (;;) {
      const head = await this.#store.get(headKey(id));
      if (head === undefined) return;
      if (!(await this.#store.compareAndSet(headKey(id), head, undefined))) continue;
      const parts = await partsIn(parsed(head));
      return this.#drop(
        id,
        parts.filter((part) => typeof part === 'string'),
      );
    }
  }

  /** Returns a function that stores the next state of a session. */
  #keepAfter(before: Kept | undefined): Keep {
    return async (data) => {
      const { id, rev } = data;
      const stale = (why: string, more = {}) =>
        new ToolError('STALE_SESSION', `The session ${id} ${why}.`, {
          details: { id, rev, ...more },
        });
      let kept: Kept | undefined;
      try {
        kept = await this.#write(data, before);
      } catch (error) {
        if (!isRestarted(error)) throw error;
        throw stale(
          'was read before its store restarted. Open it again: approved calls that have not run need approval again',
          { reason: 'restarted' },
        );
      }
      if (kept !== undefined) return this.#keepAfter(kept);
      throw stale(
        before === undefined
          ? 'already exists. Open it, or use another id'
          : 'was changed or deleted since it was read. Open it again, and repeat the decision',
      );
    };
  }

  /**
   * Writes the new parts, then the head. @returns `undefined` if another process replaced the head.
   */
  async #write(data: SessionData, before: Kept | undefined): Promise<Kept | undefined> {
    const { id } = data;
    const ttlMs = this.#ttlMs;
    const now = before === undefined || ttlMs !== undefined ? await this.#store.now() : undefined;
    const identity = before?.identity ?? now!.identity;
    const set = (key: string, from: string | undefined, text: string, lives: number) =>
      this.#store
        .compareAndSet(key, from, text, { identity, ...(ttlMs && { ttlMs: lives * ttlMs }) })
        .catch(tooLarge);
    const parts = new Map<unknown, Reference>();
    const written: Reference[] = [];
    const packed = await mapParts({ ...writeSnapshot(data) }, async (part) => {
      let reference = before?.parts.get(part);
      if (reference === undefined) {
        const text = JSON.stringify(part);
        if (text.length <= INLINE) return part;
        reference = `${randomUUID().replaceAll('-', '').slice(16)}${digestIn(text)}`;
        written.push(reference);
        await set(partKey(id, reference), undefined, text, 2);
      }
      parts.set(part, reference);
      return reference;
    });
    const named = new Set(parts.values());
    // Parts live twice as long as a head and are renewed after one lifetime. A part therefore
    // outlives every head that refers to it.
    const isOld = ttlMs !== undefined && now!.time - (before?.renewedAt ?? now!.time) >= ttlMs;
    if (isOld) await this.#expire(id, named, 2 * ttlMs);
    const head = JSON.stringify(signed({ ...packed, identity }, this.#key));
    const isKept = await set(headKey(id), before?.head, head, 1);
    const unnamed = [...(before?.parts.values() ?? [])].filter((each) => !named.has(each));
    await this.#drop(id, isKept ? unnamed : written);
    if (!isKept) return undefined;
    const renewedAt = before === undefined || isOld ? (now?.time ?? 0) : before.renewedAt;
    return { head, identity, parts, renewedAt };
  }

  /**
   * Deletes parts that no head refers to any more. A process that is reading these parts has a
   * minute to finish. Failures are ignored.
   */
  async #drop(id: string, references: Iterable<Reference>): Promise<void> {
    await this.#expire(id, references, LEAD_MS).catch(() => undefined);
  }

  async #expire(id: string, references: Iterable<Reference>, ttlMs: number): Promise<void> {
    await Promise.all(
      Array.from(references, (each) => this.#store.expire(partKey(id, each), ttlMs)),
    );
  }

  /**
   * @returns `undefined` if a part is gone. @throws ToolError `INVALID_SNAPSHOT` for a head or part
   * that was tampered with.
   */
  async #read(id: string, head: string) {
    const { identity, ...packed } = assertSigned(parsed(head), this.#key);
    let isWhole = true;
    const snapshot = await mapParts(packed, async (part) => {
      if (typeof part !== 'string') return part;
      const text = await this.#store.get(partKey(id, part));
      isWhole &&= text !== undefined;
      if (text !== undefined && digestIn(text) !== part.slice(16))
        throw refused(`A part of the session was changed. ${DELETE_IT}`);
      return parsed(text ?? '');
    });
    if (!isWhole) return undefined;
    const data = readSnapshot(snapshot);
    if (data.id !== id || typeof identity !== 'string')
      throw refused(`The session's key contains another session. ${DELETE_IT}`);
    const references = await partsIn(packed);
    const parts = new Map<unknown, Reference>();
    for (const [at, part] of (await partsIn({ ...data })).entries())
      if (typeof references[at] === 'string') parts.set(part, references[at]);
    return { data, identity, parts };
  }
}

const DELETE_IT = "Another program changed the session's keys in the store. Delete the session.";

type Fields = Readonly<Record<string, unknown>>;

/** Returns a copy of a snapshot or head in which `change` has replaced each part. */
async function mapParts(
  fields: Fields,
  change: (part: unknown) => Promise<unknown>,
): Promise<Fields> {
  const each = (list: unknown) => (Array.isArray(list) ? Promise.all(list.map(change)) : list);
  const { messages, offered, openTurn } = fields;
  const { message, calls } = isPlainObject(openTurn) ? openTurn : {};
  return {
    ...fields,
    messages: await each(messages),
    offered: await change(offered),
    ...(isPlainObject(openTurn) && {
      openTurn: { ...openTurn, message: await change(message), calls: await each(calls) },
    }),
  };
}

/** Returns the parts of a snapshot, or the references of a head, in the same order. */
async function partsIn(fields: unknown): Promise<readonly unknown[]> {
  const parts: unknown[] = [];
  await mapParts(isPlainObject(fields) ? fields : {}, (part) => Promise.resolve(parts.push(part)));
  return parts;
}

/**
 * Returns the session's data for use after the store has restarted: the user has to decide again,
 * and later decisions are bound to the current store.
 */
function afterRestart(data: SessionData, kept: string, identity: string, now: number): SessionData {
  const asked = withDecisionsAskedAgain(data, now);
  return data.storeIdentity === kept ? { ...asked, storeIdentity: identity } : asked;
}

function digestIn(text: string): string {
  return sha256Of(text).slice(0, 32);
}

function headKey(id: string): string {
  return `session/${id}`;
}

function partKey(id: string, reference: Reference): string {
  return `session-part/${id}/${reference}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Explains what to do about a message or result that is too large for the store. */
function tooLarge(cause: unknown): never {
  if (!isToolError(cause, 'LIMIT_EXCEEDED')) throw cause;
  throw new ToolError(
    'LIMIT_EXCEEDED',
    "A message or result is larger than 1 MiB, which the store doesn't accept. Shorten results with maxResultBytes, make images smaller, or return a link to the file (resourceLink).",
    { cause },
  );
}
