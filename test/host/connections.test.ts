import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SERVERS, requestOf, socketTo, statuses, talk, waitFor } from './listening-servers.js';

/** More connections than a server accepts. */
const CROWD = 1_200;
const PLACES = 1_024;

/** Opens connections that each send the same bytes and nothing more. */
async function crowdOf(url: string, bytes: string): Promise<readonly Socket[]> {
  const crowd: Socket[] = [];
  while (crowd.length < CROWD) {
    // Opens only as many connections at a time as the system queues before the server accepts them.
    const sockets = Array.from({ length: 100 }, () => socketTo(url).resume());
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) socket.write(bytes);
    crowd.push(...sockets);
  }
  return crowd;
}

const closedOf = (crowd: readonly Socket[]) =>
  crowd.filter((socket) => socket.destroyed || socket.closed).length;

/**
 * Both servers have the same rule for connections, so each kind of connection is tested with only one
 * server.
 */
const HALF_SENT = [
  [
    'the catalogue',
    'never end their headers',
    'GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ',
  ],
  ['the catalogue', 'send nothing', ''],
  [
    'MCP over HTTP',
    'never send the rest of their body',
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{',
  ],
] as const;

describe.each(SERVERS)('$name', (server) => {
  const halfSent = HALF_SENT.filter(([name]) => name === server.name);
  it.each(halfSent)(
    `keeps answering while ${CROWD} connections to %s %s`,
    async (_, _how, bytes) => {
      const url = await server.start();
      const crowd = await crowdOf(url, bytes);
      for (let index = 0; index < 20; index++)
        expect(statuses(await talk(url, requestOf(server)))).toEqual([200]);
      await waitFor(() => closedOf(crowd) >= CROWD - PLACES);
    },
  );

  it('keeps a connection that waits for an answer, however many new connections are opened', async () => {
    const url = await server.start();
    const listening = request(new URL(server.streamPath, url), {
      headers: await server.streamHeaders(url),
    }).end();
    onTestFinished(() => void listening.destroy());
    const [response] = (await once(listening, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    let isClosed = false;
    for (const end of ['close', 'error', 'end']) response.on(end, () => (isClosed = true));
    response.resume();
    const crowd = await crowdOf(url, '');
    await waitFor(() => closedOf(crowd) > CROWD - PLACES);
    expect(isClosed).toBe(false);
  });

  const { pathname } = new URL(server.line.split(' ')[1]!, 'http://localhost');
  const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const POST = `POST ${pathname} HTTP/1.1\r\nHost: localhost\r\n`;
  const GET = `GET ${pathname} HTTP/1.1\r\n`;

  it.each([
    [
      'a length and chunked encoding (CL.TE)',
      `${POST}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG`,
    ],
    [
      'chunked encoding and a length (TE.CL)',
      `${POST}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${SMUGGLED}`,
    ],
    ['two lengths', `${POST}Content-Length: 0\r\nContent-Length: 44\r\n\r\n${SMUGGLED}`],
    ['a list of lengths', `${POST}Content-Length: 0, 44\r\n\r\n${SMUGGLED}`],
    ['a signed length', `${POST}Content-Length: +44\r\n\r\n${SMUGGLED}`],
    ['an unknown transfer encoding', `${POST}Transfer-Encoding: xchunked\r\n\r\n${SMUGGLED}`],
    ['a disguised transfer encoding', `${POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['a folded header (obs-fold)', `${GET}Host: localhost\r\nX-A: b\r\n c\r\n\r\n`],
    ['a folded transfer encoding', `${POST}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
    ['lines that end with a bare LF', `GET ${pathname} HTTP/1.1\nHost: localhost\n\n`],
    ['a header line that ends with a bare LF', `${GET}Host: localhost\nX: y\r\n\r\n`],
    ['a bare CR in a header', `${GET}Host: localhost\r\nX: a\rb\r\n\r\n`],
    ['a NUL in a header', `${GET}Host: localhost\r\nX: a\0b\r\n\r\n`],
  ])(
    "rejects a request with %s and closes the connection, so the remaining bytes aren't read as another request",
    async (_, text) => {
      expect(statuses(await talk(await server.start(), `${text}${SMUGGLED}`))).toEqual([400]);
    },
  );

  it('accepts at most 16 KiB of headers', async () => {
    const url = await server.start();
    expect(
      statuses(await talk(url, requestOf(server, { more: `X: ${'a'.repeat(15_000)}\r\n` }))),
    ).toEqual([200]);
    expect(
      statuses(await talk(url, requestOf(server, { more: `X: ${'a'.repeat(17_000)}\r\n` }))),
    ).toEqual([431]);
  });

  it('closes a connection after 100 requests and announces it in the last response', async () => {
    const url = await server.start();
    // Node closes the connection some seconds after announcing it.
    const answer = await talk(url, requestOf(server, { closes: false }).repeat(100), (said) =>
      /^connection: close/im.test(said),
    );
    expect(statuses(answer)).toEqual(Array.from({ length: 100 }, () => 200));
    expect(answer.match(/^connection: close/gim)).toHaveLength(1);
  });

  it("doesn't replace the process's global Request and Response", async () => {
    const before = [globalThis.Request, globalThis.Response];
    await server.start();
    expect([globalThis.Request, globalThis.Response]).toEqual(before);
  });
});
