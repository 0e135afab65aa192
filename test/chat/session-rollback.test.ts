import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Session, SessionStore, type ScriptedAnswer } from '../../src/chat.js';
import { isToolError } from '../../src/index.js';
import { MemoryStateStore, RedisStateStore, type StateStore } from '../../src/state.js';
import { eventually, RedisServer, redisPresent, warnIfNoRedis } from '../state/redis-server.js';
import { call, codeOf, newCase } from './session-cases.js';
import { RestartingStore } from '../execution/fixtures/restarting-store.js';
import { ManualClock } from '../../src/testing.js';
import { newExecutor, World } from './session-world.js';

const kindsOf = (session: Session | undefined): readonly string[] =>
  (session?.pending ?? []).map(({ kind, callId }) => `${kind} ${callId}`);

/**
 * Returns a session with two approved calls, a denied call, and a manual call with a result. Its store
 * can restart with the data saved at that time.
 */
async function rolledBack() {
  const server = new RestartingStore(new ManualClock(1_000_000));
  const sessions = new SessionStore({ store: server });
  const made = newCase([
    { calls: [call('p', 'pay'), call('q', 'pay'), call('r', 'pay'), call('m', 'manual')] },
    'done',
  ]);
  let { session } = await sessions.create({ id: 's' }).start(made.engine, 'Go');
  session = session
    .approve('p')
    .session.approve('q', { input: { of: 'q', amount: 5 } })
    .session.deny('r').session;
  session = await session.submitToolResult('m', 1).session.save();
  server.save();
  return { ...made, server, sessions, session };
}

it('approved calls need another approval after the store was rolled back', async () => {
  const { server, sessions, session, engine, world } = await rolledBack();
  await session.continue(engine);
  expect([...world.starts]).toEqual([
    ['p', 1],
    ['q', 1],
  ]);
  await server.restart('saved');
  const opened = (await sessions.open('s'))!;
  expect(kindsOf(opened)).toEqual(['approval p', 'approval q']);
  expect(await codeOf(opened.continue(engine))).toBe('INVALID_STATE');
  expect([...world.starts.values()]).toEqual([1, 1]);
  // The denial and the result are kept, and the approval must be repeated.
  expect(opened.deny('r')).toMatchObject({ ok: true, applied: false });
  expect(opened.approve('p')).toMatchObject({ ok: true, applied: true });
  // Another process continues, because this process remembers which calls it ran.
  const elsewhere = newCase(['done'], {}, world);
  const { session: last } = await opened
    .deny('q', 'it was paid')
    .session.approve('p')
    .session.continue(elsewhere.engine);
  expect([last.status, world.starts.get('p'), world.starts.get('q')]).toEqual(['completed', 2, 1]);
  expect((await sessions.open('s'))!.toJSON()).toEqual(last.toJSON());
});

it.each([0, 1])(
  'an approval is requested only once after the shared store restarts (approvals before: %s)',
  async (approved) => {
    const server = new RestartingStore(new ManualClock(1_000_000));
    const sessions = new SessionStore({ store: server });
    const world = new World();
    const engine = (...answers: readonly ScriptedAnswer[]) =>
      newCase(answers, { executor: newExecutor(world, undefined, server) }).engine;
    const { session } = await sessions
      .create({ id: 's' })
      .start(engine({ calls: [call('c1', 'pay')] }), 'Pay');
    if (approved === 1) await session.approve('c1').session.save();
    await server.restart('all');
    const opened = (await sessions.open('s'))!;
    expect(kindsOf(opened)).toEqual(['approval c1']);
    const saved = await opened.approve('c1').session.save();
    expect((await saved.continue(engine('Paid.'))).session.status).toBe('completed');
    expect(world.starts.get('c1')).toBe(1);
  },
);

it("calls that hadn't started are uncertain after the store was rolled back", async () => {
  for (const kind of ['auto', 'idempotent'] as const) {
    const server = new RestartingStore(new ManualClock(1_000_000));
    const sessions = new SessionStore({ store: server });
    const { engine, world } = newCase([{ calls: [call('a', kind), call('b', 'manual')] }, 'done']);
    await sessions.create({ id: 's' }).start(engine, 'Go', {
      onCheckpoint: (session) => {
        const { openTurn } = session.toJSON() as {
          openTurn?: { calls: { progress: { state: string } }[] };
        };
        if (openTurn?.calls.every(({ progress }) => progress.state === 'not_started'))
          server.save();
      },
    });
    await server.restart('saved');
    const opened = (await sessions.open('s'))!;
    expect(kindsOf(opened)).toEqual(['uncertain a', 'uncertain b']);
    const { session } = await opened
      .submitToolResult('b', 1)
      .session.submitToolResult('a', 'looked it up')
      .session.continue(engine);
    expect([session.status, world.starts.get('a')]).toEqual(['completed', 1]);
  }
});

