import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  askUser,
  defineTool,
  fromStore,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolOutcome,
} from '../../src/index.js';
import { readCallLog } from '../../src/execution/call-log.js';
import { OperatorDesk, type OperatorAction } from '../../src/safety/operator-desk.js';
import type { StoredPending } from '../../src/safety/calls.js';
import { MemoryStateStore, RedisStateStore, type StateStore } from '../../src/state.js';
import { eventually, RedisServer, redisPresent, warnIfNoRedis } from '../state/redis-server.js';

warnIfNoRedis('operators on Redis');

const KEY = randomBytes(32);

function makeRegistry(sent: unknown[] = []) {
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    defineTool({
      name: 'send_mail',
      description: 'Sends a mail',
      inputSchema: z.object({ to: z.string() }),
      accessMode: 'write',
      execute: (input) => {
        sent.push(input);
        return 'sent';
      },
    }),
    defineTool({
      name: 'pick_colour',
      description: 'Lets the user pick a colour',
      inputSchema: z.object({}),
      accessMode: 'readonly',
      execute: () => askUser('Which colour?', ['red', 'blue']),
    }),
    defineTool({
      name: 'sign',
      description: 'Is signed by a person',
      inputSchema: z.object({}),
      outputSchema: z.object({ signature: z.string() }),
      manual: true,
    }),
  ]);
  return registry;
}

describe.each<
  [string, boolean, () => Promise<{ store: () => Promise<StateStore>; stop: () => unknown }>]
