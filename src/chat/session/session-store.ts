import { z } from 'zod';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { checkOptions, withMethods } from '../../core/options.js';
import { isRestarted } from '../../state/state-arguments.js';
import type { StateStore } from '../../state/state-store.js';
import {
  assertId,
  newSessionData,
  withDecisionsAskedAgain,
  type NewSession,
  type SessionData,
} from './session-data.js';
import { deltaOf, ITEM_LENGTH, SessionLogs, type LogEnd } from './session-log.js';
import { keptSession, type Keep, type Session } from './session.js';
import {
  readingFields,
  readSnapshot,
  writeSnapshot,
  type ReadSnapshotOptions,
} from './snapshot.js';

type SessionStoreOptions = ReadSnapshotOptions & {
  /** The store that keeps the sessions, the same for all processes that run them. */
  readonly store: StateStore;
  /** The lifetime of a session after its last change, in milliseconds. @default for good */
  readonly ttlMs?: number;
};

const sessionStoreOptions = z.strictObject({
  ...readingFields,
  store: withMethods<StateStore>(
    'a StateStore',
    'get',
    'compareAndSet',
    'expire',
    'now',
    'append',
    'read',
  ),
  ttlMs: z.number().int().min(1).optional(),
});
const LOG_ID = /^[0-9a-f-]{36}$/;

/** A session as it was kept or read last, and its place in the store. */
interface Kept {
  readonly data: SessionData;
  /** The store's identity when the session was read: what is written now is bound to it. */
  readonly identity: string;
  readonly end: LogEnd;
  /** The logs from the one that the session's key names to the one that holds the session: more than one where a process ended in between. */
  readonly trail: readonly string[];
}

