import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { isToolError } from '../../src/index.js';
import { runTool } from '../../src/testing.js';
import { findDefinitions } from '../../src/tool/find-definitions.js';
import { guardedFetch } from '../../tools/walls/guarded-fetch.js';
import { UrlWall } from '../../tools/walls/url-wall.js';
import { CheckUrl, ExtractLinks, FetchUrl, HttpRequest } from '../../tools/web/index.js';

const servers: Server[] = [];
const local = new UrlWall({ allowPrivate: true });

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function servePage(
  body: string | Buffer,
  headers: Record<string, string> = { 'content-type': 'text/html; charset=utf-8' },
  status = 200,
) {
  return serve((_request, response) => response.writeHead(status, headers).end(body));
}

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const read = (url: string, more: { offset?: number; maxChars?: number } = {}) =>
  new FetchUrl(local).execute({ url, ...more }, {});

it('fetch_url returns an image or PDF, recognized from its bytes, as content', async () => {
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1]);
  const url = await servePage(png, { 'content-type': 'application/octet-stream' });
  const { outcome } = await runTool(new FetchUrl(local), { url: `${url}/a/logo.png?x=1` });
  expect(outcome).toMatchObject({
    status: 'ok',
    value: { status: 200, contentType: 'image/png', bytes: 10, truncated: false },
    content: [
      { type: 'image', mediaType: 'image/png', name: 'logo.png', data: png.toString('base64') },
    ],
  });
});

it('fetch_url refuses bytes that only claim to be an image, and an image of more than 5 MiB', async () => {
  const said = {
    status: 'error',
    message: expect.stringContaining(
      'Only text, HTML, JSON, and images or PDFs of at most 5 MiB can be read',
    ),
  };
  expect(
    await read(await servePage(Buffer.from([0, 1]), { 'content-type': 'image/png' })),
  ).toMatchObject(said);
  const large = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(5 * 2 ** 20)]);
  expect(await read(await servePage(large, { 'content-type': 'image/jpeg' }))).toMatchObject(said);
});

it('fetch_url converts an HTML page to its title and readable lines', async () => {
  const url =
    await servePage(`<!doctype html><html><head><title>A &amp; B</title><style>p{color:red}</style>
      <script>if (1 < 2) document.write("</p>")</script></head><body><!-- hidden <p>note</p> -->
      <h1>Head</h1><p title="1 > 0">One <b>bold</b>
      word &lt;3 &#8364;&#x20AC;</p><ul><li>first<li>second</ul><table><tr><td>a<td>b</table>5 < 6</body></html>`);
  expect(await read(url)).toEqual({
    url: `${url}/`,
    status: 200,
    contentType: 'text/html',
    title: 'A & B',
    text: 'Head\nOne bold word <3 €€\n- first\n- second\na | b\n5 < 6',
    truncated: false,
    nextOffset: null,
  });
});

it('fetch_url returns JSON as data', async () => {
  const url = await servePage('{"a":[1,{"b":null}]}', {
    'content-type': 'application/problem+json',
  });
  expect(await read(url)).toMatchObject({ json: { a: [1, { b: null }] }, truncated: false });
});

it('fetch_url returns a long text in pieces without gaps', async () => {
  const whole = 'ab😀cd😀'.repeat(50);
  const url = await servePage(whole, { 'content-type': 'text/plain; charset=utf-8' });
  let joined = '';
  for (let offset: number | null = 0; offset !== null;) {
    const page = await read(url, { offset, maxChars: 7 });
    if (!('nextOffset' in page)) throw new Error('expected a page');
    expect(page.truncated).toBe(page.nextOffset !== null);
    expect((page.text ?? '').length).toBeLessThanOrEqual(7);
    expect(Buffer.from(page.text ?? '').toString()).toBe(page.text);
    joined += page.text;
    offset = page.nextOffset;
  }
  expect(joined).toBe(whole);
});

it('fetch_url decodes a page with the encoding that it declares', async () => {
  const url = await servePage(Buffer.from([0x67, 0x72, 0xfc, 0x6e]), {
    'content-type': 'text/plain; charset="ISO-8859-1"',
  });
  expect(await read(url)).toMatchObject({ text: 'grün' });
});