it('a rollback of the store stops a run before its next call, with an error that says what to do', async () => {
  const { server, sessions, engine, session, world } = await rolledBack();
  let restarted = false;
  const onCheckpoint = async () => {
    if (!restarted) await server.restart('saved');
    restarted = true;
  };
  const error: unknown = await session
    .continue(engine, { onCheckpoint })
    .catch((reason: unknown) => reason);
  expect(isToolError(error, 'STALE_SESSION') && [error.details['reason'], error.message]).toEqual([
    'restarted',
    expect.stringContaining('Open it again'),
  ]);
  expect(world.starts.size).toBe(0);
  // The store also refuses to save a decision that was made on this session.
  expect(await codeOf(session.save())).toBe('STALE_SESSION');
  expect(kindsOf(await sessions.open('s'))).toEqual(['approval p', 'approval q']);
});

warnIfNoRedis('sessions in a Redis that restarts from an older snapshot');
describe.skipIf(!redisPresent)(
  'a Redis server that restarts from an older snapshot (skipped without redis-server)',
  () => {
    let server: RedisServer;
    const stores: StateStore[] = [];
    const connect = async (trusted = false) => {
      const store = await RedisStateStore.connect({
        url: server.url,
        timeoutMs: 5_000,
        ...(trusted && { identity: 'ours' }),
      });
      stores.push(store);
      await eventually(async () => (await store.now()).time > 0, 'Redis answers');
      return store;
    };
    beforeAll(async () => {
      server = await RedisServer.start();
    });
    afterAll(async () => {
      await Promise.all(stores.map((store) => store.close()));
      await server.stop();
    });

    it.each([false, true])(
      'an old process gets STALE_SESSION, and a new process requests approvals again (trusted store: %s)',
      async (trusted) => {
        const id = `s-${trusted}`;
        const world = new World();
        const old = new SessionStore({ store: await connect(trusted) });
        const { engine } = newCase(
          [{ calls: [call('p', 'pay'), call('q', 'pay')] }, 'done', 'done'],
          {},
          world,
        );
        const { session } = await old.create({ id }).start(engine, 'Go');
        const approved = await session.approve('p').session.save();
        expect(await server.command('SAVE')).toBe('+OK');
        const decided = await approved.approve('q').session.save();
        await server.kill();
        await server.restart();
        const store = await connect(trusted);
        const again = (await new SessionStore({ store }).open(id))!;
        expect(kindsOf(again)).toEqual(trusted ? ['approval q'] : ['approval p', 'approval q']);
        await eventually(
          async () => (await old.open(id)) !== undefined,
          'the old process is connected again',
        );
        expect(await codeOf(decided.continue(engine))).toBe('STALE_SESSION');
        expect(world.starts.size).toBe(0);
        const all = again.pending.reduce(
          (before, { callId }) => before.approve(callId).session,
          again,
        );
        expect((await all.continue(engine)).session.status).toBe('completed');
        expect([...world.starts.values()]).toEqual([1, 1]);
      },
    );
  },
);

describe('a signed snapshot', () => {
  const KEY = new Uint8Array(32).fill(9);
  let world: World;
  /** Returns the engine of one process. */
  const engineOf = (store: StateStore, answer: ScriptedAnswer) =>
    newCase([answer], { executor: newExecutor(world, undefined, store) }).engine;
  async function approvedSnapshot(store: StateStore): Promise<unknown> {
    world = new World();
    const { session } = await Session.create().start(
      engineOf(store, { calls: [call('c1', 'pay')] }),
      'Pay',
    );
    return JSON.parse(JSON.stringify(session.approve('c1').session.snapshot({ key: KEY })));
  }
  const read = (snapshot: unknown) => Session.fromJSON(snapshot, { key: KEY });

  it('a signed snapshot restored several times runs its approved call once if the executors share a store', async () => {
    const store = new MemoryStateStore();
    const snapshot = await approvedSnapshot(store);
    const runs = await Promise.all(
      [1, 2, 3].map(() => read(snapshot).continue(engineOf(store, 'Paid.'))),
    );
    expect(runs.map(({ session }) => kindsOf(session)).sort()).toEqual([
      [],
      ['uncertain c1'],
      ['uncertain c1'],
    ]);
    expect(world.starts.get('c1')).toBe(1);
    expect(kindsOf((await read(snapshot).continue(engineOf(store, 'Paid.'))).session)).toEqual([
      'uncertain c1',
    ]);
    expect(world.starts.get('c1')).toBe(1);
  });

  it("a signed snapshot's approved call needs another approval after the shared store restarted", async () => {
    const server = new RestartingStore(new ManualClock(1_000_000));
    const snapshot = await approvedSnapshot(server);
    server.save();
    expect((await read(snapshot).continue(engineOf(server, 'Paid.'))).session.status).toBe(
      'completed',
    );
    await server.restart('saved');
    const { session } = await read(snapshot).continue(engineOf(server, 'Paid.'));
    expect([kindsOf(session), world.starts.get('c1')]).toEqual([['approval c1'], 1]);
    expect(
      (await session.approve('c1').session.continue(engineOf(server, 'Paid.'))).session.status,
    ).toBe('completed');
    expect(world.starts.get('c1')).toBe(2);
  });
});
