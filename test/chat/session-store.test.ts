import { describe, expect, it } from 'vitest';
import { Session, SessionStore } from '../../src/chat.js';
import { ToolError, ToolExecutor } from '../../src/index.js';
import { MemoryStateStore, type StateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';
import { call, codeOf, newCase } from './session-cases.js';
import { ListedStore } from '../state/listed-store.js';
import { WRITES, watched, type Operation } from './session-stores.js';
import { newExecutor, World } from './session-world.js';

/** Returns a memory store whose operations a test can observe and change. */
function spied(
  before: (operation: Operation) => void | Promise<void>,
  shared = new MemoryStateStore(),
): { readonly store: StateStore; readonly shared: MemoryStateStore } {
  return {
    shared,
    store: watched(shared, async (operation, _given, go) => (await before(operation), go())),
  };
}

/** Parts that no head refers to are kept for a minute, so a process can finish reading them. */
const GONE_MS = 60_000;
const namesIn = async (store: ListedStore): Promise<readonly string[]> =>
  (await store.list('session')).map((key) => key.split('/').slice(0, 2).join('/'));

/** Returns long text made of surrogate pairs. `filler` shifts the text so that a cut splits a pair. */
const long = (of: number, filler = 'x'): string => `${filler}${'😀'.repeat(of / 2)}`;

it('a session opens in its last saved state', async () => {
  const store = new ListedStore();
  const sessions = new SessionStore({ store });
  const { engine } = newCase([{ calls: [call('m', 'manual')] }, 'done']);
  expect(await sessions.open('s')).toBeUndefined();
  const created = sessions.create({ id: 's', context: { user: 'ada' } });
  expect(store.size).toBe(0);
  const { session } = await created.start(engine, 'Go');
  const opened = (await sessions.open('s'))!;
  expect(opened.toJSON()).toEqual(session.toJSON());
  const { session: last } = await opened.submitToolResult('m', 1).session.continue(engine);
  expect((await new SessionStore({ store }).open('s'))!.toJSON()).toEqual(last.toJSON());
  expect(await namesIn(store)).toEqual(['session/s']);
});

it('a session with long messages is stored completely, and deleting the session leaves nothing in the store', async () => {
  for (const length of [1_000, 200_000, 400_000]) {
    for (const filler of ['', 'x']) {
      const clock = new ManualClock(1_000_000);
      const store = new ListedStore({ clock });
      const sessions = new SessionStore({ store });
      const { engine } = newCase(['hello', 'again', long(length)]);
      const { session } = await sessions
        .create({ id: 's', context: long(length, filler) })
        .start(engine, 'Go');
      expect((await sessions.open('s'))!.toJSON()).toEqual(session.toJSON());
      for (const text of ['More', 'All of it'])
        await (await sessions.open('s'))!.reply(engine, text);
      expect((await sessions.open('s'))!.messages).toHaveLength(6);
      clock.advance(GONE_MS);
      expect(await namesIn(store)).toEqual(['session-part/s', 'session/s']);
      await sessions.delete('s');
      expect(await sessions.open('s')).toBeUndefined();
      clock.advance(GONE_MS);
      expect(await store.list('s')).toEqual([]);
    }
  }
});

it('a session and its parts expire after ttlMs', async () => {
  const clock = new ManualClock(1_000_000);
  const store = new ListedStore({ clock });
  const sessions = new SessionStore({ store, ttlMs: 1000 });
  const { engine } = newCase(['hello', 'again']);
  const { session } = await sessions
    .create({ id: 's', context: long(300_000) })
    .start(engine, 'Go');
  clock.advance(900);
  await session.reply(engine, 'More');
  clock.advance(999);
  const opened = (await sessions.open('s'))!;
  expect(opened.messages).toHaveLength(4);
  clock.advance(1);
  expect(await sessions.open('s')).toBeUndefined();
  expect(await codeOf(opened.reply(engine, 'Too late'))).toBe('STALE_SESSION');
  clock.advance(GONE_MS);
  expect(await store.list('s')).toEqual([]);
});

it("stored parts don't expire while a session refers to them", async () => {
  const clock = new ManualClock(1_000_000);
  const sessions = new SessionStore({ store: new MemoryStateStore({ clock }), ttlMs: 1000 });
  const { engine } = newCase(Array.from({ length: 8 }, () => long(1000)));
  let { session } = await sessions.create({ id: 's' }).start(engine, 'Go');
  for (let turn = 0; turn < 7; turn += 1) {
    clock.advance(999);
    ({ session } = await session.reply(engine, long(1000)));
  }
  clock.advance(999);
  expect((await sessions.open('s'))!.toJSON()).toEqual(session.toJSON());
});

it('each message is written to the store only once', async () => {
  const written: string[] = [];
  const store = watched(new MemoryStateStore(), (operation, given, go) => {
    if (operation === 'compareAndSet' && String(given[0]).startsWith('session-part/'))
      written.push(String(given[2]));
    return go();
  });
  const said = 'x'.repeat(5_000);
  let session = new SessionStore({ store }).create({ id: 's' });
  const answers = Array.from({ length: 20 }, (_, turn) => [
    { text: `${said}${turn}`, calls: [call(`c${turn}`, 'auto')] },
    `${turn}`,
  ]).flat();
  const { engine } = newCase(answers, {}, new World(said));
  for (let turn = 0; turn < 20; turn += 1)
    ({ session } = await session.reply(engine, `${turn}${said}`));
  expect(session.messages).toHaveLength(80);
  // The last answer of each turn is short, so it stays in the head.
  expect(written.length).toBe(60);
  expect(new Set(written).size).toBe(60);
});

it('a message over 1 MiB is refused with advice', async () => {
  const sessions = new SessionStore({ store: new MemoryStateStore() });
  const { engine } = newCase(['hello']);
  await expect(
    sessions.create({ id: 's' }).start(engine, 'x'.repeat(1_100_000)),
  ).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
    message: expect.stringContaining('make images smaller'),
  });
});

