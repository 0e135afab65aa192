import { describe, expect, it } from 'vitest';
import { askUser, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import type { McpToolServer } from '../../src/mcp/server/create-mcp-server.js';
import { ManualClock } from '../../src/testing.js';
import { INITIALIZE, overHttp, post, rawCall, serverOf, textOf } from './server-clients.js';
import { reading } from './server-tools.js';

const KINDS = ['auto', 'legacy', 'first'] as const;
async function openSession(server: McpToolServer): Promise<string> {
  const response = await post(server, INITIALIZE);
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get('mcp-session-id')!;
}

const ping = async (server: McpToolServer, session: string) => {
  const response = await post(
    server,
    { jsonrpc: '2.0', id: 2, method: 'ping' },
    { 'mcp-session-id': session },
  );
  await response.text();
  return response.status;
};

it.each(KINDS)(
  'a client gets progress, approvals, and list changes over the network (client type: %s)',
  async (kind) => {
    const running = await serverOf().serveHttp({ port: 0 });
    expect(running.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    const client = await overHttp(running.url, kind, {
      answer: () => ({ action: 'accept', content: {} }),
    });
    expect((await client.tools()).length).toBe(13);
    expect((await client.call('files.write', { path: 'a' })).structuredContent).toEqual({
      path: 'a',
      length: 0,
    });
  },
);

it('a request without the right token is rejected in both protocol eras', async () => {
  const token = 'correct-horse-battery';
  const running = await serverOf({ token }).serveHttp({ port: 0 });
  for (const kind of KINDS) {
    const client = await overHttp(running.url, kind, {}, { authorization: `Bearer ${token}` });
    expect(textOf(await client.call('say', { text: 'in' }))).toBe('in');
    for (const wrong of ['', 'Bearer correct-horse-batterz'])
      await expect(overHttp(running.url, kind, {}, { authorization: wrong })).rejects.toThrow();
  }
  const refused = await fetch(running.url, { method: 'POST', body: JSON.stringify(INITIALIZE) });
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringContaining('Bearer'),
  ]);
  expect(await refused.text()).not.toContain(token);
});

it('the server answers only on its own path, and rejects requests from web pages with other origins', async () => {
  const { url } = await serverOf().serveHttp({ port: 0 });
  const statusFor = async (server: string, headers: Record<string, string> = {}) => {
    const response = await fetch(server, {
      method: 'POST',
      body: JSON.stringify(INITIALIZE),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    });
    await response.text();
    return response.status;
  };
  expect(await statusFor(url)).toBe(200);
  expect(await statusFor(url, { origin: 'http://localhost:3000' })).toBe(200);
  expect(await statusFor(new URL('/', url).href)).toBe(404);
  const chosen = await serverOf({
    allowedOrigins: ['tools.example', 'https://other.example:8443'],
  }).serveHttp({ port: 0 });
  const statuses = async (...origins: string[]) =>
    Promise.all(origins.map((origin) => statusFor(chosen.url, { origin })));
  expect(
    await statuses(
      'https://tools.example',
      'http://tools.example:3000',
      'https://other.example:8443',
    ),
  ).toEqual([200, 200, 200]);
  expect(
    await statuses(
      'http://localhost:3000',
      'https://other.example',
      'http://other.example:8443',
      'https://tools.example.evil.com',
    ),
  ).toEqual([403, 403, 403, 403]);
});

it('requests with huge bodies, invalid JSON, or other content types are rejected in both protocol eras', async () => {
  const server = serverOf();
  const session = await openSession(server);
  const huge = {
    jsonrpc: '2.0',
    id: 3,
    method: 'tools/call',
    params: { name: 'say', arguments: { text: 'x'.repeat(5_000_000) } },
  };
  for (const headers of [
    {},
    { 'mcp-session-id': session },
    { 'mcp-protocol-version': '2026-07-28' },
  ] as Record<string, string>[]) {
    expect((await post(server, huge, headers)).status).toBe(413);
    expect((await post(server, '{"jsonrpc": ', headers)).status).toBe(400);
    expect(
      (await post(server, INITIALIZE, { ...headers, 'content-type': 'text/plain' })).status,
    ).toBe(415);
  }
  expect(await ping(server, session)).toBe(200);
});