/**
 * A store of sessions that processes share: each change is kept before the next begins, and of two processes that go on with the same
 * session one wins.
 *
 * Decisions about a session are kept when it goes on, or by `save`. A session that was running when its process ended
 * opens as it was kept last: calls that had begun are uncertain. After a restart of the store, which may have brought
 * back an older state, calls that were approved or not begun need a decision again.
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
  readonly #lifetime: { readonly ttlMs?: number };
  readonly #reading: ReadSnapshotOptions;
  readonly #logs: SessionLogs;

  /** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
  constructor(options: SessionStoreOptions) {
    const { store, ttlMs, key, migrations } = checkOptions(
      sessionStoreOptions,
      options,
      'options of a store of sessions',
    );
    this.#store = store;
    this.#lifetime = ttlMs === undefined ? {} : { ttlMs };
    this.#reading = migrations === undefined ? {} : { migrations };
    // A copy of the key: the caller may wipe or reuse its own.
    this.#logs = new SessionLogs({ store, ttlMs, key: key && Uint8Array.from(key) });
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
      const head = await this.#store.get(headOf(id));
      if (head === undefined) return undefined;
      const kept = await this.#read(id, head, identity);
      if (kept !== undefined) return keptSession(dataOf(kept, time), this.#keepAfter(kept));
      // A log goes when the session is written afresh: then there is another one. One that goes without that is lost.
      if (head === before) throw refused('the log of the session', 'none, or a part of it');
      before = head;
    }
  }

  /** Forgets a session; a run of it that is under way ends with `STALE_SESSION`. @throws ToolError `STATE_UNAVAILABLE`. */
  async delete(id: string): Promise<void> {
    assertId(id);
    for (;;) {
      const head = await this.#store.get(headOf(id));
      if (head === undefined) return;
      if (await this.#store.compareAndSet(headOf(id), head, undefined))
        return LOG_ID.test(head) ? this.#logs.end(id, head) : undefined;
    }
  }

  /** Returns what keeps the next state of a session. @throws ToolError `STALE_SESSION` when another process kept it since. */
  #keepAfter(before: Kept | undefined): Keep {
    return async (data) => {
      try {
        const kept = await (before === undefined ? this.#begin(data) : this.#append(data, before));
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

  /** @returns `undefined` when a log on the way is gone. */
  async #read(id: string, head: string, identity: string): Promise<Kept | undefined> {
    const trail: string[] = [];
    for (let logId = head; ;) {
      if (!LOG_ID.test(logId) || trail.includes(logId))
        throw refused('the id of a log under the key of the session', 'something else');
      trail.push(logId);
      const log = await this.#logs.read(id, logId);
      if (log === undefined) return undefined;
      if ('snapshot' in log) {
        const data = readSnapshot(log.snapshot, this.#reading);
        if (data.id !== id) throw refused(`the session ${id}`, 'another under its key');
        return Object.freeze({ data, identity, end: log.end, trail: Object.freeze(trail) });
      }
      logId = log.movedTo;
    }
  }

  async #begin(data: SessionData): Promise<Kept | undefined> {
    const { identity } = await this.#store.now();
    const end = await this.#logs.begin(data.id, snapshotOf(data), identity);
    if (
      await this.#store.compareAndSet(headOf(data.id), undefined, end.logId, {
        ...this.#lifetime,
        identity,
      })
    )
      return Object.freeze({ data, identity, end, trail: Object.freeze([end.logId]) });
    await this.#logs.drop(data.id, [end.logId]);
    return undefined;
  }

  async #append(data: SessionData, before: Kept): Promise<Kept | undefined> {
    const { end, identity } = before;
    const { ttlMs } = this.#lifetime;
    if (ttlMs !== undefined && !(await this.#store.expire(headOf(data.id), ttlMs)))
      return undefined;
    if (identity !== end.identity || this.#logs.isLong(end)) return this.#rewrite(data, before);
    const changes = JSON.stringify(deltaOf(before.data, data));
    if (changes.length > ITEM_LENGTH) return this.#rewrite(data, before);
    const next = await this.#logs.append(data.id, end, changes, identity);
    return next && Object.freeze({ ...before, data, end: next });
  }

  /** Writes a new log, and moves the old one to it in one step: every reader sees all of the session, before and after. */
  async #rewrite(data: SessionData, { identity, end, trail }: Kept): Promise<Kept | undefined> {
    const { id } = data;
    const next = await this.#logs.begin(id, snapshotOf(data), identity);
    if (!(await this.#logs.move(id, end, next))) {
      await this.#logs.drop(id, [next.logId]);
      return undefined;
    }
    const isNamed = await this.#name(id, trail, next.logId, identity);
    if (isNamed === false) return undefined;
    if (isNamed) await this.#logs.drop(id, trail);
    return Object.freeze({
      data,
      identity,
      end: next,
      trail: Object.freeze(isNamed ? [next.logId] : [...trail, next.logId]),
    });
  }

  /**
   * Lets the session's key name a new log instead of one of the trail.
   *
   * @returns `false` when it names none of them: the session was deleted, or another process has gone on with it; `undefined`
   * when the store does not answer, and readers find the new log by the trail.
   */
  async #name(
    id: string,
    trail: readonly string[],
    logId: string,
    identity: string,
  ): Promise<boolean | undefined> {
    try {
      for (;;) {
        const head = await this.#store.get(headOf(id));
        if (head === undefined || !trail.includes(head)) return false;
        if (
          await this.#store.compareAndSet(headOf(id), head, logId, { ...this.#lifetime, identity })
        )
          return true;
      }
    } catch (error) {
      if (isRestarted(error) || !isToolError(error, 'STATE_UNAVAILABLE')) throw error;
      return undefined;
    }
  }
}

/** Returns the data as they were kept, or, after a restart, with decisions asked again: what is decided then counts in the store that is there now. */
function dataOf({ data, identity, end }: Kept, now: number): SessionData {
  if (identity === end.identity) return data;
  const asked = withDecisionsAskedAgain(data, now);
  return data.storeIdentity === end.identity
    ? Object.freeze({ ...asked, storeIdentity: identity })
    : asked;
}

function headOf(id: string): string {
  return `session/${id}`;
}

function snapshotOf(data: SessionData): string {
  return JSON.stringify(writeSnapshot(data));
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