>([
  [
    'memory',
    true,
    () => {
      const store = new MemoryStateStore();
      return Promise.resolve({ store: () => Promise.resolve(store), stop: () => undefined });
    },
  ],
  [
    'Redis',
    redisPresent,
    async () => {
      const server = await RedisServer.start();
      return {
        store: async () => {
          const store = await RedisStateStore.connect({ url: server.url });
          await eventually(() => store.available, 'the store is available');
          return store;
        },
        stop: () => server.stop(),
      };
    },
  ],
])('operators on a store in %s', (_name, isPresent, start) => {
  let stores: Awaited<ReturnType<typeof start>>;
  const open: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    if (isPresent) stores = await start();
  });
  afterAll(async () => {
    for (const each of open) await each.close();
    await stores?.stop();
  });

  async function executor(options: object = {}) {
    const store = await stores.store();
    const sent: unknown[] = [];
    const made = new ToolExecutor({
      registry: makeRegistry(sent),
      store,
      approvalKey: KEY,
      ...options,
    });
    open.push(made, ...(store instanceof MemoryStateStore ? [] : [store]));
    return { executor: made, store, sent };
  }

  async function desk() {
    const actions: OperatorAction[] = [];
    const store = await stores.store();
    if (!(store instanceof MemoryStateStore)) open.push(store);
    return { desk: new OperatorDesk(store, KEY, (each) => actions.push(each)), actions, store };
  }

  const only = async (operator: OperatorDesk, callId: string): Promise<StoredPending> => {
    const found = (await operator.waiting()).filter((each) => each.callId === callId);
    expect(found).toHaveLength(1);
    return found[0]!;
  };
  const mail = (id: string, to = 'ada@corp.example') => ({ id, name: 'send_mail', input: { to } });

  it.skipIf(!isPresent)('lets an operator approve a call of another executor, once', async () => {
    const { executor: agent, sent } = await executor();
    const { desk: ada, actions } = await desk();
    expect(await agent.execute(mail('a-1'), { principal: 'eve' })).toMatchObject({
      status: 'approval_required',
    });
    const { id } = await only(ada, 'a-1');
    await ada.approve(id, 'ada');
    expect(actions).toMatchObject([
      { action: 'approve', operator: 'ada', id, toolName: 'send_mail', principal: 'eve' },
    ]);
    expect(await agent.execute(mail('a-1'), { principal: 'eve' })).toMatchObject({ value: 'sent' });
    expect(await agent.execute(mail('a-1'), { principal: 'eve' })).not.toMatchObject({
      status: 'ok',
    });
    expect(sent).toHaveLength(1);
    expect((await ada.actions())[0]).toEqual(actions[0]);
  });

  it.skipIf(!isPresent)('lets one of two operators win and tells the other who did', async () => {
    const { executor: agent } = await executor();
    const [{ desk: ada }, { desk: bob }] = [await desk(), await desk()];
    await agent.execute(mail('b-1'));
    const { id } = await only(ada, 'b-1');
    const ends = await Promise.allSettled([ada.approve(id, 'ada'), bob.deny(id, 'bob')]);
    const lost = ends.filter((end) => end.status === 'rejected');
    expect(lost).toHaveLength(1);
    expect(lost[0]?.reason).toMatchObject({ code: 'ALREADY_RESOLVED' });
    await expect(bob.approve(id, 'bob')).rejects.toThrow(
      /already been answered \((?:approve|deny), by (?:ada|bob)\)/,
    );
  });

  it.skipIf(!isPresent)('runs a call with the arguments an operator changed', async () => {
    const { executor: agent, sent } = await executor();
    const { desk: ada } = await desk();
    await agent.execute(mail('c-1'));
    await ada.approve((await only(ada, 'c-1')).id, 'ada', { input: { to: 'bob@corp.example' } });
    await agent.execute(mail('c-1'));
    expect(sent).toEqual([{ to: 'bob@corp.example' }]);
  });

  it.skipIf(!isPresent)('answers questions and manual calls with what they take', async () => {
    const { executor: agent } = await executor();
    const { desk: ada } = await desk();
    const ask = () => agent.execute({ id: 'd-1', name: 'pick_colour' });
    const sign = () => agent.execute({ id: 'd-2', name: 'sign' });
    expect((await ask()).status).toBe('ask_user');
    expect((await sign()).status).toBe('manual');
    const [question, manual] = [await only(ada, 'd-1'), await only(ada, 'd-2')];
    await expect(ada.answer(question.id, 'ada', 'green')).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    await expect(ada.answer(manual.id, 'ada', { name: 1 })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    await expect(ada.approve(manual.id, 'ada')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await ada.answer(question.id, 'ada', 'red');
    await ada.answer(manual.id, 'ada', { signature: 'A' });
    expect(await ask()).toMatchObject({ status: 'ok', value: 'red' });
    expect(await sign()).toMatchObject({ status: 'ok', value: { signature: 'A' } });
  });

  it.skipIf(!isPresent)('gives, lists and ends a grant', async () => {
    const { executor: agent, sent } = await executor();
    const { desk: ada } = await desk();
    await agent.execute(mail('e-1'));
    const grant = await ada.grant((await only(ada, 'e-1')).id, 'ada', { uses: 1 });
    await agent.execute(mail('e-1'));
    await agent.execute(mail('e-2'));
    expect(sent).toHaveLength(2);
    expect((await ada.grants()).find(({ id }) => id === grant.id)).toMatchObject({ used: 1 });
    expect(await ada.revoke(grant.id, 'ada')).toBe(true);
    expect(await ada.revoke(grant.id, 'ada')).toBe(false);
  });

  it.skipIf(!isPresent)('lets a waiting executor go on when an operator answers', async () => {
    const store = await stores.store();
    if (!(store instanceof MemoryStateStore)) open.push(store);
    const { executor: agent } = await executor({
      store,
      confirm: fromStore({ store, pollMs: 20 }),
    });
    const { desk: ada } = await desk();
    const [yes, no] = [agent.execute(mail('f-1')), agent.execute(mail('f-2', 'x@corp.example'))];
    await eventually(async () => (await ada.waiting()).length >= 2, 'both calls wait');
    await ada.approve((await only(ada, 'f-1')).id, 'ada');
    await ada.deny((await only(ada, 'f-2')).id, 'ada');
    expect(await yes).toMatchObject({ status: 'ok', value: 'sent' });
    expect(await no).toMatchObject({ status: 'denied' });
  });

  it.skipIf(!isPresent)('leaves a call pending if nobody answers in time', async () => {
    const store = await stores.store();
    if (!(store instanceof MemoryStateStore)) open.push(store);
    const { executor: agent } = await executor({
      store,
      confirm: fromStore({ store, timeoutMs: 1 }),
    });
    expect(await agent.execute(mail('g-1'))).toMatchObject({ status: 'approval_required' });
  });

  it.skipIf(!isPresent)(
    'tells a program about answered calls, so that it can make them again',
    async () => {
      const { executor: agent } = await executor();
      const { desk: ada } = await desk();
      const outcomes: ToolOutcome[] = [];
      const stop = agent.onAnswered(({ callId }) => {
        if (callId === 'h-1') void agent.execute(mail('h-1')).then((each) => outcomes.push(each));
      });
      await agent.execute(mail('h-1'));
      await ada.approve((await only(ada, 'h-1')).id, 'ada');
      await eventually(() => outcomes.length > 0, 'the program hears of the answer');
      stop();
      expect(outcomes).toMatchObject([{ status: 'ok', value: 'sent' }]);
    },
  );

  it.skipIf(!isPresent)(
    'records the last calls of all executors, with arguments only where asked',
    async () => {
      const [{ executor: plain, store }, { executor: full }] = [
        await executor(),
        await executor({ recordArguments: true }),
      ];
      await plain.execute(mail('i-1'), { principal: 'eve' });
      await full.execute({ ...mail('i-2'), input: { to: 'x', password: 'hunter2-secret' } });
      await full.execute({ id: 'i-3', name: 'no_such_tool' });
      await plain.close();
      await full.close();
      const calls = (await readCallLog(store)).filter(({ callId }) => callId.startsWith('i-'));
      expect(calls.map(({ callId }) => callId).sort()).toEqual(['i-1', 'i-2', 'i-3']);
      const [first, second, third] = ['i-1', 'i-2', 'i-3'].map((id) =>
        calls.find(({ callId }) => callId === id),
      );
      expect(first).toMatchObject({
        toolName: 'send_mail',
        principal: 'eve',
        status: 'approval_required',
        verdict: 'confirm',
        rule: expect.any(String) as string,
      });
      expect(first).not.toHaveProperty('input');
      expect(second?.input).toContain('"to":"x"');
      expect(second?.input).not.toContain('hunter2');
      expect(third).toMatchObject({ status: 'error', code: 'TOOL_NOT_FOUND' });
    },
  );

  it.skipIf(!isPresent)(
    'refuses an unknown call, and one that was signed with another key',
    async () => {
      const { executor: stranger } = await executor({ approvalKey: randomBytes(32) });
      const { desk: ada } = await desk();
      await stranger.execute(mail('j-1'));
      expect((await ada.waiting()).filter(({ callId }) => callId === 'j-1')).toEqual([]);
      await expect(ada.approve('no-such-id', 'ada')).rejects.toMatchObject({
        code: 'UNKNOWN_CALL',
      });
    },
  );
});
