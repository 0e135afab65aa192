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
const REFUSED: readonly (readonly [attack: string, url: string])[] = [
  ['a loopback address', 'http://127.0.0.1:PORT/'],
  ['loopback, other address', 'http://127.8.9.10:PORT/'],
  ['loopback, whole number', 'http://2130706433:PORT/'],
  ['loopback, hexadecimal number', 'http://0x7f000001:PORT/'],
  ['loopback, octal number', 'http://017700000001:PORT/'],
  ['loopback, hexadecimal part', 'http://0x7f.1:PORT/'],
  ['loopback, octal part', 'http://0177.0.0.1:PORT/'],
  ['loopback, padded octal', 'http://0000177.0.0.01:PORT/'],
  ['loopback, short', 'http://127.1:PORT/'],
  ['loopback, three parts', 'http://127.0.1:PORT/'],
  ['loopback, circled digits', 'http://①②⑦.⓪.⓪.①:PORT/'],
  ['loopback, full-width digits', 'http://127.0.0.1:PORT/'],
  ['loopback, ideographic dots', 'http://127。0。0。1:PORT/'],
  ['loopback, percent-encoded', 'http://%31%32%37.0.0.1:PORT/'],
  ['loopback, trailing dot', 'http://127.0.0.1.:PORT/'],
  ['loopback, two trailing dots', 'http://127.0.0.1..:PORT/'],
  ['loopback, no slashes', 'http:127.0.0.1:PORT'],
  ['loopback, backslashes', 'http:\\\\127.0.0.1:PORT\\'],
  ['loopback, tab inside', 'http://127.0\t.0.1:PORT/'],
  ['loopback, line break inside', 'ht\ntp://127.0.0.1:PORT/'],
  ['loopback, blanks around', '  http://127.0.0.1:PORT/  '],
  ['loopback, upper-case scheme', 'HTTP://127.0.0.1:PORT/'],
  ['loopback over TLS', 'https://127.0.0.1:PORT/'],
  ['unspecified', 'http://0.0.0.0:PORT/'],
  ['unspecified, short', 'http://0:PORT/'],
  ['this network', 'http://0.1.2.3:PORT/'],
  ['IPv6 loopback', 'http://[::1]:PORT/'],
  ['IPv6 loopback, long', 'http://[0:0:0:0:0:0:0:1]:PORT/'],
  ['IPv6 unspecified', 'http://[::]:PORT/'],
  ['IPv4-mapped loopback', 'http://[::ffff:127.0.0.1]:PORT/'],
  ['IPv4-mapped loopback, hexadecimal', 'http://[::ffff:7f00:1]:PORT/'],
  ['IPv4-mapped loopback, long', 'http://[0:0:0:0:0:ffff:7f00:0001]:PORT/'],
  ['IPv4-mapped metadata', 'http://[::ffff:169.254.169.254]/'],
  ['IPv4-mapped private', 'http://[::ffff:10.0.0.1]/'],
  ['IPv4-mapped public', 'http://[::ffff:8.8.8.8]/'],
  ['IPv4-compatible loopback', 'http://[::127.0.0.1]:PORT/'],
  ['IPv4-translated loopback', 'http://[::ffff:0:127.0.0.1]:PORT/'],
  ['NAT64 loopback', 'http://[64:ff9b::127.0.0.1]/'],
  ['NAT64 metadata', 'http://[64:ff9b::a9fe:a9fe]/'],
  ['NAT64, local prefix', 'http://[64:ff9b:1::10.0.0.1]/'],
  ['6to4 loopback', 'http://[2002:7f00:1::]/'],
  ['6to4 private', 'http://[2002:c0a8:101::1]/'],
  ['Teredo', 'http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/'],
  ['IPv6 documentation', 'http://[2001:db8::1]/'],
  ['IPv6 documentation, newer', 'http://[3fff::1]/'],
  ['IPv6 unique-local', 'http://[fd12:3456:789a::1]/'],
  ['IPv6 unique-local, fc00', 'http://[fc00::1]/'],
  ['IPv6 link-local', 'http://[fe80::1]/'],
  ['IPv6 site-local', 'http://[fec0::1]/'],
  ['IPv6 multicast', 'http://[ff02::1]/'],
  ['IPv6 discard', 'http://[100::1]/'],
  ['IPv6 that is not global', 'http://[4000::1]/'],
  ['IPv6 segment routing', 'http://[5f00::1]/'],
  ['IPv6 metadata', 'http://[fd00:ec2::254]/'],
  ['private 10', 'http://10.0.0.1/'],
  ['private 10, whole number', 'http://167772161/'],
  ['private 172', 'http://172.16.0.1/'],
  ['private 172, last', 'http://172.31.255.255/'],
  ['private 192', 'http://192.168.1.1/'],
  ['carrier-grade NAT', 'http://100.64.0.1/'],
  ['carrier-grade NAT, last', 'http://100.127.255.255/'],
  ['link-local', 'http://169.254.1.1/'],
  ['a metadata address', 'http://169.254.169.254/latest/meta-data/'],
  ['metadata, whole number', 'http://2852039166/'],
  ['metadata, hexadecimal', 'http://0xa9fea9fe/'],
  ['metadata, other cloud', 'http://100.100.100.200/'],
  ['metadata, host agent', 'http://168.63.129.16/'],
  ['metadata, 192.0.0.192', 'http://192.0.0.192/'],
  ['metadata name', 'http://metadata.google.internal/computeMetadata/v1/'],
  ['metadata name, mixed case', 'http://MetaData.Google.Internal/'],
  ['metadata name, short', 'http://metadata/'],
  ['metadata name, goog', 'http://metadata.goog/'],
  ['multicast', 'http://224.0.0.1/'],
  ['multicast, last', 'http://239.255.255.255/'],
  ['reserved', 'http://240.0.0.1/'],
  ['broadcast', 'http://255.255.255.255/'],
  ['documentation 192', 'http://192.0.2.1/'],
  ['documentation 198', 'http://198.51.100.1/'],
  ['documentation 203', 'http://203.0.113.1/'],
  ['benchmark', 'http://198.18.0.1/'],
  ['benchmark, last', 'http://198.19.255.255/'],
  ['6to4 relay', 'http://192.88.99.1/'],
  ['name localhost', 'http://localhost:PORT/'],
  ['name localhost, trailing dot', 'http://localhost.:PORT/'],
  ['name localhost, trailing dots', 'http://localhost...:PORT/'],
  ['name localhost, upper case', 'http://LOCALHOST:PORT/'],
  ['name localhost, percent-encoded', 'http://%6c%6f%63%61lhost:PORT/'],
  ['name localhost, full-width', 'http://localhost:PORT/'],
  ['name localhost, soft hyphen', 'http://local\u00adhost:PORT/'],
  ['name under localhost', 'http://app.localhost:PORT/'],
  ['name under local', 'http://printer.local/'],
  ['name under internal', 'http://vault.internal/'],
  ['name under home.arpa', 'http://router.home.arpa/'],
  ['name home.arpa itself', 'http://home.arpa/'],
  ['name without a dot', 'http://intranet/'],
  ['name of the root', 'http://./'],
  ['user name', 'http://user@example.com/'],
  ['user name and password', 'http://user:secret@example.com/'],
  ['host hidden behind a user name', 'http://example.com@127.0.0.1:PORT/'],
  ['host hidden behind an encoded user name', 'http://example.com%2f@127.0.0.1:PORT/'],
  ['host hidden behind a backslash', 'http://127.0.0.1:PORT\\@example.com/'],
  ['host hidden before a fragment', 'http://127.0.0.1:PORT#@example.com/'],
  ['port of ssh', 'http://example.com:22/'],
  ['port of mail', 'http://example.com:25/'],
  ['port of a database', 'http://example.com:6379/'],
  ['port of an administration', 'https://example.com:9200/'],
  ['port zero', 'http://example.com:0/'],
  ['port too large', 'http://example.com:65536/'],
  ['scheme file', 'file:///etc/passwd'],
  ['scheme file with host', 'file://127.0.0.1/etc/passwd'],
  ['scheme ftp', 'ftp://example.com/'],
  ['scheme gopher', 'gopher://127.0.0.1:PORT/_x'],
  ['scheme data', 'data:text/html,<b>x</b>'],
  ['scheme javascript', 'javascript:alert(1)'],
  ['scheme blob', 'blob:http://example.com/x'],
  ['scheme ws', 'ws://127.0.0.1:PORT/'],
  ['scheme jar', 'jar:http://127.0.0.1:PORT/!/'],
  ['relative', '/etc/passwd'],
  ['relative to a scheme', '//127.0.0.1:PORT/'],
  ['no host', 'http://'],
  ['empty', ''],
  ['address that is too long', 'http://127.0.0.0.1:PORT/'],
  ['bracket left open', 'http://[::1:PORT/'],
  ['IPv6 zone', 'http://[fe80::1%25eth0]/'],
  ['null byte', 'http://127.0.0.1\0:PORT/'],
];

it.each(REFUSED)(
  'UrlWall refuses a URL without connecting to it (%s): %j',
  async (_attack, template) => {
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
