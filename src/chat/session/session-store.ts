import { randomUUID } from 'node:crypto';
import { ToolError } from '../../core/errors.js';
import { checkOptions } from '../../core/options.js';
import type { StateStore } from '../../state/state-store.js';
import { assertId, newSessionData, type NewSession, type SessionData } from './session-data.js';
import { sessionStoreOptions } from './session-options.js';
import { Session, type SessionKeeper } from './session.js';
import { readSnapshot, writeSnapshot, type ReadSnapshotOptions, type SignSnapshotOptions } from './snapshot.js';

export interface SessionStoreOptions extends ReadSnapshotOptions {
  readonly store: StateStore;
  /** How long a session lives after its last change, in milliseconds. @default for good */
  readonly ttlMs?: number;
}

/** Characters in one value of the store: at most three bytes each, so always below the store's 1 MiB. */
const PART_LENGTH = 300_000;
/** How much longer parts live than what points to them, in milliseconds. */
const PART_TTL_LEAD = 60_000;

/** What stands under a session's key is its snapshot, as JSON, or for long ones `parts:<how many>:<id of the parts>`. */
const IN_PARTS = /^parts:(\d{1,4}):([0-9a-f-]{36})$/;

/** The text under a session's key, and all that a later change must find there. */
type Token = string;

interface Parts {
  readonly count: number;
  readonly id: string;
}

/**
 * Sessions in a shared store: each change is kept before the next begins, and of two processes that go on with the same
 * session one wins.
 *
 * What is decided about a session is kept when it goes on, or by `save`. A session that was running when its process ended
 * opens as it was kept last: calls that had begun wait as uncertain.
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
export class SessionStore implements SessionKeeper {
  readonly #store: StateStore;
  readonly #ttlMs: number | undefined;
  readonly #reading: ReadSnapshotOptions;
  readonly #signing: SignSnapshotOptions;

  /** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
  constructor(options: SessionStoreOptions) {
    const { store, ttlMs, key, migrations } = checkOptions(sessionStoreOptions, options, 'options of a store of sessions');
    this.#store = store;
    this.#ttlMs = ttlMs;
    // A copy: the caller may wipe or reuse its own.
    this.#signing = key === undefined ? {} : { key: Uint8Array.from(key) };
    this.#reading = { ...this.#signing, ...(migrations && { migrations }) };
  }

  /** A new session that is kept from its first run on. @throws ToolError `INVALID_ARGUMENT` as `Session.create` does. */
  create(options: NewSession = {}): Session {
    return Session.kept(newSessionData(options), this, undefined);
  }

  /** A session as it was kept last; `undefined` when there is none. @throws ToolError `INVALID_SNAPSHOT`, `STATE_UNAVAILABLE`. */
  async open(id: string): Promise<Session | undefined> {
    assertId(id);
    for (let before: Token | undefined; ; ) {
      const token = await this.#store.get(keyOf(id));
      if (token === undefined) return undefined;
      const text = await this.#textOf(id, token);
      if (text !== undefined) return Session.kept(this.#read(id, text), this, token);
      // Parts go when the session changes: then there are others. Parts that go without that are lost.
      if (token === before) throw refused('all parts of the session', 'some of them missing');
      before = token;
    }
  }

  /** Forgets a session; a run of it that is under way ends with `STALE_SESSION`. @throws ToolError `STATE_UNAVAILABLE`. */
  async delete(id: string): Promise<void> {
    assertId(id);
    for (;;) {
      const token = await this.#store.get(keyOf(id));
      if (token === undefined) return;
      if (await this.#store.compareAndSet(keyOf(id), token, undefined)) return this.#dropParts(id, token);
    }
  }

  async keep(data: SessionData, token: unknown): Promise<unknown> {
    const before = token as Token | undefined;
    const next = await this.#writeParts(data.id, JSON.stringify(writeSnapshot(data, this.#signing)));
    if (await this.#store.compareAndSet(keyOf(data.id), before, next, this.#ttlMs === undefined ? {} : { ttlMs: this.#ttlMs })) {
      if (before !== undefined) await this.#dropParts(data.id, before);
      return next;
    }
    await this.#dropParts(data.id, next);
    const expected = before === undefined ? `no session ${data.id} in the store, found one; open it, or take another id` : `the session ${data.id} as it was read, found that it was changed since; open it again, and decide anew`;
    throw new ToolError('STALE_SESSION', `Expected ${expected}`, { details: { id: data.id, rev: data.rev } });
  }

  #read(id: string, text: string): SessionData {
    const data = readSnapshot(parse(text), this.#reading);
    if (data.id !== id) throw refused(`the session ${id}`, 'another under its key');
    return data;
  }

  /** Writes what is too long for one value, before anything points to it: whoever finds the token finds all of it. */
  async #writeParts(id: string, text: string): Promise<Token> {
    if (text.length <= PART_LENGTH) return text;
    const pieces = split(text);
    const partsId = randomUUID();
    const lifetime = this.#ttlMs === undefined ? {} : { ttlMs: this.#ttlMs + PART_TTL_LEAD };
    for (const [at, piece] of pieces.entries()) await this.#store.compareAndSet(partKey(id, partsId, at), undefined, piece, lifetime);
    return `parts:${pieces.length}:${partsId}`;
  }

  /** The snapshot; `undefined` when a part is missing. */
  async #textOf(id: string, token: Token): Promise<string | undefined> {
    const parts = partsOf(token);
    if (parts === undefined) return token;
    const pieces: string[] = [];
    for (let at = 0; at < parts.count; at += 1) {
      const piece = await this.#store.get(partKey(id, parts.id, at));
      if (piece === undefined) return undefined;
      pieces.push(piece);
    }
    return pieces.join('');
  }

  /** Nothing depends on it: parts that stay take room, and no more. */
  async #dropParts(id: string, token: Token): Promise<void> {
    const parts = partsOf(token);
    try {
      for (let at = 0; at < (parts?.count ?? 0); at += 1) {
        const key = partKey(id, parts!.id, at);
        const piece = await this.#store.get(key);
        if (piece !== undefined) await this.#store.compareAndSet(key, piece, undefined);
      }
    } catch {
      // The session is kept all the same.
    }
  }
}

/** Not between the halves of a character: stores take no half. */
function split(text: string): readonly string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length; ) {
    const last = text.charCodeAt(start + PART_LENGTH - 1);
    const end = start + PART_LENGTH - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
}

function keyOf(id: string): string {
  return `session/${id}`;
}

function partKey(id: string, partsId: string, at: number): string {
  return `session-part/${id}/${partsId}/${at}`;
}

function partsOf(token: Token): Parts | undefined {
  const [, count, id] = IN_PARTS.exec(token) ?? [];
  return count === undefined || id === undefined ? undefined : { count: Number(count), id };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refused('JSON', 'something else');
  }
}

function refused(expected: string, found: string): ToolError {
  return new ToolError('INVALID_SNAPSHOT', `The snapshot is refused: expected ${expected}, found ${found}`);
}
