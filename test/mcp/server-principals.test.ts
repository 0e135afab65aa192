import { describe, expect, it } from 'vitest';
import { SafetyPolicy } from '../../src/index.js';
import type { McpToolServer } from '../../src/mcp/server/create-mcp-server.js';
import type { McpAuthInfo } from '../../src/mcp/server/server-options.js';
import { INITIALIZE, overHttp, serverOf, textOf } from './server-clients.js';
import { reading, sampleRegistry } from './server-tools.js';

const PRINCIPALS = new Map([
  ['token-of-ada', { principal: 'ada', scopes: ['files:write'] }],
  ['next-token-of-ada', { principal: 'ada' }],
  ['token-of-eve', { principal: 'eve' }],
]);
const verify = async (token: string) => Promise.resolve(PRINCIPALS.get(token));
const call = (id: number, name: string, input: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: input },
});

interface Sent {
  readonly method?: string;
  readonly token?: string;
  readonly session?: string;
  readonly body?: object;
  readonly headers?: Record<string, string>;
  readonly authInfo?: McpAuthInfo;
}

function send(
  server: McpToolServer,
  { method = 'POST', token, session, body, headers, authInfo }: Sent,
): Promise<Response> {
  const request = new Request('http://localhost/mcp', {
    method,
    headers: {
      'content-type': 'application/json',
      accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(session !== undefined && {
        'mcp-session-id': session,
        'mcp-protocol-version': '2025-11-25',
      }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return server.fetch(request, authInfo && { authInfo });
}

async function open(server: McpToolServer, sent: Sent): Promise<string> {
  const response = await send(server, { ...sent, body: INITIALIZE });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get('mcp-session-id')!;
}

interface Event {
  readonly data: {
    readonly id?: number | string;
    readonly method?: string;
    readonly params?: Record<string, never>;
    readonly result?: Record<string, unknown>;
  };
}

/** Yields the events of a stream as they arrive. */
async function* eventsOf(response: Response): AsyncGenerator<Event> {
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const field = (name: string) =>
        lines
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trim() ?? '';
      if (field('data') !== '') yield { data: JSON.parse(field('data')) as never };
    }
  }
}

it('other principals get 404 if they call a tool in a session, answer its questions, open its stream, or delete it', async () => {
  const server = serverOf({ verify });
  const ada = { token: 'token-of-ada', session: await open(server, { token: 'token-of-ada' }) };
  const eve = { token: 'token-of-eve', session: ada.session };
  const stream = eventsOf(
    await send(server, { ...ada, body: call(2, 'files.write', { path: 'a' }) }),
  );
  const { data: asked } = (await stream.next()).value as Event;
  expect(asked).toMatchObject({ method: 'elicitation/create' });
  const answer = { jsonrpc: '2.0', id: asked.id, result: { action: 'accept', content: {} } };
  const statuses = async (who: Sent) => {
    const tries: Sent[] = [
      { body: call(3, 'say', { text: 'x' }) },
      { body: answer },
      { method: 'GET' },
      { method: 'DELETE' },
    ];
    return Promise.all(tries.map(async (each) => (await send(server, { ...who, ...each })).status));
  };
  expect(await statuses(eve)).toEqual([404, 404, 404, 404]);
  // The server ignores eve's answer. The call waits until ada answers with a newer token.
  expect(
    (
      await send(server, {
        ...ada,
        token: 'next-token-of-ada',
        body: { ...answer, result: { action: 'decline' } },
      })
    ).status,
  ).toBe(202);
  expect((await stream.next()).value).toMatchObject({
    data: {
      id: 2,
      result: { isError: true, content: [{ text: expect.stringContaining('denied') }] },
    },
  });
  expect((await send(server, { ...ada, method: 'DELETE' })).status).toBe(200);
});

describe('the verify option', () => {
  it("determines the principal and scopes of each call, and tools without their scopes aren't served", async () => {
    const registry = sampleRegistry();
    const seen: (string | undefined)[] = [];
    registry.registerAll([
      reading('whoami', (_, { principal }) => seen.push(principal)),
      reading('upload', () => 'uploaded', { auth: { required: true, scopes: ['files:write'] } }),
    ]);
    const { url } = await serverOf(
      { verify, policy: new SafetyPolicy({ registry }) },
      registry,
    ).serveHttp({ port: 0 });
    for (const kind of ['auto', 'legacy', 'first'] as const) {
      const ada = await overHttp(url, kind, {}, { authorization: 'Bearer token-of-ada' });
      const eve = await overHttp(url, kind, {}, { authorization: 'Bearer token-of-eve' });
      await ada.call('whoami');
      await eve.call('whoami');
      expect(textOf(await ada.call('upload'))).toBe('uploaded');
      await expect(eve.call('upload')).rejects.toThrow(/upload/);
      expect((await eve.tools()).map(({ name }) => name)).not.toContain('upload');
      expect((await ada.tools()).map(({ name }) => name)).toContain('upload');
      await expect(
        overHttp(url, kind, {}, { authorization: 'Bearer token-of-nobody' }),
      ).rejects.toThrow();
    }
    expect(seen).toEqual(['ada', 'eve', 'ada', 'eve', 'ada', 'eve']);
  });

  it('clients without a token are told where to get one, and the health check needs no token', async () => {
    const resource = {
      url: 'https://tools.example/mcp',
      authorizationServers: ['https://login.example'],
      scopes: ['files:read', 'files:write'],
      name: 'Files',
    };
    const { url } = await serverOf({ verify, resource }).serveHttp({ port: 0 });
    const post = (headers: Record<string, string>) =>
      fetch(url, {
        method: 'POST',
        body: JSON.stringify(INITIALIZE),
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
      });
    const challenge = (error = '') =>
      `Bearer realm="tooldex"${error}, scope="files:read files:write", resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp"`;
    const unknown = await post({});
    expect([unknown.status, unknown.headers.get('www-authenticate')]).toEqual([401, challenge()]);
    const wrong = await post({ authorization: 'Bearer secret-of-nobody' });
    expect([wrong.status, wrong.headers.get('www-authenticate')]).toEqual([
      401,
      challenge(', error="invalid_token"'),
    ]);
    expect(await wrong.text()).not.toContain('secret-of-nobody');
    for (const path of [
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-protected-resource',
    ]) {
      const metadata = {
        resource: 'https://tools.example/mcp',
        authorization_servers: ['https://login.example'],
        scopes_supported: ['files:read', 'files:write'],
        bearer_methods_supported: ['header'],
        resource_name: 'Files',
      };
      expect(await (await fetch(new URL(path, url))).json()).toEqual(metadata);
    }
    expect((await fetch(new URL('/healthz', url))).status).toBe(200);
    expect((await fetch(new URL('/.well-known/other', url))).status).toBe(401);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no key at /etc/secret');
      },
    ],
    ['returns no principal', () => ({ scopes: ['all'] }) as never],
  ])('every request is rejected if verify %s', async (_, broken) => {
    const response = await send(serverOf({ verify: broken }), { token: 'any', body: INITIALIZE });
    expect(response.status).toBe(503);
    expect(await response.text()).not.toContain('secret');
  });

  it('the principal from verify overrides the principal from a shared context', async () => {
    const { url } = await serverOf(
      { verify, context: { principal: 'service', persona: 'helper' } },
      sampleRegistry(reading('whoami', (_, { principal }) => principal)),
    ).serveHttp({ port: 0 });
    const client = await overHttp(url, 'auto', {}, { authorization: 'Bearer token-of-eve' });
    expect(textOf(await client.call('whoami'))).toBe('eve');
  });
});