it('fetch_url returns the status of an HTTP error instead of failing', async () => {
  expect(await read(await servePage('<p>gone</p>', undefined, 404))).toMatchObject({
    status: 404,
    text: 'gone',
  });
});

it("fetch_url fails if the server can't be reached", async () => {
  const url = await servePage('');
  await new Promise((resolve) => servers.pop()?.close(resolve));
  expect(await read(url)).toMatchObject({
    status: 'error',
    message: expect.stringContaining('ECONNREFUSED'),
  });
});

it('fetch_url refuses private addresses by default', async () => {
  const error: unknown = await new FetchUrl()
    .execute({ url: 'http://127.0.0.1:8080/' }, {})
    .catch((thrown: unknown) => thrown);
  expect(isToolError(error, 'FORBIDDEN_URL')).toBe(true);
});

it('fetch_url stops if the caller aborts', async () => {
  const controller = new AbortController();
  const url = await serve(() => controller.abort());
  const error: unknown = await new FetchUrl(local)
    .execute({ url }, { signal: controller.signal })
    .catch((thrown: unknown) => thrown);
  expect(isToolError(error, 'ABORTED')).toBe(true);
});

it.each([
  ['unclosed tags', '<a '.repeat(100_000)],
  ['unclosed comments', '<!--'.repeat(100_000)],
  ['only equals signs', `<a ${'='.repeat(400_000)}>`],
  ['deep nesting', '<div>'.repeat(100_000)],
])('fetch_url reads a hostile page with %s', async (_what, html) => {
  expect(await read(await servePage(html))).toMatchObject({ status: 200 });
});

it('check_url returns the status, type, size, and redirects without reading the page', async () => {
  const methods: unknown[] = [];
  const url = await serve((request, response) => {
    methods.push(request.method);
    if (request.url === '/') response.writeHead(302, { location: '/page' }).end();
    else
      response
        .writeHead(200, {
          'content-type': 'text/html',
          'content-length': '1234',
          'last-modified': 'Tue, 02 Jan 2024 03:04:05 GMT',
        })
        .end();
  });
  expect(await new CheckUrl(local).execute({ url }, {})).toEqual({
    url: `${url}/page`,
    status: 200,
    ok: true,
    contentType: 'text/html',
    size: 1234,
    lastModified: 'Tue, 02 Jan 2024 03:04:05 GMT',
    redirects: [`${url}/page`],
  });
  expect(methods).toEqual(['HEAD', 'HEAD']);
});

it('http_request sends the method, headers, and body, and returns the response', async () => {
  const url = await serve((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      response.writeHead(201, {
        'content-type': 'application/json',
        'x-id': '17',
        'set-cookie': 'session=secret',
      });
      response.end(
        JSON.stringify({
          method: request.method,
          path: request.url,
          type: request.headers['content-type'],
          length: request.headers['content-length'],
          body: Buffer.concat(parts).toString(),
        }),
      );
    });
  });
  const answer = await new HttpRequest(local).execute(
    {
      url: `${url}/a?b=c#d`,
      method: 'POST',
      headers: { 'Content-Type': 'text/plain' },
      body: 'grüße',
    },
    {},
  );
  expect(answer).toMatchObject({ status: 201, headers: { 'x-id': '17' }, truncated: false });
  expect(JSON.stringify(answer)).not.toContain('secret');
  expect(JSON.parse((answer as { body: string }).body)).toEqual({
    method: 'POST',
    path: '/a?b=c',
    type: 'text/plain',
    length: '7',
    body: 'grüße',
  });
});

it.each(['GET', 'HEAD', 'OPTIONS'] as const)(
  'http_request fails before sending anything if the method is %s and there is a body',
  async (method) => {
    let requests = 0;
    const url = await serve((_request, response) => {
      requests += 1;
      response.end();
    });
    expect(await new HttpRequest(local).execute({ url, method, body: 'x' }, {})).toMatchObject({
      status: 'error',
    });
    expect(requests).toBe(0);
  },
);

