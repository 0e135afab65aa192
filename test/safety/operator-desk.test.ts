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
import type { OperatorAction, Pending } from '../../src/safety/calls.js';
import { OperatorDesk } from '../../src/safety/operator-desk.js';
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

const KINDS = redisPresent ? ['memory', 'Redis'] : ['memory'];

describe.each(KINDS)('operators with a store in %s', (kind) => {
  const memory = new MemoryStateStore();
  let server: RedisServer | undefined;
  const open: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    if (kind === 'Redis') server = await RedisServer.start();
  });
  afterAll(async () => {
    for (const each of open) await each.close();
    await server?.stop();
  });

  async function connect(): Promise<StateStore> {
    if (server === undefined) return memory;
    const store = await RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 });
    await eventually(() => store.available, 'the store is available');
    open.push(store);
    return store;
  }

  async function executor(options: object = {}) {
    const store = await connect();
    const sent: unknown[] = [];
    const made = new ToolExecutor({
      registry: makeRegistry(sent),
      store,
      approvalKey: KEY,
      ...options,
    });
    open.unshift(made);
    return { executor: made, store, sent };
  }

  async function desk() {
    const actions: OperatorAction[] = [];
    return { desk: new OperatorDesk(await connect(), KEY, (each) => actions.push(each)), actions };
  }

  const only = async (operator: OperatorDesk, callId: string): Promise<Pending> => {
    const found = (await operator.waiting()).filter((each) => each.callId === callId);
    expect(found).toHaveLength(1);
    return found[0]!;
  };
  const mail = (id: string, to = 'ada@corp.example') => ({ id, name: 'send_mail', input: { to } });

  it("an operator approves another executor's call, and the call runs once", async () => {
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

  it('the first of two operators decides, and the second operator is told who decided', async () => {
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

  it("a call runs with an operator's edit, but an edit that doesn't fit the tool leaves it open", async () => {
    const { executor: agent, sent } = await executor();
    const { desk: ada } = await desk();
    await agent.execute(mail('k-1'));
    const { id } = await only(ada, 'k-1');
    await expect(ada.approve(id, 'ada', { input: { to: 5 } })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    expect((await only(ada, 'k-1')).id).toBe(id);
    await ada.approve(id, 'ada', { input: { to: 'bob@corp.example' } });
    await agent.execute(mail('k-1'));
    expect(sent).toEqual([{ to: 'bob@corp.example' }]);
  });

  it("an operator can't grant calls that need approval every time", async () => {
    const { executor: agent } = await executor();
    agent.registry.register(
      defineTool({
        name: 'pay',
        description: 'Pays',
        inputSchema: z.object({}),
        accessMode: 'write',
        requiresConsent: true,
        execute: () => 'paid',
      }),
    );
    const { desk: ada } = await desk();
    await agent.execute({ id: 'l-1', name: 'pay' });
    const { id } = await only(ada, 'l-1');
    await expect(ada.grant(id, 'ada', { uses: 1 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await ada.deny(id, 'ada');
  });

  it("an operator's answers to questions and manual calls are validated", async () => {
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

  it('an operator can create, list, and revoke a grant', async () => {
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

  it('an executor that is waiting for an answer continues when an operator answers', async () => {
    const store = await connect();
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

  it('a call stays pending if nobody answers in time', async () => {
    const store = await connect();
    const { executor: agent } = await executor({
      store,
      confirm: fromStore({ store, timeoutMs: 1 }),
    });
    expect(await agent.execute(mail('g-1'))).toMatchObject({ status: 'approval_required' });
  });

  it('the executor emits an event for an answered call, so that the program can repeat it', async () => {
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
  });

  it('the store keeps recent calls of all executors, including arguments only if recordArguments is on', async () => {
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
      rule: expect.any(String),
    });
    expect(first).not.toHaveProperty('input');
    expect(second?.input).toContain('"to":"x"');
    expect(second?.input).not.toContain('hunter2');
    expect(third).toMatchObject({ status: 'error', code: 'TOOL_NOT_FOUND' });
  });

  it("an operator can't see calls that were signed with another key, or answer unknown calls", async () => {
    const { executor: stranger } = await executor({ approvalKey: randomBytes(32) });
    const { desk: ada } = await desk();
    await stranger.execute(mail('j-1'));
    expect((await ada.waiting()).filter(({ callId }) => callId === 'j-1')).toEqual([]);
    await expect(ada.approve('no-such-id', 'ada')).rejects.toMatchObject({
      code: 'UNKNOWN_CALL',
    });
  });
});
