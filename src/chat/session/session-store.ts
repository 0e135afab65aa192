import { z } from 'zod';
import { randomUUID, sha256Of } from '../../core/crypto.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { checkOptions, withMethods } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import { isRestarted } from '../../state/state-arguments.js';
import type { StateStore } from '../../state/state-store.js';
import {
  assertId,
  newSessionData,
  withDecisionsAskedAgain,
  type NewSession,
  type SessionData,
} from './session-data.js';
import { keptSession, type Keep, type Session } from './session.js';
import { assertSigned, key, readSnapshot, signed, writeSnapshot } from './snapshot.js';

type SessionStoreOptions = {
  /** The store that keeps the sessions, the same for all processes that run them. */
  readonly store: StateStore;
  /** The lifetime of a session after its last change, in milliseconds. @default for good */
  readonly ttlMs?: number;
  /** A key of at least 32 bytes: a session that was changed in the store by anything else is refused. @default sessions are not signed */
  readonly key?: Uint8Array;
};

const sessionStoreOptions = z.strictObject({
  key,
  store: withMethods<StateStore>('a StateStore', 'get', 'compareAndSet', 'expire', 'now'),
  ttlMs: z.number().int().min(1).optional(),
});

/** Characters of a message or call that its head holds itself; longer ones have a key of their own. */
const INLINE = 400;
/** The milliseconds that a part can still be read after the last head that names it. */
const LEAD_MS = 60_000;

/** Messages, calls and lists of tools: frozen, so that the same object is the same data, and is written once. */
type Part = object;
/** The name of a part in the store: 64 random bits, and the first 128 bits of the SHA-256 of its text, as hexadecimal digits. */
type Reference = string;

/** A session as it was kept or read last. */
interface Kept {
  /** The text under the session's key: what is kept next replaces exactly this. */
  readonly head: string;
  /** The store's identity when the session was read: what is written now is bound to it. */
  readonly identity: string;
  readonly parts: ReadonlyMap<Part, Reference>;
  /** The time by the store's clock when the lifetimes of all parts began. */
  readonly renewedAt: number;
}