const ask = async (server: McpToolServer, origin: string) => {
  const preflight = await send(server, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, mcp-session-id, x-other',
    },
  });
  const answer = await send(server, { headers: { origin }, body: INITIALIZE });
  const names = [
    'access-control-allow-origin',
    'access-control-allow-headers',
    'access-control-expose-headers',
  ];
  return {
    preflight: [preflight.status, preflight.headers.get(names[0]!)],
    allowed: preflight.headers.get(names[1]!),
    answer: [answer.status, answer.headers.get(names[0]!)],
    exposed: answer.headers.get(names[2]!),
  };
};

it('web pages from other origins can read responses if their origin is allowed, including a 401 for a missing token', async () => {
  const origin = 'https://app.example';
  const asked = await ask(serverOf({ verify, allowedOrigins: [origin] }), origin);
  expect(asked).toMatchObject({ preflight: [204, origin], answer: [401, origin] });
  expect(asked.allowed).not.toContain('x-other');
  expect(asked.allowed).toMatch(/authorization.*mcp-session-id/);
  expect(asked.exposed).toBe('mcp-session-id, www-authenticate');
  expect(
    await ask(serverOf({ verify, allowedOrigins: [origin] }), 'https://evil.example'),
  ).toMatchObject({ preflight: [403, null], answer: [403, null] });
});

it("web pages from other origins can't read responses if they are on this machine but their origin isn't allowed", async () => {
  const { preflight, answer } = await ask(serverOf(), 'http://localhost:3000');
  expect([preflight[1], answer[1]]).toEqual([null, null]);
});