describe('a session in a store, signed with a key', () => {
  const KEY = new Uint8Array(32).fill(7);
  /** Returns everything that a store contains for a session with long and short parts. */
  async function written(key?: Uint8Array) {
    const store = new ListedStore();
    const { engine } = newCase([
      { calls: [call('a', 'auto'), call('p', 'pay'), call('m', 'manual')] },
      'done',
    ]);
    const { session } = await new SessionStore({ store, ...(key && { key }) })
      .create({ id: 's' })
      .start(engine, long(1000));
    const saved = await session.approve('p').session.save();
    const head = (await store.get('session/s'))!;
    // Parts that no head refers to are kept for a minute.
    const keys = (await store.list('session')).filter(
      (each) => each === 'session/s' || head.includes(each.slice('session-part/s/'.length)),
    );
    const held = await Promise.all(
      keys.map(async (each) => [each, (await store.get(each))!] as const),
    );
    return { store, session: saved, held };
  }

  it('a signed session opens only with its key', async () => {
    const { store, session } = await written(KEY);
    const sessions = new SessionStore({ store, key: KEY });
    expect((await sessions.open('s'))!.toJSON()).toEqual(session.toJSON());
    expect(await codeOf(new SessionStore({ store, key: new Uint8Array(32) }).open('s'))).toBe(
      'INVALID_SNAPSHOT',
    );
    const unsigned = await written();
    expect(await codeOf(new SessionStore({ store: unsigned.store, key: KEY }).open('s'))).toBe(
      'INVALID_SNAPSHOT',
    );
  });

  it('a signed session with a changed or missing part is refused', async () => {
    const { held } = await written(KEY);
    const other = await written(KEY);
    expect(held.length).toBeGreaterThan(2);
    for (const [at, [key, text]] of held.entries()) {
      const others = [
        undefined,
        text.slice(0, -1),
        text.replace(/[a-z]/, 'é'),
        text.replace(/\d/, '7'),
        other.held[at]![1],
      ];
      for (const changed of others.filter((each) => each !== text)) {
        const store = new MemoryStateStore();
        for (const [each, value] of held)
          await store.compareAndSet(each, undefined, each === key ? changed : value);
        const opened = await codeOf(new SessionStore({ store, key: KEY }).open('s'));
        // The head of another session with this id has a valid signature, but its parts aren't here.
        expect([key, changed?.slice(0, 40), opened]).toEqual([
          key,
          changed?.slice(0, 40),
          key === 'session/s' && changed === undefined ? 'fine' : 'INVALID_SNAPSHOT',
        ]);
      }
    }
  });
});