it("http_request returns no body for a response that isn't text, and an empty body for a response without a body", async () => {
  const image = await servePage(Buffer.from([1, 2]), { 'content-type': 'image/png' });
  expect(await new HttpRequest(local).execute({ url: image, method: 'GET' }, {})).toMatchObject({
    body: null,
  });
  const empty = await serve((_request, response) => response.writeHead(204).end());
  expect(await new HttpRequest(local).execute({ url: empty, method: 'DELETE' }, {})).toMatchObject({
    status: 204,
    body: '',
  });
});

it('http_request truncates a long response and reports truncation', async () => {
  const url = await servePage('x'.repeat(60_000), { 'content-type': 'text/plain' });
  const answer = await new HttpRequest(local).execute({ url, method: 'GET' }, {});
  expect(answer).toMatchObject({ truncated: true, body: 'x'.repeat(50_000) });
});

it('http_request uses its URL as a read key, and also as a write key if the method can change something', () => {
  const keys = (method: string) =>
    findDefinitions(HttpRequest)[0]?.conflictKeys?.({ url: 'https://example.com/a', method });
  for (const method of ['GET', 'HEAD', 'OPTIONS'])
    expect(keys(method)).toEqual({ reads: ['https://example.com/a'], writes: [] });
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    expect(keys(method)).toEqual({
      reads: ['https://example.com/a'],
      writes: ['https://example.com/a'],
    });
});

it("http_request passes a canonical URL to the policy, and leaves text that isn't a URL unchanged", () => {
  const urlOf = (url: string) =>
    (findDefinitions(FetchUrl)[0]!.inputSchema as z.ZodObject<{ url: z.ZodString }>).parse({
      url,
    }).url;
  expect(
    ['HTTPS://Example.COM.:443/%7Ea?b=%2f#c', 'no url', 'http://2130706433/'].map(urlOf),
  ).toEqual(['https://example.com/~a?b=%2F#c', 'no url', 'http://127.0.0.1/']);
});

describe('extract_links', () => {
  const page = `<base href="/docs/"><a href="one.html">One</a> <A HREF='/two'> Two <b>bold</b></A>
    <a href="https://other.example.com/x#top">Other</a><a href="one.html#part">again</a><a href="mailto:a@example.com">mail</a>
    <a href="javascript:alert(1)">js</a><a name=x>no link</a><a href=three?a=1&amp;b=2>Three<a href="http://[bad">bad</a>`;

  it('lists each target once, as an absolute URL with its link text', async () => {
    const url = await servePage(page);
    expect(await new ExtractLinks(local).execute({ url }, {})).toEqual({
      url: `${url}/`,
      status: 200,
      links: [
        { url: `${url}/docs/one.html`, text: 'One' },
        { url: `${url}/two`, text: 'Two bold' },
        { url: 'https://other.example.com/x', text: 'Other' },
        { url: `${url}/docs/three?a=1&b=2`, text: 'Three' },
      ],
      found: 4,
      truncated: false,
    });
  });

  it('respects sameOrigin and limit', async () => {
    const url = await servePage(page);
    const answer = await new ExtractLinks(local).execute({ url, sameOrigin: true, limit: 2 }, {});
    expect(answer).toMatchObject({
      links: [{ text: 'One' }, { text: 'Two bold' }],
      found: 3,
      truncated: true,
    });
  });
});

describe('guardedFetch', () => {
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'passed',
      (error: unknown) => (isToolError(error) ? error.code : error),
    );

  it('stops decompressing a gzip bomb at the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
    const url = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    const answer = await guardedFetch(url, { wall: local, maxBytes: 1000 });
    expect([answer.body.length, answer.truncated]).toEqual([1000, true]);
  });

  it('stops reading an endless body at the limit', async () => {
    const url = await serve((_request, response) => {
      const more = () => {
        while (response.writable && response.write('x'.repeat(10_000)));
      };
      response.on('drain', more);
      more();
    });
    const answer = await guardedFetch(url, { wall: local, maxBytes: 100_000 });
    expect([answer.body.length, answer.truncated]).toEqual([100_000, true]);
  });

  it('times out if the server never answers', async () => {
    const url = await serve(() => {});
    expect(await codeOf(guardedFetch(url, { wall: local, timeoutMs: 30 }))).toBe('TIMEOUT');
  });
});
