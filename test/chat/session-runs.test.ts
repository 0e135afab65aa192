import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { scriptedModel, Session, SessionStore, type ChatEngine } from '../../src/chat.js';
import { AccessMode, defineTool, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { MemoryStateStore } from '../../src/state.js';
import { seededRandom } from '../../src/testing.js';
import { call, codeOf, newCase } from './session-cases.js';
import { watched } from './session-stores.js';
import { resultsIn } from './session-thread.js';
import { World } from './session-world.js';

/** Settles everything pending like a user, until the model has given its last answer. */
async function finish(from: Session, engine: ChatEngine): Promise<Session> {
  let session = from;
  for (
    let step = 0;
    step < 20 && !(session.status === 'completed' && session.haltedReason === 'completed');
    step += 1
  ) {
    for (const { kind, callId } of session.pending) {
      const decided =
        kind === 'approval' ? session.approve(callId) : session.submitToolResult(callId, 'by hand');
      if (!decided.ok) throw decided.error;
      ({ session } = decided);
    }
    ({ session } =
      session.messages.length === 0
        ? await session.start(engine, 'Go')
        : await session.continue(engine));
  }
  return session;
}

describe('a checkpoint', () => {
  it('no call starts if the checkpoint before it throws', async () => {
    for (let failAt = 1; failAt <= 12; failAt += 1) {
      const world = new World();
      let checkpoints = 0;
      let begunBefore = 0;
      const { engine } = newCase(
        [{ calls: [call('a', 'auto'), call('b', 'auto'), call('c', 'slow')] }, 'done'],
        {},
        world,
      );
      const onCheckpoint = () => {
        checkpoints += 1;
        if (checkpoints < failAt) return;
        if (checkpoints === failAt) begunBefore = world.inputs.length;
        throw new Error('the disk is full');
      };
      const code = await codeOf(Session.create().start(engine, 'Go', { onCheckpoint }));
      if (checkpoints < failAt) continue;
      expect([failAt, code]).toEqual([failAt, 'Error: the disk is full']);
      expect([failAt, world.inputs.length]).toEqual([failAt, begunBefore]);
    }
  });
});

describe('a call that was begun by a process that is gone', () => {
  async function uncertain(kind: 'auto' | 'idempotent') {
    const world = new World();
    const made = newCase([{ calls: [call('c', kind), call('m', 'manual')] }, 'done'], {}, world);
    let last: Session | undefined;
    await Session.create({ id: 's' }).start(made.engine, 'Go', {
      onCheckpoint: (session) =>
        void (
          session.pending.some((each) => each.kind === 'uncertain') &&
          session.pending.length === 1 &&
          (last ??= session)
        ),
    });
    return { ...made, session: Session.fromJSON(last!.toJSON()) };
  }

  it('a call of a process that died is uncertain until it gets a result', async () => {
    const { session, engine, world } = await uncertain('auto');
    expect(session.pending).toMatchObject([
      { kind: 'uncertain', callId: 'c', toolName: 'auto', input: { of: 'c' } },
    ]);
    expect(await codeOf(session.continue(engine))).toBe('INVALID_STATE');
    const last = await finish(session.submitToolResult('c', 'it had run').session, engine);
    expect([resultsIn(last.messages)[0], world.starts.get('c')]).toEqual([
      ['c', { type: 'text', value: 'it had run' }],
      1,
    ]);
  });

  it('an uncertain call runs again if the user says so', async () => {
    const { session, engine, world } = await uncertain('auto');
    const again = session.rerun('c');
    expect(again.session.rerun('c')).toMatchObject({ ok: true, applied: false });
    await finish((await again.session.continue(engine)).session, engine);
    expect(world.starts.get('c')).toBe(2);
  });

  it('an uncertain call of an idempotent tool runs again by itself', async () => {
    const { session, engine, world } = await uncertain('idempotent');
    const last = await finish((await session.continue(engine)).session, engine);
    expect([resultsIn(last.messages)[0], world.starts.get('c')]).toEqual([
      ['c', { type: 'json', value: { did: 'c' } }],
      2,
    ]);
  });
});

describe('calls that run at the same time', () => {
  it('parallel calls are kept one after the other', async () => {
    const random = seededRandom(11);
    const ticks = async () => {
      for (let left = Math.floor(random() * 6); left > 0; left -= 1) await Promise.resolve();
    };
    const registry = new ToolMetadataRegistry();
    registry.register(
      defineTool({
        name: 'look',
        description: 'Looks',
        inputSchema: { type: 'object' },
        accessMode: AccessMode.READONLY,
        execute: ticks,
      }),
    );
    for (let run = 0; run < 100; run += 1) {
      const shared = new MemoryStateStore();
      const store = watched(shared, async (_operation, _given, go) => (await ticks(), go()));
      const engine = {
        executor: new ToolExecutor({ registry, cacheEntries: 0 }),
        model: scriptedModel([
          { calls: Array.from({ length: 8 }, (_, at) => ({ name: 'look', input: { at } })) },
          'done',
        ]),
      };
      const { session } = await new SessionStore({ store }).create({ id: 's' }).start(engine, 'Go');
      expect((await new SessionStore({ store: shared }).open('s'))!.toJSON()).toEqual(
        session.toJSON(),
      );
    }
  });
});

describe('of two that go on with the same session', () => {
  it('of two runs of one session, one wins and the other starts nothing', async () => {
    const world = new World();
    const sessions = new SessionStore({ store: new MemoryStateStore() });
    const first = newCase([{ calls: [call('p', 'pay'), call('q', 'pay')] }], {}, world);
    await sessions.create({ id: 's' }).start(first.engine, 'Go');
    const copies = await Promise.all(
      [0, 1].map(async () => (await sessions.open('s'))!.approve('p').session.approve('q').session),
    );
    const models = copies.map(() => scriptedModel(['done']));
    const codes = await Promise.all(
      copies.map((copy, at) =>
        codeOf(copy.continue({ ...newCase([], {}, world).engine, model: models[at]! })),
      ),
    );
    expect(codes.sort()).toEqual(['STALE_SESSION', 'fine']);
    expect([...world.starts]).toEqual([
      ['p', 1],
      ['q', 1],
    ]);
    expect(models.map(({ requests }) => requests.length).sort()).toEqual([0, 1]);
    expect((await sessions.open('s'))!.status).toBe('completed');
  });
});

describe('a snapshot that is gone on with twice', () => {
  it("two copies of a snapshot run an approved call once, and it's uncertain in the other", async () => {
    const paid: string[] = [];
    const pay = defineTool({
      name: 'pay',
      description: 'Pays',
      inputSchema: z.object({}),
      accessMode: AccessMode.WRITE,
      execute: () => void paid.push('paid'),
    });
    const tools = [pay];
    const engine = () => ({ tools, model: scriptedModel(['Paid.']) });
    const { session } = await Session.create().start(
      { tools, model: scriptedModel([{ calls: [{ id: 'c1', name: 'pay' }] }]) },
      'Pay',
    );
    const stored = JSON.stringify(session.approve('c1').session);
    const first = await Session.fromJSON(JSON.parse(stored)).continue(engine());
    expect(first.result.text).toBe('Paid.');
    const second = await Session.fromJSON(JSON.parse(stored)).continue(engine());
    expect(second.session.pending).toMatchObject([
      { kind: 'uncertain', callId: 'c1', toolName: 'pay' },
    ]);
    expect(paid).toEqual(['paid']);
    const told = await second.session
      .submitToolResult('c1', 'paid already')
      .session.continue(engine());
    expect(told.result.text).toBe('Paid.');
    // Running it again needs a request and another approval.
    const again = await second.session.rerun('c1').session.continue(engine());
    expect(again.session.pending).toMatchObject([{ kind: 'approval' }]);
    await again.session.approve('c1').session.continue(engine());
    expect(paid).toEqual(['paid', 'paid']);
  });
});

describe('what the user says', () => {
  it('a new message resets loop detection', async () => {
    const price = defineTool({
      name: 'price',
      description: 'A price',
      inputSchema: z.object({}),
      accessMode: AccessMode.READONLY,
      execute: () => 5,
    });
    const registry = new ToolMetadataRegistry();
    registry.register(price);
    const executor = new ToolExecutor({ registry });
    let session = Session.create();
    for (let turn = 0; turn < 8; turn += 1)
      ({ session } = await session.reply(
        { executor, model: scriptedModel([{ calls: [{ name: 'price' }] }, 'Five.']) },
        'How much?',
      ));
    expect(JSON.stringify(session.messages)).not.toContain('error-text');
    const many = Array.from({ length: 6 }, () => ({ calls: [{ name: 'price' }] }));
    ({ session } = await session.reply(
      { executor, model: scriptedModel([...many, 'Five.']) },
      'How much?',
    ));
    expect(JSON.stringify(session.messages)).toContain('was called 4 times');
  });
});

describe('going on', () => {
  it('continuing a completed session asks nothing', async () => {
    const { session } = await Session.create().start({ model: scriptedModel(['Hello.']) }, 'Hi');
    const again = await session.continue({ model: scriptedModel([]) });
    expect([again.session.messages.length, again.result.haltedReason]).toEqual([2, 'completed']);
  });

  it("calls of a cut-off answer don't run, and the model reads why", async () => {
    const ran: string[] = [];
    const model = scriptedModel([{ calls: [{ name: 'look' }], finishReason: 'length' }, 'Sorry.']);
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      inputSchema: z.object({}),
      accessMode: AccessMode.READONLY,
      execute: () => void ran.push('look'),
    });
    const { session } = await Session.create().start({ tools: [look], model }, 'Look');
    expect(ran).toEqual([]);
    expect(JSON.stringify(session.messages)).toContain('cut off (length)');
  });
});