it('if the store fails, no further calls start, and started calls become uncertain and never run twice', async () => {
  let runs = 0;
  for (let failAt = 1; failAt < 40; failAt += 1) {
    const world = new World();
    const shared = new MemoryStateStore();
    const calls = [call('a', 'auto'), call('b', 'slow'), call('c', 'auto')];
    let writes = 0;
    let begunBefore: number | undefined;
    const { store } = spied((operation) => {
      if (!WRITES.has(operation)) return;
      writes += 1;
      if (writes < failAt) return;
      begunBefore ??= world.inputs.length;
      throw new ToolError('STATE_UNAVAILABLE', 'Expected an answer of the store, got none.');
    }, shared);
    const code = await codeOf(
      new SessionStore({ store })
        .create({ id: 's' })
        .start(newCase([{ calls }, 'done'], {}, world).engine, 'Go'),
    );
    if (begunBefore === undefined) break;
    runs += 1;
    expect([failAt, code, world.inputs.length]).toEqual([failAt, 'STATE_UNAVAILABLE', begunBefore]);
    const opened = await new SessionStore({ store: shared }).open('s');
    if (opened === undefined) continue;
    const known = JSON.stringify(opened);
    for (const [id] of world.starts)
      expect([
        failAt,
        id,
        opened.pending.some(({ callId }) => callId === id) || known.includes(`{"did":"${id}"}`),
      ]).toEqual([failAt, id, true]);
    let session: Session = opened;
    for (const { callId } of opened.pending)
      ({ session } = session.submitToolResult(callId, 'looked it up'));
    const { session: last } = await session.continue(
      newCase(
        opened.messages.length === 1 &&
          (opened.toJSON() as { openTurn?: unknown }).openTurn === undefined
          ? [{ calls }, 'done']
          : ['done'],
        {},
        world,
      ).engine,
    );
    expect(last.status).toBe('completed');
    expect([...world.starts.values()].every((starts) => starts === 1)).toBe(true);
  }
  expect(runs).toBeGreaterThan(8);
});

it("a run ends while the executor's store is unreachable, and its calls run once the store is back", async () => {
  let broken = false;
  const { store } = spied((operation) => {
    if (broken && operation !== 'now')
      throw new ToolError('STATE_UNAVAILABLE', 'Expected an answer of the store, got none.');
  });
  const world = new World();
  const executor = new ToolExecutor({
    registry: newExecutor(world).registry,
    policy: {
      decide: () => ({ verdict: 'allow', rule: 'all', reason: 'all may', danger: 'low' }),
    },
    store,
    budgets: [{ per: 'conversation', calls: 9 }],
  });
  const { engine } = newCase([{ calls: [call('a', 'auto')] }, 'done'], { executor }, world);
  broken = true;
  const lost = await Session.create().start(engine, 'Go');
  expect([lost.result.haltedReason, lost.session.status, lost.session.pending]).toEqual([
    'error',
    'idle',
    [],
  ]);
  expect(lost.result.metadata.error).toMatchObject({ code: 'STATE_UNAVAILABLE' });
  expect(world.starts.size).toBe(0);
  broken = false;
  const { session } = await lost.session.continue(engine);
  expect([session.status, world.starts.get('a')]).toEqual(['completed', 1]);
});
