import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isToolError } from '../../src/index.js';
import { SERVERS, requestOf, statuses, talk, type ListeningServer } from './listening-servers.js';

const TOKEN = 'a-token-of-some-length';

/** Returns the message of a refusal, in whatever form the server sends it. */
function messageOf(answer: string): string {
  const { error } = JSON.parse(answer.slice(answer.indexOf('{'))) as { error: { message: string } };
  return error.message;
}

async function refusalOf(start: Promise<unknown>): Promise<string> {
  const error: unknown = await start.catch((each: unknown) => each);
  expect(isToolError(error, 'INVALID_ARGUMENT')).toBe(true);
  return (error as Error).message;
}

const answersOf = (text: (server: ListeningServer) => string, options = {}) =>
  Promise.all(SERVERS.map(async (server) => talk(await server.start(options), text(server))));

describe.each(SERVERS)('$name', (server) => {
  it.each(['0.0.0.0', '::', '192.168.0.1', 'example.com'])(
    "a server without a token doesn't listen on %s",
    async (host) => {
      expect(await refusalOf(server.start({ host }))).toMatch(
        /Listening on .* requires a token, .* Pass the option token/,
      );
    },
  );

  it('a server with a token listens everywhere and requires it', async () => {
    const url = await server.start({ host: '0.0.0.0', token: TOKEN });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+/);
    expect(statuses(await talk(url, requestOf(server)))).toEqual([401]);
    expect(
      statuses(await talk(url, requestOf(server, { more: `Authorization: Bearer ${TOKEN}\r\n` }))),
    ).toEqual([200]);
  });

  it('a token of 15 characters is refused without being repeated', async () => {
    expect(await refusalOf(server.start({ token: 'x'.repeat(15) }))).not.toContain('xxx');
  });

  it('a taken port and a foreign address are refused with advice', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as { readonly port: number };
    expect(await refusalOf(server.start({ port }))).toBe(
      `The address 127.0.0.1:${port} is already in use. Choose another port, or 0 for any free port.`,
    );
    expect(await refusalOf(server.start({ host: 'no.such.host.invalid', token: TOKEN }))).toMatch(
      /isn't an address of this machine/,
    );
  });

  it.each([{ port: -1 }, { port: 1.5 }, { port: '80' }, { port: 65_536 }, { host: '' }])(
    'a server refuses to listen on %o',
    async (wrong) => {
      await refusalOf(server.start(wrong as never));
    },
  );

  it.each(['LOCALHOST:1', 'localhost.:1', '127.0.0.1', '[::1]:4780'])(
    'a server answers under its own name %s',
    async (host) => {
      expect(statuses(await talk(await server.start(), requestOf(server, { host })))).toEqual([
        200,
      ]);
    },
  );

  it.each([
    'evil.com',
    'localhost.evil.com',
    '127.0.0.1.evil.com',
    '127.1',
    'localhost@evil.com',
    'a b',
    '',
  ])("a server doesn't answer under the name %j", async (host) => {
    expect(
      statuses(await talk(await server.start(), requestOf(server, { host })))[0],
    ).toBeGreaterThanOrEqual(400);
  });

  it('a server refuses a request without a host, or with another host in its request line', async () => {
    const url = await server.start();
    const bare = requestOf(server).replace('Host: localhost\r\n', '');
    for (const text of [bare, bare.replace('HTTP/1.1', 'HTTP/1.0')])
      expect(statuses(await talk(url, text))).toEqual([400]);
    expect(statuses(await talk(url, requestOf(server).replace(' /', ' http://evil.com/')))).toEqual(
      [403],
    );
  });

  it.each([
    'null',
    'https://evil.com',
    'file://',
    'http://localhost.evil.com',
    'tauri://localhost',
    'chrome-extension://localhost',
    '',
  ])("a server doesn't answer pages of the origin %j", async (origin) => {
    expect(
      statuses(
        await talk(await server.start(), requestOf(server, { more: `Origin: ${origin}\r\n` })),
      ),
    ).toEqual([403]);
  });

  it('a server answers pages of its own origin', async () => {
    expect(
      statuses(
        await talk(
          await server.start(),
          requestOf(server, { host: 'localhost:4780', more: 'Origin: http://localhost:4780\r\n' }),
        ),
      ),
    ).toEqual([200]);
  });

  it.each([
    'Bearer',
    'Bearer ',
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(1)}`,
    `Basic ${TOKEN}`,
    TOKEN,
    `Bearer ${TOKEN} ${TOKEN}`,
  ])('a server refuses %j as its token', async (authorization) => {
    const answer = await talk(
      await server.start({ token: TOKEN }),
      requestOf(server, { more: `Authorization: ${authorization}\r\n` }),
    );
    expect(statuses(answer)).toEqual([401]);
    expect(answer).toMatch(/^www-authenticate: Bearer realm="tooldex"\r$/im);
    expect(answer).not.toContain(TOKEN.slice(1));
  });

  it('a refused request with an unread body closes the connection', async () => {
    const answer = await talk(
      await server.start(),
      `POST /mcp HTTP/1.1\r\nHost: evil.com\r\nContent-Length: 100\r\n\r\n{`,
    );
    expect(statuses(answer)).toEqual([403]);
  });
});

describe('the listening servers', () => {
  it.each([
    ['of another host', (server: ListeningServer) => requestOf(server, { host: 'evil.com' }), {}],
    [
      'of another origin',
      (server: ListeningServer) => requestOf(server, { more: 'Origin: https://evil.com\r\n' }),
      {},
    ],
    ['without the token', (server: ListeningServer) => requestOf(server), { token: TOKEN }],
    [
      'with another token',
      (server: ListeningServer) => requestOf(server, { more: 'Authorization: Bearer other\r\n' }),
      { token: TOKEN },
    ],
    ['that cannot be read', (server: ListeningServer) => requestOf(server, { host: 'a b' }), {}],
  ])('both servers refuse a request %s with the same message', async (_, text, options) => {
    const [first, second] = (await answersOf(text, options)).map(messageOf);
    expect(first).toMatch(/^(?:The|Requests|Expected) .*\.$/);
    expect(second).toBe(first);
  });
});