describe('approvals that the client sends back', () => {
  const call = async (...given: Parameters<typeof rawCall>) =>
    (await (await rawCall(...given)).json()) as Record<string, never>;
  const yes = { tooldex: { action: 'accept', content: {} } };

  it('an approval from the client runs the approved call once and no other call', async () => {
    const server = serverOf();
    const first = await call(server, 'files.write', { path: 'a' });
    expect(first).toMatchObject({
      result: {
        resultType: 'input_required',
        inputRequests: { tooldex: { method: 'elicitation/create' } },
      },
    });
    const { requestState } = first['result']!;
    const again = (input: object, state: string = requestState, name = 'files.write') =>
      call(server, name, input, { requestState: state, inputResponses: yes });
    expect(await again({ path: 'b' })).toMatchObject({ result: { isError: true } });
    expect(await again({ text: 'a' }, requestState, 'say')).toMatchObject({
      result: { isError: true },
    });
    expect(await again({ path: 'a' }, `${String(requestState)}x`)).toMatchObject({
      error: { code: -32602 },
    });
    expect(await again({ path: 'a' })).toMatchObject({
      result: { structuredContent: { path: 'a' } },
    });
    expect(await again({ path: 'a' })).toMatchObject({ result: { isError: true } });
  });

  it("an approval without the user's answer, or from a different server or caller, is rejected", async () => {
    const approvalKey = new Uint8Array(32).fill(7);
    let principal = 'ada';
    const server = serverOf({ approvalKey, context: () => ({ principal }) });
    const { requestState } = (await call(server, 'files.write', { path: 'a' }))['result']!;
    for (const inputResponses of [{}, { tooldex: { action: 'decline' } }])
      expect(
        await call(server, 'files.write', { path: 'a' }, { requestState, inputResponses }),
      ).toMatchObject({ result: { isError: true } });
    const { requestState: second } = (await call(server, 'files.write', { path: 'a' }))['result']!;
    principal = 'eve';
    const approved = { requestState: second, inputResponses: yes };
    for (const each of [server, serverOf()])
      expect(await call(each, 'files.write', { path: 'a' }, approved)).toMatchObject({
        error: { code: -32602 },
      });
  });

  it("repeating a question doesn't run the tool again, and late answers are rejected", async () => {
    const clock = new ManualClock();
    const registry = new ToolMetadataRegistry();
    let runs = 0;
    registry.register(
      reading('asks', () => {
        runs += 1;
        return askUser('Which?', { choices: ['a'], timeoutMs: 1_000 });
      }),
    );
    const server = serverOf({ executor: new ToolExecutor({ registry, clock }), clock }, registry);
    const answered = (requestState: unknown, answer: string) =>
      call(
        server,
        'asks',
        {},
        { requestState, inputResponses: { tooldex: { action: 'accept', content: { answer } } } },
      );
    const first = (await call(server, 'asks', {}))['result']!['requestState'] as unknown;
    expect(await answered(first, 'b')).toMatchObject({ result: { resultType: 'input_required' } });
    clock.advance(1_000);
    expect(await answered(first, 'a')).toMatchObject({
      result: {
        isError: true,
        content: [{ text: expect.stringContaining("didn't answer in time") }],
      },
    });
    expect(runs).toBe(1);
  });
});

it('at maxSessions, a new session replaces the least recently used one', async () => {
  const server = serverOf({ maxSessions: 2 });
  const [first, second] = [await openSession(server), await openSession(server)];
  expect(await ping(server, first)).toBe(200);
  const third = await openSession(server);
  const statuses = [first, second, third].map((session) => ping(server, session));
  expect(await Promise.all(statuses)).toEqual([200, 404, 200]);
});
