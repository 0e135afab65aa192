import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isToolError } from '../../src/index.js';
import { SERVERS, requestOf, statuses, talk, type ListeningServer } from './listening-servers.js';

const TOKEN = 'a-token-of-some-length';

/** Returns the error message, in whichever form the server sends it. */
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
    "doesn't listen on %s without a token",
    async (host) => {
      expect(await refusalOf(server.start({ host }))).toMatch(
        /Listening on .* requires a token, .* Pass the option token/,
      );
    },
  );

  it('listens on any address with a token, and requires it', async () => {
    const url = await server.start({ host: '0.0.0.0', token: TOKEN });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+/);
    expect(statuses(await talk(url, requestOf(server)))).toEqual([401]);
    expect(
      statuses(await talk(url, requestOf(server, { more: `Authorization: Bearer ${TOKEN}\r\n` }))),
    ).toEqual([200]);
  });

  it('rejects a token of 15 characters without repeating it in the error', async () => {
    expect(await refusalOf(server.start({ token: 'x'.repeat(15) }))).not.toContain('xxx');
  });

  it('explains what to do if the port is taken or the address belongs to another machine', async () => {
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
    'refuses to listen on %o',
    async (wrong) => {
      await refusalOf(server.start(wrong as never));
    },
  );

  it.each(['LOCALHOST:1', 'localhost.:1', '127.0.0.1', '[::1]:4780'])(
    'answers requests for its own host %s',
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
  ])('rejects requests for the host %j', async (host) => {
    expect(
      statuses(await talk(await server.start(), requestOf(server, { host })))[0],
    ).toBeGreaterThanOrEqual(400);
  });

  it('rejects a request without a host, or with a different host in its request line', async () => {
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
  ])('rejects requests from pages with the origin %j', async (origin) => {
    expect(
      statuses(
        await talk(await server.start(), requestOf(server, { more: `Origin: ${origin}\r\n` })),
      ),
    ).toEqual([403]);
  });

  it('answers requests from pages with its own origin', async () => {
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
  ])('rejects %j as the Authorization header', async (authorization) => {
    const answer = await talk(
      await server.start({ token: TOKEN }),
      requestOf(server, { more: `Authorization: ${authorization}\r\n` }),
    );
    expect(statuses(answer)).toEqual([401]);
    expect(answer).toMatch(/^www-authenticate: Bearer realm="tooldex"\r$/im);
    expect(answer).not.toContain(TOKEN.slice(1));
  });
});

describe('both servers', () => {
  it.each([
    ['for another host', (server: ListeningServer) => requestOf(server, { host: 'evil.com' }), {}],
    [
      'from another origin',
      (server: ListeningServer) => requestOf(server, { more: 'Origin: https://evil.com\r\n' }),
      {},
    ],
    ['without the token', (server: ListeningServer) => requestOf(server), { token: TOKEN }],
    [
      'with a wrong token',
      (server: ListeningServer) => requestOf(server, { more: 'Authorization: Bearer other\r\n' }),
      { token: TOKEN },
    ],
    ["that can't be parsed", (server: ListeningServer) => requestOf(server, { host: 'a b' }), {}],
  ])('reject a request %s with the same message', async (_, text, options) => {
    const [first, second] = (await answersOf(text, options)).map(messageOf);
    expect(first).toMatch(/^(?:The|Requests|Expected) .*\.$/);
    expect(second).toBe(first);
  });
});
