import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { createMcpServer } from '../../src/mcp/server/create-mcp-server.js';
import { ROOT } from '../programs.js';
import { INITIALIZE } from './server-clients.js';
import { sampleRegistry } from './server-tools.js';

const PROXY = readFileSync(join(ROOT, 'docs/examples/tls-proxy.mjs'), 'utf8');
const HOST = 'tools.example';

interface Answered {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/**
 * Serves the sample tools behind the proxy with a new certificate. Returns a function that sends
 * requests through the proxy.
 */
async function served() {
  const folder = mkdtempSync(join(tmpdir(), 'tooldex-proxy-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [key, cert, program] = ['key.pem', 'cert.pem', 'tls-proxy.mjs'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const certificate = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '1',
    '-subj',
    `/CN=${HOST}`,
    '-addext',
    `subjectAltName=DNS:${HOST}`,
  ];
  execFileSync('openssl', [...certificate, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  writeFileSync(program, PROXY);
  const server = createMcpServer(sampleRegistry(), {
    allowedHosts: [HOST],
    resource: { url: `https://${HOST}/mcp` },
    verify: (token) => (token === 'token-of-ada' ? { principal: 'ada' } : undefined),
  });
  onTestFinished(() => server.close());
  const running = await server.serveHttp({ port: 0 });
  const child = spawn(process.execPath, [program], {
    env: { TLS_KEY: key, TLS_CERT: cert, PORT: '0', SERVER_PORT: new URL(running.url).port },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill());
  const port = Number((await createInterface(child.stdout)[Symbol.asyncIterator]().next()).value);
  const ask = (
    path: string,
    {
      method = 'GET',
      headers = {},
      body,
    }: {
      readonly method?: string;
      readonly headers?: Record<string, string>;
      readonly body?: object;
    } = {},
  ) =>
    new Promise<Answered>((resolve, reject) => {
      const asked = request(
        {
          host: '127.0.0.1',
          port,
          path,
          method,
          ca: readFileSync(cert),
          servername: HOST,
          headers: { host: HOST, ...headers },
        },
        (answer) => {
          let text = '';
          answer
            .on('data', (chunk: Buffer) => (text += chunk.toString()))
            .on('end', () =>
              resolve({ status: answer.statusCode, headers: answer.headers, body: text }),
            );
        },
      );
      asked.on('error', reject);
      asked.end(body && JSON.stringify(body));
    });
  return { ask, stop: () => running.close() };
}

const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const OF_ADA = { ...JSON_HEADERS, authorization: 'Bearer token-of-ada' };

it('a server behind the documented TLS proxy can be used under its public name, with sessions and streams', async () => {
  const { ask } = await served();
  const opened = await ask('/mcp', { method: 'POST', headers: OF_ADA, body: INITIALIZE });
  expect([opened.status, opened.headers['content-type']]).toEqual([200, 'text/event-stream']);
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  const called = await ask('/mcp', {
    method: 'POST',
    headers: { ...OF_ADA, ...session },
    body: {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'add', arguments: { a: 2, b: 3 } },
    },
  });
  expect(called.body).toContain('"sum":5');
  expect((await ask('/healthz')).status).toBe(200);
});

it('a server behind a proxy refers clients without a token to its public URL, even if forged headers claim another URL', async () => {
  const { ask } = await served();
  const forwarded = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'http',
    forwarded: 'host=evil.example;proto=http',
  };
  const refused = await ask('/mcp', {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...forwarded },
    body: INITIALIZE,
  });
  expect([refused.status, refused.headers['www-authenticate']]).toEqual([
    401,
    'Bearer realm="tooldex", resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp"',
  ]);
  expect(
    JSON.parse(
      (await ask('/.well-known/oauth-protected-resource/mcp', { headers: forwarded })).body,
    ),
  ).toMatchObject({ resource: 'https://tools.example/mcp' });
  const elsewhere = await ask('/mcp', {
    method: 'POST',
    headers: { ...OF_ADA, host: 'evil.example', 'x-forwarded-host': HOST },
    body: INITIALIZE,
  });
  expect(elsewhere.status).toBe(403);
});
