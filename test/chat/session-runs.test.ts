import { expect, it } from 'vitest';
import { z } from 'zod';
import { scriptedModel, Session, SessionStore } from '../../src/chat.js';
import { AccessMode, defineTool, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { MemoryStateStore } from '../../src/state.js';
import { seededRandom } from '../../src/testing.js';
import { call, codeOf, newCase } from './session-cases.js';
import { watched } from './session-stores.js';
import { resultsIn } from './session-thread.js';
import { World } from './session-world.js';

it("a call doesn't start if the checkpoint before it throws", async () => {
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

async function uncertain(kind: 'auto' | 'idempotent') {
  const made = newCase([{ calls: [call('c', kind)] }, 'done', 'done']);
  let last: Session | undefined;
  await Session.create({ id: 's' }).start(made.engine, 'Go', {
    onCheckpoint: (session) => void (session.pending.length === 1 && (last ??= session)),
  });
  return { ...made, session: Session.fromJSON(last!.toJSON()) };
}

it('a call started by a process that died is uncertain until it gets a result', async () => {
  const { session, engine, world } = await uncertain('auto');
  expect(session.pending).toMatchObject([
    { kind: 'uncertain', callId: 'c', toolName: 'auto', input: { of: 'c' } },
  ]);
  expect(await codeOf(session.continue(engine))).toBe('INVALID_STATE');
  const { session: last } = await session
    .submitToolResult('c', 'it had run')
    .session.continue(engine);
  expect([last.status, resultsIn(last.messages)[0], world.starts.get('c')]).toEqual([
    'completed',
    ['c', { type: 'text', value: 'it had run' }],
    1,
  ]);
});

it('an uncertain call runs again if the user requests it', async () => {
  const { session, engine, world } = await uncertain('auto');
  const again = session.rerun('c');
  expect(again.session.rerun('c')).toMatchObject({ ok: true, applied: false });
  await again.session.continue(engine);
  expect(world.starts.get('c')).toBe(2);
});

it('an uncertain call to an idempotent tool runs again automatically', async () => {
  const { session, engine, world } = await uncertain('idempotent');
  const { session: last } = await session.continue(engine);
  expect([resultsIn(last.messages)[0], world.starts.get('c')]).toEqual([
    ['c', { type: 'json', value: { did: 'c' } }],
    2,
  ]);
});

it('the store ends up with the final session, in whatever order concurrent calls are saved', async () => {
  const random = seededRandom(11);
  for (let run = 0; run < 100; run += 1) {
    const shared = new MemoryStateStore();
    const store = watched(shared, async (_operation, _given, go) => {
      for (let left = Math.floor(random() * 6); left > 0; left -= 1) await Promise.resolve();
      return go();
    });
    const calls = Array.from({ length: 8 }, (_, at) => call(`c${at}`, at < 4 ? 'auto' : 'slow'));
    const { engine } = newCase([{ calls }, 'done']);
    const { session } = await new SessionStore({ store }).create({ id: 's' }).start(engine, 'Go');
    expect((await new SessionStore({ store: shared }).open('s'))!.toJSON()).toEqual(
      session.toJSON(),
    );
  }
});

it('if two runs continue the same session, only one run starts calls and the other run fails', async () => {
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

it('the first copy of a snapshot runs the approved call, and the call is uncertain in the second copy', async () => {
  const { engine, world } = newCase([{ calls: [call('c1', 'pay')] }]);
  const { session } = await Session.create().start(engine, 'Pay');
  const stored = JSON.stringify(session.approve('c1').session);
  const resumed = (from = Session.fromJSON(JSON.parse(stored))) =>
    from.continue({ ...engine, model: scriptedModel(['Paid.']) });
  expect((await resumed()).result.text).toBe('Paid.');
  const second = (await resumed()).session;
  expect(second.pending).toMatchObject([{ kind: 'uncertain', callId: 'c1', toolName: 'pay' }]);
  expect(world.starts.get('c1')).toBe(1);
});

it('an approved call asks again if its stored arguments are no longer those that the user saw', async () => {
  const { engine, world } = newCase([{ calls: [call('c1', 'pay')] }]);
  const { session } = await Session.create().start(engine, 'Pay');
  const stored = JSON.stringify(
    session.approve('c1').session.toJSON(),
    function (key, value: unknown) {
      // The message and the record have the new arguments, and the approved call has the old ones.
      const isShown = key === 'input' && (this as { readonly kind?: string }).kind === 'approval';
      return key === 'input' && !isShown ? { of: 'more' } : value;
    },
  );
  const { session: again } = await Session.fromJSON(JSON.parse(stored)).continue(engine);
  expect(again.pending).toMatchObject([{ kind: 'approval', input: { of: 'more' } }]);
  expect(world.starts.size).toBe(0);
});

it('a new user message resets loop detection', async () => {
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

it("calls in a cut-off answer don't run, and the model reads why", async () => {
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