/**
 * A store of sessions that processes share: each change is kept before the next begins, and of two processes that go on with the same
 * session one wins.
 *
 * A session is a small head, replaced by compare-and-set, and parts that are written once: its messages and calls. No part may
 * be larger than 1 MiB. Decisions about a session are kept when it goes on, or by `save`. A session that was running when its
 * process ended opens as it was kept last: calls that had begun are uncertain. After a restart of the store, which may have
 * brought back an older state, calls that were approved or not begun need a decision again.
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

  /** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
  constructor(options: SessionStoreOptions) {
    const { store, ttlMs, key } = checkOptions(
      sessionStoreOptions,
      options,
      'options of a store of sessions',
    );
    this.#store = store;
    this.#ttlMs = ttlMs;
    // A copy of the key: the caller may wipe or reuse its own.
    this.#key = key && Uint8Array.from(key);
  }

  /** Returns a new session that is kept from its first run on. @throws ToolError `INVALID_ARGUMENT` as `Session.create` does. */
  create(options: NewSession = {}): Session {
    return keptSession(newSessionData(options), this.#keepAfter(undefined));
  }

  /** Opens a session as it was kept last; `undefined` for an unknown id. @throws ToolError `INVALID_SNAPSHOT`, `STATE_UNAVAILABLE`. */
  async open(id: string): Promise<Session | undefined> {
    assertId(id);
    for (let before: string | undefined; ;) {
      // Before anything is read: what is written later is refused if the store restarts in between.
      const { identity, time } = await this.#store.now();
      const head = await this.#store.get(headKey(id));
      if (head === undefined) return undefined;
      const read = await this.#read(id, head);
      if (read !== undefined) {
        const { data, parts, identity: kept } = read;
        return keptSession(
          kept === identity ? data : asDecidedElsewhere(data, kept, identity, time),
          this.#keepAfter({ head, identity, parts, renewedAt: -Infinity }),
        );
      }
      // A part goes when another process has kept the session since: then the head is another one, too.
      if (head === before) throw refused('all parts of the session', 'a head that names others');
      before = head;
    }
  }

  /** Forgets a session; a run of it that is under way ends with `STALE_SESSION`. @throws ToolError `STATE_UNAVAILABLE`. */
  async delete(id: string): Promise<void> {
    assertId(id);
    for (;;) {
      const head = await this.#store.get(headKey(id));
      if (head === undefined) return;
      if (!(await this.#store.compareAndSet(headKey(id), head, undefined))) continue;
      return this.#drop(
        id,
        partsIn(parsed(head)).filter((part) => typeof part === 'string'),
      );
    }
  }

  /** Returns what keeps the next state of a session. @throws ToolError `STALE_SESSION` when another process kept it since. */
  #keepAfter(before: Kept | undefined): Keep {
    return async (data) => {
      try {
        const kept = await this.#keep(data, before);
        if (kept !== undefined) return this.#keepAfter(kept);
      } catch (error) {
        if (!isRestarted(error)) throw error;
        throw stale(
          data,
          'it was read',
          'a store that restarted since',
          'Open it again: calls that were approved and not run need approval again.',
          'restarted',
        );
      }
      throw before === undefined
        ? stale(data, 'it is new to the store', 'one of this id', 'Open it, or take another id.')
        : stale(
            data,
            'it was read',
            'one that was changed or deleted since',
            'Open it again, and decide again.',
          );
    };
  }

  /** Writes the parts that are new, and then the head. @returns `undefined` when the head is another one by now. */
  async #keep(data: SessionData, before: Kept | undefined): Promise<Kept | undefined> {
    const { id } = data;
    const ttlMs = this.#ttlMs;
    const now = before === undefined || ttlMs !== undefined ? await this.#store.now() : undefined;
    const identity = before?.identity ?? now!.identity;
    const parts = new Map<Part, Reference>();
    const written: Reference[] = [];
    const write = async (key: string, from: string | undefined, text: string, lives: number) =>
      this.#store
        .compareAndSet(key, from, text, { identity, ...(ttlMs && { ttlMs: lives * ttlMs }) })
        .catch(explained);
    const packed = await mapParts(writeSnapshot(data), async (part) => {
      const known = before?.parts.get(part as Part);
      const text = known === undefined ? JSON.stringify(part) : '';
      if (known === undefined && text.length <= INLINE) return part;
      const reference = known ?? `${randomUUID().replaceAll('-', '').slice(16)}${digestIn(text)}`;
      parts.set(part as Part, reference);
      if (known !== undefined) return known;
      written.push(reference);
      await write(partKey(id, reference), undefined, text, 2);
      return reference;
    });
    // Parts live twice as long as a head, and begin again after one life: so they outlive every head that names them.
    const isOld = ttlMs !== undefined && now!.time - (before?.renewedAt ?? now!.time) >= ttlMs;
    if (isOld)
      await Promise.all(
        [...parts.values()].map((each) => this.#store.expire(partKey(id, each), 2 * ttlMs)),
      );
    const head = JSON.stringify(signed({ ...packed, identity }, this.#key));
    if (!(await write(headKey(id), before?.head, head, 1))) {
      await this.#drop(id, written);
      return undefined;
    }
    const named = new Set(parts.values());
    await this.#drop(
      id,
      [...(before?.parts.values() ?? [])].filter((each) => !named.has(each)),
    );
    const renewedAt = before === undefined || isOld ? (now?.time ?? 0) : before.renewedAt;
    return Object.freeze({ head, identity, parts, renewedAt });
  }

  /** Lets parts go that no head names any more; a process that reads them at the moment can read on. Nothing depends on it. */
  async #drop(id: string, references: readonly Reference[]): Promise<void> {
    await Promise.all(
      references.map((each) => this.#store.expire(partKey(id, each), LEAD_MS)),
    ).catch(() => undefined);
  }

  /** @returns `undefined` when a part is gone. @throws ToolError `INVALID_SNAPSHOT` for a head or part that was changed. */
  async #read(
    id: string,
    head: string,
  ): Promise<(Pick<Kept, 'identity' | 'parts'> & { readonly data: SessionData }) | undefined> {
    const { identity, ...packed } = assertSigned(parsed(head), this.#key);
    let isWhole = true;
    const snapshot = await mapParts(packed, async (part) => {
      if (typeof part !== 'string') return part;
      const text = await this.#store.get(partKey(id, part));
      if (text === undefined) isWhole = false;
      else if (digestIn(text) !== part.slice(16))
        throw refused('the parts that the head names', 'others');
      return parsed(text ?? '');
    });
    if (!isWhole) return undefined;
    const data = readSnapshot(snapshot);
    if (data.id !== id || typeof identity !== 'string')
      throw refused(`the session ${id}`, 'another under its key');
    const references = partsIn(packed);
    const parts = partsIn({ ...data.chat }).flatMap((part, at): [Part, Reference][] =>
      typeof references[at] === 'string' ? [[part as Part, references[at]]] : [],
    );
    return { data, identity, parts: new Map(parts) };
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns a snapshot, or the head of one, with other values for its parts. */
async function mapParts(
  fields: Fields,
  change: (part: unknown) => Promise<unknown>,
): Promise<Fields> {
  const each = (list: unknown) => (Array.isArray(list) ? Promise.all(list.map(change)) : list);
  const { messages, offered, openTurn } = fields;
  return {
    ...fields,
    messages: await each(messages),
    offered: await change(offered),
    ...(isPlainObject(openTurn) && {
      openTurn: {
        ...openTurn,
        message: await change(openTurn['message']),
        calls: await each(openTurn['calls']),
      },
    }),
  };
}

/** Returns the parts of a snapshot, or the references of a head, in an order that both have. */
function partsIn(fields: unknown): readonly unknown[] {
  const { messages, offered, openTurn } = (fields ?? {}) as Fields;
  const { message, calls } = (openTurn ?? {}) as Fields;
  return [[offered], [message], messages, calls].flatMap((list) =>
    Array.isArray(list) ? (list as readonly unknown[]) : [],
  );
}

/** Returns the data as they must be taken in a store that was restarted: what is decided then counts in the store that is there now. */
function asDecidedElsewhere(
  data: SessionData,
  kept: string,
  identity: string,
  now: number,
): SessionData {
  const asked = withDecisionsAskedAgain(data, now);
  return data.storeIdentity === kept ? Object.freeze({ ...asked, storeIdentity: identity }) : asked;
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

/** Returns what a text says; nothing for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Says of a message or result that is too large for a store what to do about it. */
function explained(error: unknown): never {
  if (!isToolError(error, 'LIMIT_EXCEEDED')) throw error;
  throw new ToolError(
    'LIMIT_EXCEEDED',
    expectedGot(
      'messages and results of at most 1 MiB each',
      'a larger one',
      'Keep files and images apart: give the engine a BlobStore as blobs. Shorten large results with maxResultBytes.',
    ),
    { cause: error },
  );
}

function stale(
  { id, rev }: SessionData,
  expected: string,
  got: string,
  advice: string,
  reason?: string,
): ToolError {
  return new ToolError(
    'STALE_SESSION',
    expectedGot(`the session ${id} as ${expected}`, got, advice),
    { details: { id, rev, ...(reason !== undefined && { reason }) } },
  );
}

function refused(expected: string, got: string): ToolError {
  return new ToolError(
    'INVALID_SNAPSHOT',
    `The session is refused:\n  ${expectedGot(expected, got, 'Its keys in the store were changed by something else: delete it.')}`,
  );
}
