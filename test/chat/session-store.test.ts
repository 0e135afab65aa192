import { describe, expect, it } from 'vitest';
import type { Session} from '../../src/chat.js';
import { SessionStore } from '../../src/chat.js';
import { ToolError } from '../../src/index.js';
import { MemoryStateStore, type StateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';
import { call, codeOf, codeOfThrown, newCase } from './session-cases.js';
import { World } from './session-world.js';

/** A memory whose operations can be watched and spoiled. */
function spied(before: (operation: string, key: string) => void | Promise<void>, shared = new MemoryStateStore()): { readonly store: StateStore; readonly shared: MemoryStateStore; readonly keys: Map<string, string> } {
  const keys = new Map<string, string>();
  const store = Object.create(shared) as StateStore;
  store.get = async (key) => (await before('get', key), shared.get(key));
  store.expire = async (key, ttlMs) => (await before('expire', key), shared.expire(key, ttlMs));
  store.compareAndSet = async (key, expected, next, options) => {
    await before('compareAndSet', key);
    const done = await shared.compareAndSet(key, expected, next, options);
    if (done && next === undefined) keys.delete(key);
    else if (done) keys.set(key, next!);
    return done;
  };
  return { store, shared, keys };
}

const fine = () => undefined;
/** Long, and of characters with two halves: after `filler` of one length or another, a cut falls between them. */
const long = (of: number, filler = 'x'): string => `${filler}${'😀'.repeat(of / 2)}`;

describe('a session in a store', () => {
  it('opens as it was kept last', async () => {
    const { store, keys } = spied(fine);
    const sessions = new SessionStore({ store });
    const { engine } = newCase([{ calls: [call('m', 'manual')] }, 'done']);
    expect(await sessions.open('s')).toBeUndefined();
    const created = sessions.create({ id: 's', context: { user: 'ada' } });
    expect(keys.size).toBe(0);
    const { session } = await created.start(engine, 'Go');
    const opened = (await sessions.open('s'))!;
    expect(opened.toJSON()).toEqual(session.toJSON());
    const { session: last } = await opened.submitToolResult('m', 1).session.continue(engine);
    expect((await new SessionStore({ store }).open('s'))!.toJSON()).toEqual(last.toJSON());
    expect([...keys.keys()]).toEqual(['session/s']);
  });

  it('keeps what was said and decided before the model is asked', async () => {
    const { store } = spied(fine);
    const sessions = new SessionStore({ store });
    const seen: unknown[] = [];
    const look = async () => seen.push(((await sessions.open('s'))!.toJSON() as unknown as { messages: unknown[] }).messages.length);
    await sessions.create({ id: 's' }).start({ model: async function* () {
      await look();
      yield { type: 'answer', message: { role: 'assistant', content: 'hello' }, finishReason: 'stop' };
    } }, 'Hi');
    expect(seen).toEqual([1]);
  });

  it('of any length is kept in parts, which are gone when it changes', async () => {
    for (const length of [200_000, 300_000, 300_001, 900_000, 2_000_000]) {
      for (const filler of ['', 'x']) {
        const { store, keys } = spied(fine);
        const sessions = new SessionStore({ store });
        const { engine } = newCase(['hello', 'again']);
        const { session } = await sessions.create({ id: 's', context: long(length, filler) }).start(engine, 'Go');
        const size = JSON.stringify(session).length;
        expect(keys.size).toBe(size <= 300_000 ? 1 : 1 + Math.ceil(size / 300_000));
        const opened = (await sessions.open('s'))!;
        expect(opened.toJSON()).toEqual(session.toJSON());
        await opened.reply(engine, 'More');
        expect(keys.size).toBeLessThanOrEqual(2 + Math.ceil(size / 300_000));
        await sessions.delete('s');
        expect([...keys.keys()]).toEqual([]);
        expect(await sessions.open('s')).toBeUndefined();
      }
    }
  });

  it('opens whole while somebody else writes it, as it was or as it is', async () => {
    const shared = new MemoryStateStore();
    const { engine } = newCase(['a', 'b', 'c', 'd']);
    const writer = new SessionStore({ store: shared });
    let { session } = await writer.create({ id: 's', context: long(700_000) }).start(engine, 'Go');
    for (const at of [1, 2, 3]) {
      let operations = 0;
      // Between the reading of the session's key and of its parts, another process changes it.
      const { store } = spied(async () => {
        operations += 1;
        if (operations === at) ({ session } = await session.reply(engine, 'More'));
      }, shared);
      const opened = (await new SessionStore({ store }).open('s'))!;
      expect([at, opened.toJSON()]).toEqual([at, session.toJSON()]);
    }
  });

  it('leaves no parts behind when somebody else was faster', async () => {
    const { store, keys } = spied(fine);
    const sessions = new SessionStore({ store });
    const { engine } = newCase([{ calls: [call('m', 'manual')] }, 'done']);
    await sessions.create({ id: 's', context: long(700_000) }).start(engine, 'Go');
    const [one, other] = [(await sessions.open('s'))!, (await sessions.open('s'))!];
    // Even if both decide the same.
    const codes = await Promise.all([one, other].map((each) => codeOf(each.submitToolResult('m', 1).session.save())));
    expect(codes.sort()).toEqual(['STALE_SESSION', 'fine']);
    expect((await sessions.open('s'))!.pending).toEqual([]);
    await sessions.delete('s');
    expect([...keys.keys()]).toEqual([]);
  });

  it('lives as long as it was told to, its parts with it', async () => {
    const clock = new ManualClock(1_000_000);
    const sessions = new SessionStore({ store: new MemoryStateStore({ clock }), ttlMs: 1000 });
    const { engine } = newCase(['hello', 'again']);
    const { session } = await sessions.create({ id: 's', context: long(700_000) }).start(engine, 'Go');
    clock.advance(900);
    await session.reply(engine, 'More');
    clock.advance(999);
    expect((await sessions.open('s'))!.messages).toHaveLength(4);
    clock.advance(1);
    expect(await sessions.open('s')).toBeUndefined();
  });

  it('that is deleted ends for those who still have it', async () => {
    const sessions = new SessionStore({ store: new MemoryStateStore() });
    const { engine } = newCase([{ calls: [call('m', 'manual')] }, 'done']);
    const { session } = await sessions.create({ id: 's' }).start(engine, 'Go');
    await sessions.delete('s');
    await sessions.delete('s');
    expect(await codeOf(session.submitToolResult('m', 1).session.continue(engine))).toBe('STALE_SESSION');
  });

  it('signed with a key opens with the same key only, and unchanged', async () => {
    const { store, shared, keys } = spied(fine);
    const key = new Uint8Array(32).fill(7);
    const sessions = new SessionStore({ store, key });
    await sessions.create({ id: 's' }).start(newCase(['hello']).engine, 'Go');
    key.fill(0); // The store has its own.
    expect((await sessions.open('s'))!.messages).toHaveLength(2);
    expect(await codeOf(new SessionStore({ store, key: new Uint8Array(32) }).open('s'))).toBe('INVALID_SNAPSHOT');
    const text = keys.get('session/s')!;
    await shared.compareAndSet('session/s', text, text.replace('hello', 'hallo'));
    expect(await codeOf(sessions.open('s'))).toBe('INVALID_SNAPSHOT');
  });

  it('is refused when something else stands under its key', async () => {
    const sessions = new SessionStore({ store: new MemoryStateStore() });
    const { session } = await sessions.create({ id: 'a' }).start(newCase(['hello']).engine, 'Go');
    const text = JSON.stringify(session);
    for (const [at, junk] of ['', 'null', '5', '[]', '{}', text.slice(0, -1), text.slice(0, 40), text, `parts:2:${'a'.repeat(36)}`, 'parts:9999999:x', '{"parts":1e9}'].entries()) {
      const store = new MemoryStateStore();
      await store.compareAndSet('session/b', undefined, junk);
      expect([at, await codeOf(new SessionStore({ store }).open('b'))]).toEqual([at, 'INVALID_SNAPSHOT']);
    }
  });

  it('is refused with wrong options and ids', async () => {
    const store = new MemoryStateStore();
    const wrong = [null, {}, { store: {} }, { store, ttlMs: 0 }, { store, ttlMs: NaN }, { store, ttlMs: '1' }, { store, key: new Uint8Array(31) }, { store, key: 'x'.repeat(32) }, { store, migrations: { 0: 1 } }, { store, prefix: 'x' }];
    expect(wrong.map((options) => codeOfThrown(() => new SessionStore(options as never)))).toEqual(wrong.map(() => 'INVALID_ARGUMENT'));
    const sessions = new SessionStore({ store });
    for (const id of ['', 'a/b', 'a'.repeat(129), 7, undefined, null]) {
      expect(await codeOf(sessions.open(id as never))).toBe('INVALID_ARGUMENT');
      expect(await codeOf(sessions.delete(id as never))).toBe('INVALID_ARGUMENT');
    }
  });
});

describe('a store that fails in the middle of a run', () => {
  it('lets no further call begin; what had begun is uncertain when it is opened again, and nothing runs twice', async () => {
    let runs = 0;
    for (let failAt = 1; failAt < 40; failAt += 1) {
      const world = new World();
      const shared = new MemoryStateStore();
      const calls = [call('a', 'auto'), call('b', 'slow'), call('c', 'auto')];
      let writes = 0;
      let begunBefore: number | undefined;
      const { store } = spied((operation) => {
        if (operation !== 'compareAndSet') return;
        writes += 1;
        if (writes < failAt) return;
        begunBefore ??= world.inputs.length;
        throw new ToolError('STATE_UNAVAILABLE', 'Expected an answer of the store, found none');
      }, shared);
      const code = await codeOf(new SessionStore({ store }).create({ id: 's' }).start(newCase([{ calls }, 'done'], {}, world).engine, 'Go'));
      if (begunBefore === undefined) break;
      runs += 1;
      expect([failAt, code, world.inputs.length]).toEqual([failAt, 'STATE_UNAVAILABLE', begunBefore]);
      const opened = await new SessionStore({ store: shared }).open('s');
      if (opened === undefined) continue;
      const known = JSON.stringify(opened);
      for (const [id] of world.starts) expect([failAt, id, opened.pending.some(({ callId }) => callId === id) || known.includes(`{"did":"${id}"}`)]).toEqual([failAt, id, true]);
      let session: Session = opened;
      for (const { callId } of opened.pending) ({ session } = session.submitToolResult(callId, 'looked it up'));
      const { session: last } = await session.continue(newCase(opened.messages.length === 1 && (opened.toJSON() as { openTurn?: unknown }).openTurn === undefined ? [{ calls }, 'done'] : ['done'], {}, world).engine);
      expect(last.status).toBe('completed');
      expect([...world.starts.values()].every((starts) => starts === 1)).toBe(true);
    }
    expect(runs).toBeGreaterThan(8);
  });

  it('leaves the session as it was for who has it: it can go on when the store is back', async () => {
    let broken = false;
    const { store } = spied((operation) => {
      if (broken && operation === 'compareAndSet') throw new ToolError('STATE_UNAVAILABLE', 'Expected an answer of the store, found none');
    });
    const { engine, world } = newCase([{ calls: [call('p', 'pay')] }, 'done']);
    const { session } = await new SessionStore({ store }).create({ id: 's' }).start(engine, 'Go');
    const approved = session.approve('p').session;
    broken = true;
    expect(await codeOf(approved.continue(engine))).toBe('STATE_UNAVAILABLE');
    expect(world.starts.size).toBe(0);
    broken = false;
    expect((await approved.continue(engine)).session.status).toBe('completed');
  });
});
