import { createHash } from 'node:crypto';
import { ToolError } from '../../core/errors.js';
import type { StateStore } from '../../state/state-store.js';
import { assertId, newSessionData, type NewSession, type SessionData } from './session-data.js';
import { Session, type SessionKeeper } from './session.js';
import { readSnapshot, writeSnapshot, type ReadSnapshotOptions } from './snapshot.js';

export interface SessionStoreOptions extends ReadSnapshotOptions {
  readonly store: StateStore;
  /** How long a session lives after its last change, in milliseconds. @default for good */
  readonly ttlMs?: number;
}

/** Characters in one value of the store: at most three bytes each, so always below the store's 1 MiB. */
const PART = 300_000;

/** What stands under a session's key: the snapshot itself, or where its parts are. */
type Head = { readonly rev: number; readonly text: string } | { readonly rev: number; readonly digest: string; readonly parts: number };

/**
 * Sessions in a shared store: each change is kept before the next begins, and of two processes that go on with the same
 * session one wins.
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
  readonly #options: SessionStoreOptions;

  constructor(options: SessionStoreOptions) {
    this.#options = options;
  }

  /** A new session that is kept from its first change on. @throws ToolError `INVALID_ARGUMENT` as `Session.create` does. */
  create(options: NewSession = {}): Session {
    return Session.kept(newSessionData(options), this, undefined);
  }

  /** A session as it was kept last; `undefined` when there is none. @throws ToolError `INVALID_SNAPSHOT`, `STATE_UNAVAILABLE`. */
  async open(id: string): Promise<Session | undefined> {
    assertId(id);
    const token = await this.#options.store.get(keyOf(id));
    if (token === undefined) return undefined;
    const data = readSnapshot(parse(await this.#textOf(id, parse(token) as Head)), this.#options);
    if (data.id !== id) throw new ToolError('INVALID_SNAPSHOT', `Expected the session ${id}, found another under its key`);
    return Session.kept(data, this, token);
  }

  /** Forgets a session. @throws ToolError `STATE_UNAVAILABLE`. */
  async delete(id: string): Promise<void> {
    assertId(id);
    const { store } = this.#options;
    for (let token = await store.get(keyOf(id)); token !== undefined; token = await store.get(keyOf(id))) {
      if (await store.compareAndSet(keyOf(id), token, undefined)) return this.#dropParts(id, parse(token) as Head);
    }
  }

  async keep(data: SessionData, token: unknown): Promise<unknown> {
    const { store, key, ttlMs } = this.#options;
    const lifetime = ttlMs === undefined ? {} : { ttlMs };
    const before = token as string | undefined;
    const text = JSON.stringify(writeSnapshot(data, key));
    const head: Head = text.length <= PART ? { rev: data.rev, text } : { rev: data.rev, digest: createHash('sha256').update(text).digest('hex'), parts: Math.ceil(text.length / PART) };
    // The parts first: whoever finds the head finds all of them.
    if ('parts' in head) for (let at = 0; at < head.parts; at += 1) await store.compareAndSet(partKey(data.id, head.digest, at), undefined, text.slice(at * PART, (at + 1) * PART), lifetime);
    const next = JSON.stringify(head);
    if (!(await store.compareAndSet(keyOf(data.id), before, next, lifetime))) {
      throw new ToolError('STALE_SESSION', `Expected the session ${data.id} as it was read, found that it was changed since; open it again, and decide anew`, { details: { id: data.id, rev: data.rev } });
    }
    if (before !== undefined) await this.#dropParts(data.id, parse(before) as Head, 'parts' in head ? head.digest : undefined);
    return next;
  }

  async #textOf(id: string, head: Head): Promise<string> {
    if ('text' in head) return head.text;
    const parts: string[] = [];
    for (let at = 0; at < head.parts; at += 1) {
      const part = await this.#options.store.get(partKey(id, head.digest, at));
      if (part === undefined) throw new ToolError('STALE_SESSION', `Expected all parts of the session ${id}, found one missing: it was changed meanwhile; open it again`, { details: { id } });
      parts.push(part);
    }
    return parts.join('');
  }

  async #dropParts(id: string, head: Head, kept?: string): Promise<void> {
    if ('text' in head || head.digest === kept) return;
    const { store } = this.#options;
    for (let at = 0; at < head.parts; at += 1) {
      const key = partKey(id, head.digest, at);
      const part = await store.get(key);
      if (part !== undefined) await store.compareAndSet(key, part, undefined);
    }
  }
}

function keyOf(id: string): string {
  return `session/${id}`;
}

function partKey(id: string, digest: string, at: number): string {
  return `session-part/${id}/${digest}/${at}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ToolError('INVALID_SNAPSHOT', 'The snapshot is refused: expected JSON, found something else');
  }
}
