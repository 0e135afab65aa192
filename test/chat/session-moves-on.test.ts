import { expect, it } from 'vitest';
import { Session } from '../../src/chat.js';
import { call, codeOf, newCase } from './session-cases.js';
import { newExecutor, World } from './session-world.js';
import { MemoryStateStore } from '../../src/state.js';

/** Returns a session that waits for a payment, a question, and a manual call. */
async function waiting() {
  const world = new World();
  const store = new MemoryStateStore();
  const executor = newExecutor(world, undefined, store);
  const open = [call('p', 'pay'), call('q', 'ask'), call('m', 'manual')];
  const made = newCase([{ calls: open }, 'moved on', 'done'], { executor }, world);
  const { session } = await Session.create({ id: 's' }).start(made.engine, 'Go');
  return { ...made, session, executor, store };
}

/** Returns a session whose user pressed Stop while the first of two writes was running. */
async function stopped() {
  const made = newCase([{ calls: [call('a', 'slow'), call('b', 'auto')] }, 'moved on', 'done']);
  const stop = new AbortController();
  const engine = {
    ...made.engine,
    onEvent: ({ type }: { readonly type: string }) => {
      if (type === 'tool-started') stop.abort();
    },
  };
  const { session } = await Session.create({ id: 's' }).start(engine, 'Go', {
    signal: stop.signal,
  });
  return { ...made, session };
}

it.each(['deny', 'leave'] as const)(
  'a user who says something else while calls are open is answered, and no open call runs (%s)',
  async (open) => {
    const { session, engine, world, executor } = await waiting();
    expect(session.pending.map(({ callId }) => callId)).toEqual(['p', 'q', 'm']);
    const { session: moved, result } = await session.reply(engine, 'Never mind', { open });
    expect([result.text, moved.pending, moved.status]).toEqual(['moved on', [], 'completed']);
    expect(moved.messages.at(-2)).toEqual({ role: 'user', content: 'Never mind' });
    expect(await executor.waiting()).toHaveLength(open === 'deny' ? 0 : 3);
    expect(world.starts.get('p')).toBeUndefined();
    expect((await moved.reply(engine, 'And now?')).result.text).toBe('done');
    expect(world.starts.get('p')).toBeUndefined();
  },
);

it('a user who says something else while calls are open finds every call that has not run among the pending calls after Stop, and none of them runs', async () => {
  const { session, engine, world } = await stopped();
  const starts = new Map(world.starts);
  expect(session.pending.map(({ callId }) => callId)).toEqual(['a', 'b']);
  expect(await codeOf(session.continue(engine))).toBe('INVALID_STATE');
  const one = session.submitToolResult('a', 'done by hand').session;
  expect(one.pending.map(({ callId }) => callId)).toEqual(['b']);
  const { session: moved, result } = await one.reply(engine, 'Stop it', { open: 'deny' });
  expect([result.text, moved.pending]).toEqual(['moved on', []]);
  expect(world.starts).toEqual(starts);
});

it('a user who says something else while calls are open can only deny or leave the open calls', async () => {
  const { session, engine } = await waiting();
  expect(await codeOf(session.reply(engine, 'Hi', { open: 'run' as never }))).toBe(
    'INVALID_ARGUMENT',
  );
});

it('the log of actions names the person who approved a call in a session', async () => {
  const { session, engine, store } = await waiting();
  const decided = session
    .approve('p', { by: 'ada' })
    .session.deny('q', 'no time', { by: 'bob' })
    .session.submitToolResult('m', 1, { by: 'eve' }).session;
  const copy = Session.fromJSON(JSON.parse(JSON.stringify(decided)));
  expect(copy.toJSON()).toMatchObject({
    resolutions: [{ by: 'ada' }, { by: 'bob' }, { by: 'eve' }],
  });
  await copy.continue(engine);
  const actions = (await store.read('call-answers')).map((each) => JSON.parse(each) as unknown);
  expect(actions).toMatchObject([{ action: 'approve', operator: 'ada', toolName: 'pay' }]);
});
