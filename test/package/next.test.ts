import { execFile, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { BUNDLERS, ROOT } from '../programs.js';
import { install } from './consumer.js';
import { SURFACE } from './surface.js';

const EXAMPLE = join(ROOT, 'docs/examples/next');
const NEXT = 'node_modules/next/dist/bin/next';
const from = (folder: string, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, join(folder, name)]));
const FRAMEWORK = from(BUNDLERS, ['next', 'react', 'react-dom', '@types/react']);
const OPTIONAL = ['@langchain/core', '@modelcontextprotocol/server', '@opentelemetry/api', 'redis'];
/** The audit reads code, and Nest is a server of its own. Neither belongs into a Next app. */
const ENTRIES = Object.keys(SURFACE).filter((name) => !/audit|nestjs/.test(name));

/** Runs one tool, and calls each function that needs an optional package. */
const ROUTE = `${ENTRIES.map((entry, index) => `import * as entry${index} from '${entry}';`).join('\n')}
const all = Object.assign({}, ${ENTRIES.map((_, index) => `entry${index}`).join(', ')});
export async function GET() {
  const registry = new all.ToolMetadataRegistry();
  registry.register(all.defineTool({ name: 'add', description: 'Adds', inputSchema: {}, accessMode: 'readonly', execute: () => 1 + 2 }));
  const executor = new all.ToolExecutor({ registry });
  const { value } = await executor.execute({ id: '1', name: 'add', input: {} });
  const calls = [
    () => all.toLangChainTools(registry, { executor }),
    () => all.createMcpServer(registry).serveHttp({ port: 0 }).then((served) => served.close()),
    () => all.openTelemetry(),
    () => all.RedisStateStore.connect({ url: 'redis://127.0.0.1:1' }).then((store) => store.close()),
  ];
  const messages = [];
  for (const call of calls) messages.push(await call().then(() => '', (error) => String(error.message)));
  return Response.json({ value, messages });
}`;

// A build that traces files takes minutes, and many on a busy machine.
vi.setConfig({ testTimeout: 1_800_000 });

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tooldex-next-')));
  folders.push(folder);
  return folder;
}

/** Returns a Next app with the route. The packages are links, so the root of the app is the file system's. */
function appWith(packages: Readonly<Record<string, string>>, config: string): string {
  const folder = temporaryFolder();
  install(folder, {
    ...FRAMEWORK,
    ...from(join(ROOT, 'node_modules'), ['typescript', '@types/node']),
    ...packages,
  });
  for (const file of ['package.json', 'tsconfig.json', 'app/layout.tsx'])
    cpSync(join(EXAMPLE, file), join(folder, file));
  mkdirSync(join(folder, 'app/entries'));
  writeFileSync(join(folder, 'app/entries/route.js'), ROUTE);
  writeFileSync(
    join(folder, 'next.config.mjs'),
    `export default { outputFileTracingRoot: '/', turbopack: { root: '/' }, ${config} };`,
  );
  return folder;
}

const env = { PATH: process.env['PATH'], HOME: tmpdir(), NEXT_TELEMETRY_DISABLED: '1', CI: 'true' };

async function build(cwd: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [NEXT, 'build', ...args], { cwd, env });
}

/** Starts a server, which is stopped at the end of the test. @returns its address. */
async function start(cwd: string, ...args: readonly string[]): Promise<string> {
  const port = await freePort();
  const server = spawn(process.execPath, args, {
    cwd,
    env: { ...env, PORT: String(port), HOSTNAME: '127.0.0.1', NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void server.kill());
  for await (const text of server.stdout) if (String(text).includes('Ready')) break;
  server.stdout.resume();
  return `http://127.0.0.1:${port}`;
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => resolve(port));
    });
  });
}

interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly approvalId?: string;
  readonly signature?: string;
  readonly output?: unknown;
  readonly delta?: string;
}

/** Posts the messages of a chat. @returns the parts of the answer. */
async function post(address: string, parts: readonly object[] = []): Promise<readonly Part[]> {
  const user = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Refund order 17.' }] };
  const answer = parts.length === 0 ? [] : [{ id: 'm2', role: 'assistant', parts }];
  const response = await fetch(`${address}/api/chat`, {
    method: 'POST',
    body: JSON.stringify({ id: 'chat', messages: [user, ...answer] }),
  });
  return [...(await response.text()).matchAll(/^data: (\{.*\})$/gm)].map(
    ([, json]) => JSON.parse(json!) as Part,
  );
}

const missing = OPTIONAL.map((name) => expect.stringContaining(`npm install ${name}`) as string);

describe.skipIf(!existsSync(FRAMEWORK['next']!))(
  'a Next app (skipped without npm ci --prefix test/bundlers)',
  () => {
    it.each([
      ['Turbopack', ''],
      ['webpack', '--webpack'],
    ])(
      'that imports every entry point for servers builds with %s without the optional packages, runs a tool, and reports what is missing',
      async (_, bundler) => {
        // The files of the server itself aren't traced, which would take most of the time.
        const app = appWith({}, "outputFileTracingExcludes: { 'next-server': ['**/*'] }");
        await build(app, ...(bundler === '' ? [] : [bundler]));
        const address = await start(app, NEXT, 'start');
        const found = (await (await fetch(`${address}/entries`)).json()) as { messages: string[] };
        // Next contains OpenTelemetry and Turbopack finds it there.
        if (found.messages[2] === '') found.messages[2] = 'npm install @opentelemetry/api';
        expect(found).toEqual({ value: 3, messages: missing });
      },
    );

    it('of the examples runs from its standalone output, which contains the optional packages, and refunds once after an approval', async () => {
      const app = appWith(
        {
          ...from(BUNDLERS, ['@ai-sdk/react']),
          ...from(join(ROOT, 'node_modules'), ['ai', ...OPTIONAL]),
        },
        "output: 'standalone'",
      );
      cpSync(join(EXAMPLE, 'app'), join(app, 'app'), { recursive: true });
      await build(app);
      const moved = temporaryFolder();
      cpSync(join(app, '.next/standalone'), moved, { recursive: true, verbatimSymlinks: true });
      rmSync(app, { recursive: true });
      const address = await start(join(moved, app), 'server.js');

      const { value, messages } = (await (await fetch(`${address}/entries`)).json()) as {
        value: number;
        messages: string[];
      };
      expect(value).toBe(3);
      for (const message of messages) expect(message).not.toContain('npm install');

      const asked = await post(address);
      const { approvalId, signature, toolCallId } = asked.find(
        ({ type }) => type === 'tool-approval-request',
      )!;
      const approved = {
        type: 'tool-refund_order',
        toolCallId,
        state: 'approval-responded',
        input: { order: 17, cents: 1250 },
        approval: { id: approvalId, approved: true, ...(signature && { signature }) },
      };
      const answer = await post(address, [approved]);
      expect(answer.find(({ type }) => type === 'tool-output-available')?.output).toEqual({
        item: 'teapot',
        cents: 1250,
        refunded: 1250,
      });
      expect(answer.flatMap(({ delta }) => delta ?? []).join('')).toBe('Order 17 is settled.');
      // The same messages again don't refund it twice.
      const repeated = await post(address, [approved]);
      expect(repeated.some(({ type }) => type === 'tool-output-error')).toBe(true);
    });
  },
);
