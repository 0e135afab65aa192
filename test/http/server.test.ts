import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { serve, type RunningCatalogue, type ServeOptions } from '../../src/http.js';
import { isToolError } from '../../src/index.js';
import { sample, type Json } from './catalogue-fixture.js';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function start(options: ServeOptions = {}): Promise<RunningCatalogue> {
  const { capabilities } = await sample();
  const running = await serve(capabilities, { port: 0, page: false, ...options });
  open.push(() => running.close());
  return running;
}

function socketTo({ url }: RunningCatalogue): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {}); // The server may cut it: that is looked at elsewhere.
  open.push(() => socket.destroy());
  return socket;
}

/** Everything a server says to some bytes until it closes the connection. */
async function talk(running: RunningCatalogue, text: string): Promise<string> {
  const socket = socketTo(running);
  let answer = '';
  socket.on('data', (data) => (answer += data.toString('latin1')));
  socket.write(text, 'latin1');
  await once(socket, 'close');
  return answer;
}

/** Statuses of the answers in what a connection said. */
function statuses(answer: string): readonly number[] {
  return [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

describe('serve', () => {
  it('answers at its address, and no more after it was closed', async () => {
    const { capabilities } = await sample();
    const running = await serve(capabilities, { port: 0 });
    expect(running.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(((await (await fetch(`${running.url}/tools`)).json()) as Json).total).toBe(6);
    expect((await fetch(`${running.url}/`)).headers.get('content-type')).toContain('text/html');
    await running.close();
    await expect(fetch(running.url)).rejects.toThrow();
  });

  it('answers through its own way out as the app does: the same bytes and headers, 304, HEAD and errors', async () => {
    const { get } = await sample();
    const { url } = await start();
    for (const path of ['/tools', '/tools?fields=name', '/tools/alpha', '/skills', '/tools?x', '/nowhere']) {
      const [served, direct] = [await fetch(url + path), await get(path)];
      expect(served.status, path).toBe(direct.status);
      expect(await served.text(), path).toBe(await direct.text());
      for (const [name, value] of direct.headers) expect(served.headers.get(name), `${path} ${name}`).toBe(value);
    }
    const etag = (await get('/tools')).headers.get('etag')!;
    expect((await fetch(`${url}/tools`, { headers: { 'if-none-match': etag } })).status).toBe(304);
    const head = await fetch(`${url}/tools`, { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
  });

  it('ends at once, also while clients listen to events', async () => {
    const { capabilities } = await sample();
    const running = await serve(capabilities, { port: 0 });
    const reader = (await fetch(`${running.url}/events`)).body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value as Uint8Array)).toContain('event: ready');
    await running.close();
    await expect(reader.read()).rejects.toThrow();
  });

  it('compares hosts in any case, and refuses those of others', async () => {
    const running = await start();
    const port = new URL(running.url).port;
    const statusFor = async (host: string) => statuses(await talk(running, `GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`));
    expect(await statusFor(`LOCALHOST:${port}`)).toEqual([200]);
    expect(await statusFor(`localhost.:${port}`)).toEqual([200]);
    expect(await statusFor('[::1]:4780')).toEqual([200]);
    expect(await statusFor('evil.com')).toEqual([403]);
    for (const host of ['127.1', 'localhost@evil.com', 'a b', '']) expect((await statusFor(host))[0], host).toBeGreaterThanOrEqual(400);
    expect(statuses(await talk(running, 'GET http://evil.com/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'))).toEqual([403]);
    expect(statuses(await talk(running, 'GET /health HTTP/1.1\r\n\r\n'))).toEqual([400]);
    expect(statuses(await talk(running, 'GET /health HTTP/1.0\r\n\r\n'))).toEqual([400]);
  });

  it.each(['0.0.0.0', '::', '192.168.0.1', 'example.com'])('does not listen on %s without a token', async (host) => {
    const { capabilities } = await sample();
    const error: unknown = await serve(capabilities, { host, port: 0 }).catch((each: unknown) => each);
    expect(isToolError(error, 'INVALID_ARGUMENT')).toBe(true);
    expect((error as Error).message).toContain('token');
  });

  it('listens everywhere with a token of 16 characters, and asks for it', async () => {
    const { capabilities } = await sample();
    expect(isToolError(await serve(capabilities, { host: '0.0.0.0', port: 0, token: 'x'.repeat(15) }).catch((each: unknown) => each), 'INVALID_ARGUMENT')).toBe(true);
    const { url } = await start({ host: '0.0.0.0', token: 'x'.repeat(16) });
    expect((await fetch(`${url}/tools`)).status).toBe(401);
    expect((await fetch(`${url}/tools`, { headers: { authorization: `Bearer ${'x'.repeat(16)}` } })).status).toBe(200);
  });

  it('says what to do when the port is taken, and refuses wrong options', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    open.push(() => other.close());
    await once(other, 'listening');
    const { port } = other.address() as { readonly port: number };
    const { capabilities } = await sample();
    const error: unknown = await serve(capabilities, { port }).catch((each: unknown) => each);
    expect(isToolError(error, 'INVALID_ARGUMENT')).toBe(true);
    expect((error as Error).message).toContain(`127.0.0.1:${port} in use`);
    for (const wrong of [{ port: -1 }, { port: 1.5 }, { port: '80' }, { host: '' }, { prot: 1 }, { auth: { token: 'x'.repeat(16) } }, { host: 'no.such.host.invalid', token: 'x'.repeat(16) }]) {
      expect(isToolError(await serve(capabilities, { port: 0, ...(wrong as ServeOptions) }).catch((each: unknown) => each), 'INVALID_ARGUMENT'), JSON.stringify(wrong)).toBe(true);
    }
  });

  it('leaves the Request and Response of the process alone', async () => {
    const before = [globalThis.Request, globalThis.Response];
    await start();
    expect([globalThis.Request, globalThis.Response]).toEqual(before);
  });
});

describe('a connection', () => {
  const END = 'Host: localhost\r\n';
  const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n';

  it.each([
    ['a length and chunks (CL.TE)', `POST /tools HTTP/1.1\r\n${END}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG`],
    ['chunks and a length (TE.CL)', `POST /tools HTTP/1.1\r\n${END}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${SMUGGLED}`],
    ['two lengths', `POST /tools HTTP/1.1\r\n${END}Content-Length: 0\r\nContent-Length: 44\r\n\r\n${SMUGGLED}`],
    ['a list of lengths', `POST /tools HTTP/1.1\r\n${END}Content-Length: 0, 44\r\n\r\n${SMUGGLED}`],
    ['a signed length', `POST /tools HTTP/1.1\r\n${END}Content-Length: +44\r\n\r\n${SMUGGLED}`],
    ['an unknown transfer encoding', `POST /tools HTTP/1.1\r\n${END}Transfer-Encoding: xchunked\r\n\r\n${SMUGGLED}`],
    ['a disguised transfer encoding', `POST /tools HTTP/1.1\r\n${END}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['a folded header (obs-fold)', `GET /tools HTTP/1.1\r\n${END}X-A: b\r\n c\r\n\r\n`],
    ['a folded transfer encoding', `POST /tools HTTP/1.1\r\n${END}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
    ['lines that end with a bare LF', `GET /tools HTTP/1.1\nHost: localhost\n\n`],
    ['a header line that ends with a bare LF', `GET /tools HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n`],
    ['a bare CR in a header', `GET /tools HTTP/1.1\r\n${END}X: a\rb\r\n\r\n`],
    ['a NUL in a header', `GET /tools HTTP/1.1\r\n${END}X: a\0b\r\n\r\n`],
    ['two hosts', `GET /tools HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\n\r\n`],
  ])('with %s is refused and closed, and what follows is no request', async (_, text) => {
    const answer = statuses(await talk(await start(), `${text}${SMUGGLED}`));
    expect(answer).toEqual([400]);
  });

  it('that sends a body with GET is refused and closed', async () => {
    const answer = await talk(await start(), `GET /tools HTTP/1.1\r\n${END}Content-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`);
    expect(statuses(answer)).toEqual([400]);
    expect(answer).toContain('BODY_NOT_ALLOWED');
  });

  it('may send 16 KiB of headers and no more', async () => {
    const answer = await talk(await start(), `GET /health HTTP/1.1\r\n${END}X: ${'a'.repeat(17_000)}\r\n\r\n`);
    expect(statuses(answer)).toEqual([431]);
  });

  it('may send 100 requests; the last answer says that it closes', async () => {
    const running = await start();
    const answer = await talk(running, `GET /health HTTP/1.1\r\n${END}\r\n`.repeat(100));
    expect(statuses(answer)).toEqual(Array.from({ length: 100 }, () => 200));
    expect(answer.match(/^connection: close/gim)).toHaveLength(1);
  });

  it('that never ends its request makes way for others, however many there are (Slowloris)', async () => {
    const running = await start();
    const slow = Array.from({ length: 400 }, () => socketTo(running));
    await Promise.all(
      slow.map(async (socket) => {
        await once(socket, 'connect');
        socket.write('GET /tools HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
      }),
    );
    for (let index = 0; index < 20; index++) expect((await fetch(`${running.url}/health`, { headers: { connection: 'close' } })).status).toBe(200);
    // 256 are kept at most, so that these and more had to go.
    await waitFor(() => slow.filter((socket) => socket.destroyed || socket.closed).length >= 400 - 256);
  });

  it('that waits for an answer is not closed in favour of a new one', async () => {
    const running = await start({ maxListeners: 300 });
    const listening = request(`${running.url}/events`).end();
    open.push(() => listening.destroy());
    const [response] = (await once(listening, 'response')) as [NodeJS.ReadableStream];
    let closed = false;
    response.on('close', () => (closed = true)).resume();
    listening.on('error', () => (closed = true));
    const others = Array.from({ length: 300 }, () => socketTo(running));
    await Promise.all(others.map((socket) => once(socket, 'connect')));
    await waitFor(() => others.filter((socket) => socket.destroyed || socket.closed).length >= 300 - 255);
    expect(closed).toBe(false);
  });
});

/** Waits, event by event, until something holds. */
async function waitFor(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
