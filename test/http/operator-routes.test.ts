import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CapabilityRegistry } from '../../src/capability.js';
import { createDiscoveryApp, type DiscoveryOptions } from '../../src/http.js';
import { defineTool, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { MemoryStateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';
import { systemClock, type Clock } from '../../src/core/clock.js';

const KEY = randomBytes(32);
const token = (name: string) => `${name}-${'x'.repeat(16)}`;
const TOKENS = [
  { token: token('viewer'), name: 'vic' },
  { token: token('ada'), name: 'ada', roles: ['view', 'approve'] },
  { token: token('bob'), name: 'bob', roles: ['view', 'approve'] },
  { token: token('runner'), name: 'rita', roles: ['view', 'run'] },
  { token: token('old'), name: 'old', roles: ['view', 'approve', 'run'], expiresAt: 1 },
] as const;

interface Shown {
  readonly pending: readonly {
    readonly id: string;
    readonly digest: string;
    readonly call_id: string;
  }[];
}

async function setup(
  operator: object = {},
  auth: DiscoveryOptions['auth'] | null = { tokens: TOKENS },
  clock: Clock = systemClock,
) {
  const store = new MemoryStateStore({ clock });
  const registry = new ToolMetadataRegistry();
  const seen: unknown[] = [];
  const sent: string[] = [];
  registry.registerAll([
    defineTool({
      name: 'send_mail',
      description: 'Sends a mail',
      inputSchema: z.object({ to: z.string() }),
      accessMode: 'write',
      execute: ({ to }) => {
        sent.push(to);
        return 'sent';
      },
    }),
    defineTool({
      name: 'broken',
      description: 'Always fails',
      inputSchema: z.object({}),
      accessMode: 'readonly',
      execute: () => {
        throw new Error(`The warehouse is closed, password=hunter2 ${'x'.repeat(400)}`);
      },
    }),
    defineTool({
      name: 'whoami',
      description: 'Tells who calls',
      inputSchema: z.object({}),
      accessMode: 'readonly',
      reads: ['private'],
      execute: (_input, { principal, context }) => {
        seen.push(context);
        return { principal };
      },
    }),
  ]);
  const executor = new ToolExecutor({ registry, store, approvalKey: KEY, clock });
  const capabilities = await CapabilityRegistry.load({
    tools: [...registry].map(({ definition }) => definition),
  });
  const app = createDiscoveryApp(capabilities, {
    clock,
    ...(auth && { auth }),
    operator: {
      store,
      approvalKey: KEY,
      allowApprove: true,
      executor,
      context: { db: 1 },
      ...operator,
    },
  });
  const ask = async (path: string, as: string | undefined = 'viewer', init: RequestInit = {}) => {
    const response = await app.request(path, {
      ...init,
      headers: { ...(as && { authorization: `Bearer ${token(as)}` }), ...init.headers },
    });
    const text = await response.text();
    return { status: response.status, text, json: () => JSON.parse(text) as Record<string, never> };
  };
  const post = (path: string, as: string | undefined, body: unknown = {}) =>
    ask(path, as, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
  /** Makes a call wait, and returns it as an operator sees it. */
  const wait = async (id = 'c-1', to = 'a') => {
    await executor.execute({ id, name: 'send_mail', input: { to } });
    return (await shown()).find((each) => each.call_id === id)!;
  };
  const shown = async () => ((await ask('/pending')).json() as unknown as Shown).pending;
  return { app, ask, post, wait, shown, executor, seen, store, sent };
}

describe('the operator routes', () => {
  it('list pending calls, but not their signatures', async () => {
    const { wait, ask } = await setup();
    await wait();
    const { text, json } = await ask('/pending');
    expect(json()).toMatchObject({
      allowed: { approve: false, run: false },
      pending: [{ call_id: 'c-1', tool_name: 'send_mail', input: { to: 'a' }, danger: 'medium' }],
    });
    expect(text).not.toMatch(/signature|store_identity/);
  });

  it('let a token with the approve role approve a call, which then runs once', async () => {
    const { wait, post, ask, executor } = await setup();
    const { id, digest } = await wait();
    expect((await post(`/pending/${id}/approve`, 'ada', { digest })).status).toBe(200);
    expect(
      await executor.execute({ id: 'c-1', name: 'send_mail', input: { to: 'a' } }),
    ).toMatchObject({
      value: 'sent',
    });
    expect((await ask('/actions')).json()).toMatchObject({
      actions: [{ action: 'approve', operator: 'ada', tool_name: 'send_mail' }],
    });
  });

  it('tell the second of two operators how the first operator decided', async () => {
    const { wait, post } = await setup();
    const { id, digest } = await wait();
    await post(`/pending/${id}/deny`, 'ada');
    const late = await post(`/pending/${id}/approve`, 'bob', { digest });
    expect([late.status, late.text]).toEqual([409, expect.stringContaining('deny, by ada')]);
  });

  it('refuse an approval without a token, or with an expired token', async () => {
    const { wait, post, app } = await setup();
    const path = `/pending/${(await wait()).id}/approve`;
    expect((await app.request(path, { method: 'POST', body: '{}' })).status).toBe(401);
    expect((await post(path, 'old')).status).toBe(401);
  });

  it('are read-only without tokens, or if the server allows no actions', async () => {
    const open = await setup({}, null);
    const { id } = await open.wait();
    const answer = await open.post(`/pending/${id}/approve`, '');
    expect([answer.status, answer.text]).toEqual([
      403,
      expect.stringContaining('role \\"approve\\"'),
    ]);
    const closed = await setup({ allowApprove: false, executor: undefined });
    const other = await closed.wait();
    expect((await closed.post(`/pending/${other.id}/approve`, 'ada')).text).toContain(
      '--allow-approve',
    );
    expect((await closed.post('/run', 'runner', { name: 'whoami' })).text).toContain('--allow-run');
  });

  it("run a tool through the executor, with the operator as principal and the server's context", async () => {
    const { post, seen } = await setup();
    const { json } = await post('/run', 'runner', { name: 'whoami', input: {} });
    expect(json()).toMatchObject({
      outcome: { status: 'ok', value: { principal: 'rita' } },
      model_reads: '{"principal":"rita"}',
    });
    expect(seen).toEqual([{ db: 1 }]);
  });

  it('run a write that an operator tried once, after its approval', async () => {
    const { post, shown, sent } = await setup();
    const run = async (more: object) => {
      const { text } = await post('/run', 'runner', {
        name: 'send_mail',
        input: { to: 'a' },
        ...more,
      });
      expect(text).not.toMatch(/store_?identity|signature/i);
      return (JSON.parse(text) as { outcome: { callId: string; status: string } }).outcome;
    };
    const first = await run({});
    expect(first.status).toBe('approval_required');
    const [{ id, digest }] = (await shown()) as [Shown['pending'][0]];
    await post(`/pending/${id}/approve`, 'ada', { digest });
    const again = { id: first.callId };
    expect(await run(again)).toMatchObject({ status: 'ok', value: 'sent' });
    expect(await run(again)).toMatchObject({ status: 'error', code: 'INVALID_APPROVAL' });
    expect(sent).toEqual(['a']);
  });

  it('refuse an approval of another call than the one that was shown, or without what was shown', async () => {
    const { wait, post, shown, sent } = await setup();
    const { id } = await wait();
    const { digest } = await wait('c-2', 'b');
    expect(await post(`/pending/${id}/approve`, 'ada', { digest })).toMatchObject({
      status: 409,
      text: expect.stringContaining('differs from the call that you were shown'),
    });
    expect((await post(`/pending/${id}/approve`, 'ada')).status).toBe(400);
    expect((await post(`/pending/${id}/grant`, 'ada', { digest, uses: 2 })).status).toBe(409);
    expect([(await shown()).length, sent]).toEqual([2, []]);
  });

  it('list waiting calls page by page, oldest first', async () => {
    const { wait, ask } = await setup();
    for (const id of ['c-1', 'c-2', 'c-3']) await wait(id);
    const page = async (query: string) =>
      (await ask(`/pending?${query}`)).json() as unknown as Shown & {
        readonly next: string | null;
      };
    const first = await page('limit=2');
    expect(first.pending.map((each) => each.call_id)).toEqual(['c-1', 'c-2']);
    const second = await page(`limit=2&after=${first.next}`);
    expect(second.pending.map((each) => each.call_id)).toEqual(['c-3']);
    expect(second.next).toBeNull();
  });

  it('require the role of each route, whatever other roles the token has', async () => {
    const roles = ['view', 'approve', 'run'] as const;
    const tokens = roles.map((role) => ({ token: token(role), name: role, roles: [role] }));
    const { ask, app } = await setup({}, { tokens });
    const described = JSON.parse(
      await (
        await app.request('/openapi.json', {
          headers: { authorization: `Bearer ${token('view')}` },
        })
      ).text(),
    ) as { paths: Record<string, Record<string, { description?: string }>> };
    const routes = Object.entries(described.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
    );
    expect(routes).toContainEqual(['POST', '/pending/{id}/grant']);
    for (const [method, path] of routes.filter(([, each]) => !/z$|events/.test(each))) {
      const needed = method === 'GET' ? 'view' : path === '/run' ? 'run' : 'approve';
      const init = { method, ...(method === 'POST' && { body: '{"digest":""}' }) };
      for (const role of roles) {
        const { status } = await ask(path.replace(/{.*}/, 'x'), role, init);
        expect([method, path, role, status === 403]).toEqual([method, path, role, role !== needed]);
      }
    }
  });

  it('stop reading a body that is too large', async () => {
    const { app } = await setup();
    let read = 0;
    const body = new ReadableStream({
      pull: (controller) => {
        read += 1;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const response = await app.request('/run', {
      method: 'POST',
      body,
      duplex: 'half',
      headers: { authorization: `Bearer ${token('runner')}` },
    });
    expect(response.status).toBe(413);
    expect(read).toBeLessThan(10);
  });

  it('create and revoke a grant', async () => {
    const { wait, post, ask, executor } = await setup();
    const { id, digest } = await wait();
    expect((await post(`/pending/${id}/grant`, 'ada', { digest, uses: 5 })).status).toBe(200);
    expect(
      await executor.execute({ id: 'c-2', name: 'send_mail', input: { to: 'b' } }),
    ).toMatchObject({ status: 'ok' });
    const { grants } = (await ask('/grants')).json() as unknown as { grants: { id: string }[] };
    expect(grants).toMatchObject([{ tool_name: 'send_mail', used: 1 }]);
    expect((await ask(`/grants/${grants[0]!.id}`, 'ada', { method: 'DELETE' })).json()).toEqual({
      revoked: true,
    });
  });

  it('list and filter recent calls, and summarize the last hour', async () => {
    const { ask, executor, post } = await setup();
    await post('/run', 'runner', { name: 'whoami' });
    await executor.execute({ id: 'x', name: 'whoami', input: { bad: 1 } });
    await executor.execute({ id: 'y', name: 'nothing' });
    expect((await ask('/calls?status=error')).json()).toMatchObject({
      total: 1,
      calls: [{ call_id: 'y', code: 'TOOL_NOT_FOUND' }],
    });
    await executor.close();
    expect((await ask('/overview')).json()).toMatchObject({ waiting: 0, failing: [] });
  });

  it('filter calls by a part of the tool, the principal or the conversation', async () => {
    const { ask, executor } = await setup();
    await executor.execute(
      { id: 'a', name: 'whoami' },
      { principal: 'Ada Lovelace', conversationId: 'chat-1' },
    );
    await executor.execute({ id: 'b', name: 'broken' }, { principal: 'bob' });
    const found = async (query: string) => {
      const { calls } = (await ask(`/calls?${query}`)).json() as unknown as {
        calls: readonly { readonly call_id: string }[];
      };
      return calls.map((each) => each.call_id);
    };
    expect(await found('principal=love')).toEqual(['a']);
    expect(await found('tool=ROK')).toEqual(['b']);
    expect(await found('conversation=chat')).toEqual(['a']);
    expect(await found('principal=o&status=error')).toEqual(['b']);
  });

  it("list a conversation's newest 200 calls, labels, questions and answers in order, for 24 hours", async () => {
    const clock = new ManualClock(1_000_000);
    const { ask, executor, shown, post } = await setup({}, { tokens: TOKENS }, clock);
    const chat = { principal: 'bob', conversationId: 'chat-1' };
    const mail = { id: 'm', name: 'send_mail', input: { to: 'a' } };
    await executor.execute({ id: 'w', name: 'whoami' }, chat);
    await executor.execute(mail, chat);
    await executor.execute({ id: 'x', name: 'whoami' }, { conversationId: 'other' });
    const [{ id, digest }] = (await shown()) as [Shown['pending'][0]];
    await post(`/pending/${id}/approve`, 'ada', { digest });
    await executor.execute(mail, chat);
    await executor.execute({ id: 'b', name: 'nothing' }, chat);
    const timeline = async () => {
      const { json } = await ask('/timeline?conversation=chat-1');
      return (json() as unknown as { timeline: readonly { readonly call_id: string }[] }).timeline;
    };
    expect(await timeline()).toMatchObject([
      { call_id: 'w', status: 'ok', labels: ['private'] },
      { call_id: 'm', status: 'approval_required', pending_id: id, verdict: 'confirm' },
      { action: 'approve', operator: 'ada', id },
      { call_id: 'm', status: 'ok' },
      { call_id: 'b', status: 'error', code: 'TOOL_NOT_FOUND' },
    ]);
    for (let call = 0; call < 200; call += 1)
      await executor.execute({ id: `${call}`, name: 'nothing' }, chat);
    expect((await timeline()).map((each) => each.call_id).slice(0, 2)).toEqual(['0', '1']);
    clock.advance(24 * 3_600_000);
    expect(await timeline()).toEqual([]);
  });

  it('offer grants for a waiting call on a server that runs no tools', async () => {
    const { wait } = await setup({ executor: undefined });
    expect(await wait()).toMatchObject({
      grant_choices: [{ scope: { input: { to: 'a' } } }],
    });
  });

  it('tell why a call failed, without secrets, in at most 300 characters', async () => {
    const { ask, executor } = await setup();
    await executor.execute({ id: 'x', name: 'broken' }, { conversationId: 'chat-1' });
    const { calls } = (await ask('/calls')).json() as unknown as {
      calls: readonly { readonly message: string }[];
    };
    expect(calls).toMatchObject([{ conversation_id: 'chat-1', attempts: 3 }]);
    expect(calls[0]!.message).toMatch(/The warehouse is closed, password=\[secret\]/);
    expect(calls[0]!.message.length).toBeLessThanOrEqual(300);
  });

  it("count a tool's own failures like its health, and leave out calls that only waited", async () => {
    const { ask, executor } = await setup();
    await executor.execute({ id: 'a', name: 'broken' });
    await executor.execute({ id: 'b', name: 'broken', input: 'no object' });
    await executor.execute({ id: 'c', name: 'send_mail', input: { to: 'a' } });
    await executor.close();
    const overview = (await ask('/overview')).json();
    expect(overview).toMatchObject({
      failing: [{ name: 'broken', errors: 1, calls: 1 }],
      slowest: [{ name: 'broken' }],
    });
    const { total, failure } = executor.health.summary('tool', 'broken');
    expect({ total, failure }).toEqual({ total: 1, failure: 1 });
  });

  it('keep calls that ran when an agent makes thousands of calls that are refused', async () => {
    const { ask, executor } = await setup();
    await executor.execute({ id: 'ran', name: 'whoami' });
    for (let call = 0; call < 1_100; call += 1)
      await executor.execute({ id: `no-${call}`, name: 'nothing' });
    expect((await ask('/calls?tool=whoami')).json()).toMatchObject({ calls: [{ call_id: 'ran' }] });
  });

  it.each([
    ["a body that isn't JSON", '{', 400],
    ['an unknown field', '{"inputs":1}', 400],
  ])('refuse %s', async (_what, body, status) => {
    const { post, wait } = await setup();
    const answer = await post(`/pending/${(await wait()).id}/approve`, 'ada', body);
    expect(answer.status).toBe(status);
  });

  it('export Prometheus metrics, and report whether the store is reachable', async () => {
    const { ask, wait, app, store, executor } = await setup();
    await wait();
    expect((await ask('/metrics')).text).toContain('tooldex_pending_calls 1');
    await executor.close();
    await ask('/metrics');
    const metrics = (await ask('/metrics')).text;
    expect(metrics).toContain('tooldex_calls_total{tool="send_mail",result="asked"} 1\n');
    await executor.execute({ id: 'w', name: 'whoami' });
    await executor.close();
    expect((await ask('/metrics')).text).toMatch(
      /duration_seconds_bucket{tool="whoami",le="\+Inf"} 1\n/,
    );
    expect((await app.request('/livez')).status).toBe(200);
    expect((await app.request('/readyz')).status).toBe(200);
    await store.close();
    expect((await app.request('/readyz')).status).toBe(503);
  });
});
