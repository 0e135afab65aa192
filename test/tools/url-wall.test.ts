import { getEventListeners } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { isToolError } from '../../src/index.js';
import { guardedFetch } from '../../tools/walls/guarded-fetch.js';
import { UrlWall } from '../../tools/walls/url-wall.js';

const servers: Server[] = [];

/** A real server on loopback that counts its connections. */
async function serve(answer: RequestListener = (_request, response) => response.end('reached')) {
  const server = createServer(answer);
  servers.push(server);
  const seen = { port: 0, origin: '', connections: 0 };
  server.on('connection', () => (seen.connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  seen.port = (server.address() as AddressInfo).port;
  seen.origin = `http://127.0.0.1:${seen.port}`;
  return seen;
}

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const local = new UrlWall({ allowPrivate: true });

/** Answers each lookup with the next list of addresses, and counts the lookups. */
function resolverOf(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const resolve = async (hostname: string) => {
    asked.push(hostname);
    return answers[Math.min(asked.length, answers.length) - 1] ?? [];
  };
  return { asked, resolve };
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'passed',
    (error: unknown) => (isToolError(error) ? error.code : error),
  );
}

/** `PORT` is replaced by the port of a listening server, which the tested wall allows. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  loopback: [
    'http://127.0.0.1:PORT/',
    'http://127.8.9.10:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f000001:PORT/',
    'http://017700000001:PORT/',
    'http://0x7f.1:PORT/',
    'http://0177.0.0.1:PORT/',
    'http://0000177.0.0.01:PORT/',
    'http://127.1:PORT/',
    'http://127.0.1:PORT/',
    'http://①②⑦.⓪.⓪.①:PORT/',
    'http://127.0.0.1:PORT/',
    'http://127。0。0。1:PORT/',
    'http://%31%32%37.0.0.1:PORT/',
    'http://127.0.0.1.:PORT/',
    'http://127.0.0.1..:PORT/',
    'http:127.0.0.1:PORT',
    'http:\\\\127.0.0.1:PORT\\',
    'http://127.0\t.0.1:PORT/',
    'ht\ntp://127.0.0.1:PORT/',
    '  http://127.0.0.1:PORT/  ',
    'HTTP://127.0.0.1:PORT/',
    'https://127.0.0.1:PORT/',
  ],
  'IPv4 that is not public': [
    'http://0.0.0.0:PORT/',
    'http://0:PORT/',
    'http://0.1.2.3:PORT/',
    'http://10.0.0.1/',
    'http://167772161/',
    'http://172.16.0.1/',
    'http://172.31.255.255/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://100.127.255.255/',
    'http://169.254.1.1/',
    'http://224.0.0.1/',
    'http://239.255.255.255/',
    'http://240.0.0.1/',
    'http://255.255.255.255/',
    'http://192.0.2.1/',
    'http://198.51.100.1/',
    'http://203.0.113.1/',
    'http://198.18.0.1/',
    'http://198.19.255.255/',
  ],
  IPv6: [
    'http://[::1]:PORT/',
    'http://[0:0:0:0:0:0:0:1]:PORT/',
    'http://[::]:PORT/',
    'http://[2001:db8::1]/',
    'http://[3fff::1]/',
    'http://[fd12:3456:789a::1]/',
    'http://[fc00::1]/',
    'http://[fe80::1]/',
    'http://[fec0::1]/',
    'http://[ff02::1]/',
    'http://[100::1]/',
    'http://[4000::1]/',
    'http://[5f00::1]/',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1%25eth0]/',
  ],
  'IPv4 in IPv6': [
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[::ffff:7f00:1]:PORT/',
    'http://[0:0:0:0:0:ffff:7f00:0001]:PORT/',
    'http://[::ffff:169.254.169.254]/',
    'http://[::ffff:10.0.0.1]/',
    'http://[::ffff:8.8.8.8]/',
    'http://[::127.0.0.1]:PORT/',
    'http://[::ffff:0:127.0.0.1]:PORT/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://[64:ff9b:1::10.0.0.1]/',
    'http://[2002:7f00:1::]/',
    'http://[2002:c0a8:101::1]/',
    'http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
    'http://192.88.99.1/',
  ],
  'a metadata service': [
    'http://169.254.169.254/latest/meta-data/',
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://100.100.100.200/',
    'http://168.63.129.16/',
    'http://192.0.0.192/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://MetaData.Google.Internal/',
    'http://metadata/',
    'http://metadata.goog/',
  ],
  'a local name': [
    'http://localhost:PORT/',
    'http://localhost.:PORT/',
    'http://localhost...:PORT/',
    'http://LOCALHOST:PORT/',
    'http://%6c%6f%63%61lhost:PORT/',
    'http://localhost:PORT/',
    'http://local\u00adhost:PORT/',
    'http://app.localhost:PORT/',
    'http://printer.local/',
    'http://vault.internal/',
    'http://router.home.arpa/',
    'http://home.arpa/',
    'http://intranet/',
    'http://./',
    'http://user@example.com/',
    'http://user:secret@example.com/',
    'http://example.com@127.0.0.1:PORT/',
    'http://example.com%2f@127.0.0.1:PORT/',
  ],
  'a hidden host': [
    'http://127.0.0.1:PORT\\@example.com/',
    'http://127.0.0.1:PORT#@example.com/',
    'file://127.0.0.1/etc/passwd',
    'http://',
  ],
  'a port': [
    'http://example.com:22/',
    'http://example.com:25/',
    'http://example.com:6379/',
    'https://example.com:9200/',
    'http://example.com:0/',
    'http://example.com:65536/',
  ],
  'a scheme': [
    'file:///etc/passwd',
    'ftp://example.com/',
    'gopher://127.0.0.1:PORT/_x',
    'data:text/html,<b>x</b>',
    'javascript:alert(1)',
    'blob:http://example.com/x',
    'ws://127.0.0.1:PORT/',
    'jar:http://127.0.0.1:PORT/!/',
    '//127.0.0.1:PORT/',
  ],
  'what is no address': [
    '/etc/passwd',
    '',
    'http://127.0.0.0.1:PORT/',
    'http://[::1:PORT/',
    'http://127.0.0.1\0:PORT/',
  ],
};

it.each(Object.entries(REFUSED).flatMap(([kind, urls]) => urls.map((url) => [kind, url] as const)))(
  'UrlWall refuses a URL without connecting to it (%s): %j',
  async (_kind, template) => {
    const server = await serve();
    const url = template.replace('PORT', String(server.port));
    const ports = [80, 443, 8080, 8443, server.port];
    // Names resolve to a public address first, so only the URL itself can be the reason for a refusal.
    // Later, they resolve to the server's address.
    expect(
      await codeOf(
        new UrlWall({ ports, resolve: resolverOf(['93.184.215.14']).resolve }).check(url),
      ),
    ).toBe('FORBIDDEN_URL');
    expect(
      await codeOf(
        guardedFetch(url, {
          wall: new UrlWall({ ports, resolve: resolverOf(['127.0.0.1']).resolve }),
        }),
      ),
    ).toBe('FORBIDDEN_URL');
    expect(server.connections).toBe(0);
  },
);

it.each([
  ['a loopback address', ['127.0.0.1']],
  ['a metadata address', ['169.254.169.254']],
  ['public and private addresses', ['93.184.215.14', '10.0.0.7']],
  ['public and IPv4-mapped addresses', ['2606:2800:21f::1', '::ffff:127.0.0.1', '93.184.215.14']],
  ['a unique-local address', ['fd00::1']],
  ['text instead of an address', ['somewhere']],
  ['an address with a zone', ['fe80::1%lo']],
])('UrlWall refuses a public name that resolves to %s', async (_what, addresses) => {
  const server = await serve();
  const { resolve } = resolverOf(addresses);
  const wall = new UrlWall({ ports: [server.port], resolve });
  expect(await codeOf(guardedFetch(`http://inwards.example.com:${server.port}/`, { wall }))).toBe(
    'FORBIDDEN_URL',
  );
  expect(server.connections).toBe(0);
});

it.each([
  ['http://example.com/', 'example.com', ['93.184.215.14']],
  ['https://example.com:8443/a?b#c', 'example.com', ['2606:2800:21f::1', '93.184.215.14']],
  ['http://example.com.:8080/', 'example.com', ['93.184.215.14']],
  ['http://localhost.example.com/', 'localhost.example.com', ['93.184.215.14']],
])('UrlWall allows %s and returns the checked addresses', async (text, hostname, addresses) => {
  const { resolve } = resolverOf(addresses);
  expect(await new UrlWall({ resolve }).check(text)).toMatchObject({ hostname, addresses });
});

it('UrlWall shows only the origin of a refused URL in the error', async () => {
  const error: unknown = await new UrlWall()
    .check('http://user:pa55@10.0.0.1/path?token=s3cret#f')
    .catch((thrown: unknown) => thrown);
  expect(isToolError(error, 'FORBIDDEN_URL') && error.details).toEqual({
    url: 'http://10.0.0.1',
  });
  expect(String(error)).not.toMatch(/pa55|s3cret|path/);
});

it.each([
  'http://169.254.169.254/',
  'http://metadata.google.internal/',
  'http://[fd00:ec2::254]/',
  'http://100.100.100.200/',
  'http://0.0.0.0/',
  'http://224.0.0.1/',
  'http://[::ffff:127.0.0.1]/',
  'file:///etc/passwd',
  'http://a:b@localhost/',
])('UrlWall refuses %s even if private addresses are allowed', async (url) => {
  expect(await codeOf(local.check(url))).toBe('FORBIDDEN_URL');
});

it.each([
  'http://localhost:3000/',
  'http://127.0.0.1:22/',
  'http://[::1]:9000/',
  'http://192.168.1.1/',
  'http://nas.local/',
  'http://intranet/',
])('UrlWall allows %s if private addresses are allowed', async (url) => {
  const { resolve } = resolverOf(['192.168.1.7']);
  expect(await codeOf(new UrlWall({ allowPrivate: true, resolve }).check(url))).toBe('passed');
});

it('guardedFetch connects to the checked address, even if the name resolves to another address later', async () => {
  const server = await serve((request, response) => response.end(request.headers.host));
  const { asked, resolve } = resolverOf(['127.0.0.1'], ['169.254.169.254']);
  const wall = new UrlWall({ allowPrivate: true, resolve });
  const answer = await guardedFetch(`http://rebind.example.com:${server.port}/`, { wall });
  expect(answer.body.toString()).toBe(`rebind.example.com:${server.port}`);
  expect(asked).toEqual(['rebind.example.com']);
});

it('guardedFetch checks the addresses again when a redirect leads to the same name', async () => {
  const server = await serve((_request, response) =>
    response.writeHead(302, { location: '/again' }).end(),
  );
  const { resolve } = resolverOf(['127.0.0.1'], ['169.254.169.254']);
  const wall = new UrlWall({ allowPrivate: true, resolve });
  expect(await codeOf(guardedFetch(`http://rebind.example.com:${server.port}/`, { wall }))).toBe(
    'FORBIDDEN_URL',
  );
  expect(server.connections).toBe(1);
});

it.each([
  'http://169.254.169.254/latest/',
  'file:///etc/passwd',
  'http://[::ffff:127.0.0.1]/',
  '//user@localhost/',
  'http://metadata.google.internal/',
])('guardedFetch refuses a redirect to %s', async (location) => {
  const server = await serve((_request, response) => response.writeHead(301, { location }).end());
  expect(await codeOf(guardedFetch(server.origin, { wall: local }))).toBe('FORBIDDEN_URL');
});

it("guardedFetch keeps the caller's headers within an origin and drops the headers for other origins", async () => {
  const seen: unknown[] = [];
  const other = await serve((request, response) => {
    seen.push(request.headers.authorization, request.headers['x-key']);
    response.end('other');
  });
  const first = await serve((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(302, { location: request.url === '/' ? '/second' : other.origin }).end();
  });
  const answer = await guardedFetch(first.origin, {
    wall: local,
    headers: { Authorization: 'Bearer x', 'X-Key': 'y' },
  });
  expect(seen).toEqual(['Bearer x', 'Bearer x', undefined, undefined]);
  expect(answer).toMatchObject({
    status: 200,
    url: `${other.origin}/`,
    redirects: [`${first.origin}/second`, `${other.origin}/`],
  });
});

it("guardedFetch doesn't restore the headers if a redirect leads back to the first origin", async () => {
  const seen: unknown[] = [];
  let back = '';
  const other = await serve((_request, response) =>
    response.writeHead(302, { location: back }).end(),
  );
  const first = await serve((request, response) => {
    seen.push(request.headers.authorization);
    if (request.url === '/back') response.end();
    else response.writeHead(302, { location: other.origin }).end();
  });
  back = `${first.origin}/back`;
  await guardedFetch(first.origin, { wall: local, headers: { Authorization: 'Bearer x' } });
  expect(seen).toEqual(['Bearer x', undefined]);
});

it('guardedFetch returns the redirect of a POST instead of sending its body elsewhere', async () => {
  const other = await serve();
  const first = await serve((_request, response) =>
    response.writeHead(307, { location: other.origin }).end(),
  );
  const answer = await guardedFetch(first.origin, {
    wall: local,
    method: 'POST',
    body: 'secret',
  });
  expect(answer).toMatchObject({ status: 307, redirects: [] });
  expect(other.connections).toBe(0);
});

it('guardedFetch stops at a redirect loop', async () => {
  const server = await serve((_request, response) =>
    response.writeHead(302, { location: '/' }).end(),
  );
  expect(await codeOf(guardedFetch(server.origin, { wall: local }))).toBe('LIMIT_EXCEEDED');
  expect(server.connections).toBe(6);
});

it('guardedFetch stops if the caller aborts, and leaves no open connection or listener', async () => {
  const controller = new AbortController();
  let closed: Promise<unknown> = Promise.resolve();
  const server = await serve((request) => {
    closed = new Promise((resolve) => request.socket.on('close', resolve));
    controller.abort();
  });
  expect(
    await codeOf(guardedFetch(server.origin, { wall: local, signal: controller.signal })),
  ).toBe('ABORTED');
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  await closed;
});

it.each([
  ['a Host header', { Host: 'internal' }],
  ['an Upgrade header', { Upgrade: 'websocket' }],
  ['a Transfer-Encoding header', { 'Transfer-Encoding': 'chunked' }],
  ['a Content-Length header', { 'content-length': '3' }],
  ['proxy credentials', { 'Proxy-Authorization': 'x' }],
  ['a line break in a value', { 'X-A': 'a\r\nHost: internal' }],
  ['a line break in a name', { 'X-A\r\nHost': 'internal' }],
])('guardedFetch refuses headers that include %s', async (_what, headers) => {
  const server = await serve();
  expect(await codeOf(guardedFetch(server.origin, { wall: local, headers }))).toBe('INVALID_INPUT');
  expect(server.connections).toBe(0);
});
