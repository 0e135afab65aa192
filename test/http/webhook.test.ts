import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { serve, type ServeOptions } from '../../src/http.js';
import { defineTool, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { MemoryStateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';

const KEY = Buffer.alloc(32, 7);
const SECRET = 's'.repeat(32);
type Message = Readonly<Record<string, unknown>>;

/** A receiver of messages, which answers with these statuses, and then with 204. */
async function receiver(statuses: number[] = [], location = '') {
  const received: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const arrivals: (() => void)[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.writeHead(statuses.shift() ?? 204, { location }).end();
      for (const arrive of arrivals.splice(0)) arrive();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    messages: () => received.map(({ body }) => JSON.parse(body) as Message),
    /** Waits until this many messages have arrived. */
    until: async (count: number) => {
      while (received.length < count) await new Promise<void>((done) => arrivals.push(done));
    },
  };
}

async function setup() {
  const clock = new ManualClock(1_700_000_000_000);
  const store = new MemoryStateStore({ clock });
  const registry = new ToolMetadataRegistry();
  const tool = defineTool({
    name: 'refund',
    description: 'Refunds an order',
    inputSchema: { type: 'object' },
    accessMode: 'write',
    execute: () => 'refunded',
  });
  registry.register(tool);
  const executor = new ToolExecutor({ registry, store, approvalKey: KEY, clock });
  const refund = (id: string) =>
    executor.execute({ id, name: 'refund', input: { card: '4111' } }, { principal: 'bob' });
  const start = async (webhook: Partial<NonNullable<ServeOptions['webhook']>>) => {
    const failures: string[] = [];
    const waiting: (() => void)[] = [];
    const onFailure = (message: string) => {
      failures.push(message);
      for (const done of waiting.splice(0)) done();
    };
    const server = await serve(await CapabilityRegistry.load({ tools: [tool] }), {
      port: 0,
      clock,
      operator: { store, approvalKey: KEY },
      webhook: { url: '', secret: SECRET, onFailure, ...webhook },
    });
    onTestFinished(() => server.close());
    const untilFailed = async (count: number) => {
      while (failures.length < count) await new Promise<void>((done) => waiting.push(done));
    };
    return { server, failures, untilFailed };
  };
  return { clock, executor, refund, start };
}

describe('the webhook', () => {
  it('posts a signed message with a link to the card, but without arguments, when a call waits', async () => {
    const { clock, refund, start, executor } = await setup();
    const hook = await receiver();
    const { server } = await start({ url: hook.url });
    await refund('r-1');
    await clock.advanceAsync(2_000);
    await hook.until(1);
    const [{ headers, body }] = hook.received as [(typeof hook.received)[0]];
    const timestamp = String(headers['tooldex-timestamp']);
    const digest = createHmac('sha256', SECRET).update(`${timestamp}.${body}`).digest('hex');
    expect(headers['tooldex-signature']).toBe(`sha256=${digest}`);
    expect(Number(timestamp)).toBe(1_700_000_002);
    const { id } = (await executor.waiting())[0]!;
    expect(JSON.parse(body)).toEqual({
      id,
      call_id: 'r-1',
      kind: 'approval',
      tool: 'refund',
      danger: 'medium',
      principal: 'bob',
      conversation: null,
      created_at: 1_700_000_000_000,
      url: `${server.url}/#/waiting?open=${id}`,
    });
  });

  it('sends each message once from two servers that share a store', async () => {
    const { clock, refund, start } = await setup();
    const hook = await receiver();
    const servers = [await start({ url: hook.url }), await start({ url: hook.url })];
    for (let call = 0; call < 20; call += 1) await refund(`r-${call}`);
    await clock.advanceAsync(2_000);
    await hook.until(20);
    for (const { server } of servers) await server.close();
    const { server } = await start({ url: hook.url });
    await refund('last');
    await clock.advanceAsync(2_000);
    await hook.until(21);
    await server.close();
    const ids = hook.messages().map((message) => message['call_id']);
    expect(ids.sort()).toEqual(
      [...Array.from({ length: 20 }, (_, call) => `r-${call}`), 'last'].sort(),
    );
  });

  it('tries again after failures, with longer and longer pauses, while the call waits', async () => {
    const { clock, refund, start, executor } = await setup();
    const hook = await receiver([500, 429]);
    const { failures, untilFailed } = await start({
      url: hook.url,
      page: 'https://tools.example/',
    });
    await refund('r-1');
    await clock.advanceAsync(2_000);
    await untilFailed(1);
    await clock.advanceAsync(3_999);
    expect(hook.received).toHaveLength(1);
    await clock.advanceAsync(1);
    await untilFailed(2);
    await executor.deny((await executor.waiting())[0]!);
    await refund('r-2');
    await clock.advanceAsync(8_000);
    await hook.until(3);
    expect(failures.map((text) => text.split('.')[0])).toEqual([
      'The webhook answered 500',
      'The webhook answered 429',
    ]);
    expect(hook.messages().map((message) => message['call_id'])).toEqual(['r-1', 'r-1', 'r-2']);
    expect(hook.messages()[2]!['url']).toMatch(/^https:\/\/tools\.example\/#\/waiting\?open=/);
  });

  it("doesn't follow redirects", async () => {
    const { clock, refund, start } = await setup();
    const other = await receiver();
    const hook = await receiver([302], other.url);
    const { failures, untilFailed } = await start({ url: hook.url });
    await refund('r-1');
    await clock.advanceAsync(2_000);
    await untilFailed(1);
    expect(failures[0]).toMatch(/^The webhook answered 302\. The call \S+ isn't announced\.$/);
    expect(other.received).toEqual([]);
  });

  it.each([
    ['http://tools.example/hook', 'an https URL, or an http URL on this machine'],
    ['ftp://127.0.0.1/', 'an https URL, or an http URL on this machine'],
  ])('refuses %s', async (url, expected) => {
    const { start } = await setup();
    await expect(start({ url })).rejects.toThrow(expected);
  });

  it('needs the approval key, which opens the ledger', async () => {
    const options = {
      port: 0,
      operator: { store: new MemoryStateStore() },
      webhook: { url: 'https://tools.example/hook', secret: SECRET },
    };
    await expect(serve(await CapabilityRegistry.load(), options)).rejects.toThrow(
      'operator.approvalKey beside webhook',
    );
  });
});
