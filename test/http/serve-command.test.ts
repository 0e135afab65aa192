import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import {
  createServer as createWebServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCli } from '../../src/cli/run-cli.js';
import { defineTool, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { PublishedHealth } from '../../src/providers.js';
import { RedisStateStore } from '../../src/state.js';
import { ManifestTree, toolEntry } from '../capability/manifest-tree.js';
import { tooldex } from '../cli/command-line.js';
import { FakeTerminal } from '../cli/fake-terminal.js';
import { eventually, RedisServer, redisPresent, warnIfNoRedis } from '../state/redis-server.js';
import { program } from '../programs.js';
import type { Json } from './catalogue-fixture.js';

warnIfNoRedis('tooldex serve --redis');

type Flags = Readonly<Record<string, string | true>>;

const argsOf = (flags: Flags) =>
  Object.entries(flags).flatMap(([name, value]) => [
    `--${name}`,
    ...(value === true ? [] : [value]),
  ]);

/** Runs `tooldex serve` during a test, with these environment variables. */
async function running(
  flags: Flags,
  env: Readonly<Record<string, string>>,
  test: (url: string, terminal: FakeTerminal) => Promise<void>,
  cwd = process.cwd(),
): Promise<number> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const terminal = new FakeTerminal();
  const code = runCli(['serve', '--port', '0', ...argsOf(flags)], terminal, cwd);
  await Promise.race([terminal.prints(/http:\S+/), code]);
  const [url] = /http:[^\s"]+/.exec(terminal.printed) ?? [];
  try {
    if (url === undefined) throw new Error(terminal.told);
    await test(url, terminal);
  } finally {
    terminal.interrupt();
    vi.unstubAllEnvs();
  }
  return code;
}

describe('tooldex serve', () => {
  it("applies the project's lint settings like tooldex lint, and refuses wrong settings", async () => {
    const tree = new ManifestTree({
      'functions.json': [toolEntry('open', { side_effects: 'network' })],
      'tooldex.config.json': {
        lint: { rules: { 'inferred-safety': 'error', 'no-handler': 'off' } },
      },
    });
    await running(
      { manifests: '.' },
      {},
      async (url) => {
        const { findings } = (await (await fetch(`${url}/findings`)).json()) as Json;
        expect(findings.map(({ severity, rule }) => `${String(severity)} ${String(rule)}`)).toEqual(
          ['error inferred-safety'],
        );
      },
      tree.root,
    );
    tree.write('tooldex.config.json', { lint: { rules: { 'no-handlers': 'off' } } });
    await expect(running({ manifests: '.' }, {}, async () => {}, tree.root)).rejects.toThrow(
      'tooldex.config.json: ',
    );
  });

  it("serves the bundled tools, and exits with 0 when it's interrupted", async () => {
    let address = '';
    const code = await running({}, {}, async (url, terminal) => {
      address = url;
      const { total } = (await (await fetch(`${url}/tools`)).json()) as Json;
      expect(total).toBeGreaterThan(40);
      expect(terminal.printed).toContain(`${total} tools, no problems`);
    });
    expect(code).toBe(0);
    await expect(fetch(address)).rejects.toThrow();
  });

  it('prints one line of JSON with --json', async () => {
    const tree = new ManifestTree({
      'functions.json': [toolEntry('a'), { ...toolEntry('b'), side_effects: 1 }],
    });
    await running({ manifests: tree.root, json: true as const }, {}, async (url, terminal) => {
      expect(terminal.printed.trim().split('\n')).toHaveLength(1);
      expect(JSON.parse(terminal.printed)).toEqual({ url, tools: 1, problems: 1 });
    });
  });

  it("picks up manifest edits while it's running", async () => {
    const tree = new ManifestTree({ 'functions.json': [toolEntry('a')] });
    await running({ manifests: tree.root }, {}, async (url, terminal) => {
      tree.write('functions.json', [toolEntry('a'), toolEntry('added')]);
      await terminal.prints(/revision 2: 1 added, 0 edited, 0 removed/);
      expect((await fetch(`${url}/tools/added`)).status).toBe(200);
    });
  });

  it("reads the token from the environment, unless it's passed as an option", async () => {
    const env = { TOOLDEX_TOKEN: 'token-of-the-environment' };
    const status = (url: string, token: string) =>
      fetch(`${url}/health`, { headers: { authorization: `Bearer ${token}` } }).then(
        (response) => response.status,
      );
    await running({}, env, async (url) => {
      expect([
        await status(url, 'token-of-the-environment'),
        await status(url, 'another-token-0000'),
      ]).toEqual([200, 401]);
    });
    await running({ token: 'token-of-the-option' }, env, async (url, terminal) => {
      expect([
        await status(url, 'token-of-the-option'),
        await status(url, 'token-of-the-environment'),
      ]).toEqual([200, 401]);
      expect(terminal.printed + terminal.told).not.toContain('token-of');
    });
  });

  it.each([{ host: '0.0.0.0' }, { persona: 'Atlas' }])(
    'refuses to run without a token: %j',
    async (flags) => {
      expect((await refusal(flags)).code).toBe(2);
    },
  );
});

async function refusal(flags: Flags, env: Readonly<Record<string, string>> = {}) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const { code, err } = await tooldex(['serve', '--port', '0', ...argsOf(flags)]);
  vi.unstubAllEnvs();
  return { code, err };
}

describe('tooldex serve --redis', () => {
  it('refuses a malformed Redis URL without showing it', async () => {
    for (const redis of ['', 'http://user:secret@host', 'secret', 'redis://host/secret']) {
      const refused = await refusal({}, { TOOLDEX_REDIS_URL: redis });
      expect(refused).toMatchObject({
        code: 2,
        err: expect.stringContaining('to be redis://host:port'),
      });
      expect(refused.err).not.toContain('secret');
    }
  });

  it("reports the address and the reason if Redis doesn't answer", async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    expect(await refusal({ redis: `redis://user:secret@127.0.0.1:${port}` })).toMatchObject({
      code: 1,
      err: `error Redis at 127.0.0.1:${port} isn't responding (ECONNREFUSED). Start it, or correct --redis or TOOLDEX_REDIS_URL.\n`,
    });
  });
});

describe("the machine's process list", () => {
  it.skipIf(!existsSync('/proc/self/cmdline'))(
    "doesn't show a password passed as an option (skipped without /proc)",
    async () => {
      const silent = createServer().listen(0, '127.0.0.1');
      await once(silent, 'listening');
      const { port } = silent.address() as AddressInfo;
      const child = spawn(
        process.execPath,
        [
          program('src/cli/main.ts'),
          'serve',
          '--port',
          '0',
          '--redis',
          `redis://user:secret@127.0.0.1:${port}`,
          '--token',
          'secret-token-of-a-server',
        ],
        { stdio: 'ignore' },
      );
      await Promise.race([once(silent, 'connection'), once(child, 'exit')]);
      const shown = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8');
      child.kill();
      silent.close();
      expect(shown).toMatch(/^tooldex\0*$/);
    },
  );
});

describe.skipIf(!redisPresent)(
  'tooldex serve --redis with a Redis (skipped without redis-server)',
  () => {
    let redis: RedisServer;
    beforeAll(async () => {
      redis = await RedisServer.start();
    });
    afterAll(() => redis.stop());

    it("shows other processes' calls from before and after its start, and reports if Redis is down", async () => {
      const store = await RedisStateStore.connect({ url: redis.url, timeoutMs: 10_000 });
      const tree = new ManifestTree({
        'functions.json': [
          toolEntry('read', { access_mode: 'readonly' }),
          toolEntry('later', { access_mode: 'readonly' }),
        ],
      });
      const { CapabilityRegistry } = await import('../../src/capability.js');
      const registry = (
        await CapabilityRegistry.load({
          root: tree.root,
          handlers: { read: () => 1, later: () => Promise.reject(new Error('broken')) },
        })
      ).registryFor();
      const executor = new ToolExecutor({ registry, store, confirm: () => true });
      expect(await executor.execute({ id: '1', name: 'read', input: {} })).toMatchObject({
        status: 'ok',
      });
      await executor.close();
      await running(
        { manifests: tree.root },
        { TOOLDEX_REDIS_URL: redis.url },
        async (url, terminal) => {
          const health = async (name: string) =>
            (
              (await (await fetch(`${url}/tools/${name}`)).json()) as {
                health: { tool: object; last_invocation: object | null };
              }
            ).health;
          expect(terminal.printed).toContain(`health from Redis at 127.0.0.1:${redis.port}`);
          expect(await health('read')).toMatchObject({
            tool: { total: 1, success: 1 },
            last_invocation: { success: true },
          });
          expect(await health('later')).toMatchObject({
            tool: { total: 0 },
            last_invocation: null,
          });
          const other = new ToolExecutor({ registry, store, confirm: () => true });
          await other.execute({ id: '2', name: 'later', input: {} });
          await other.close();
          await eventually(
            async () => (await health('later')).last_invocation !== null,
            'the call is shown',
          );
          expect(await health('later')).toMatchObject({
            tool: { total: 1, failure: 1 },
            last_invocation: { success: false },
          });
          await redis.kill();
          await terminal.prints(/Redis isn't responding/);
          expect(await health('later')).toMatchObject({ tool: { total: 1 } });
          await redis.restart();
          await terminal.prints(/Redis is responding again/);
        },
      );
      await store.close();
    });

    it("tells the webhook of an agent's waiting call, with a link to the public page", async () => {
      await redis.flush();
      const { root } = new ManifestTree({ 'approval.key': 'ab'.repeat(32) });
      const hook = createWebServer().listen(0, '127.0.0.1');
      const arrived = once(hook, 'request') as Promise<[IncomingMessage, ServerResponse]>;
      const store = await RedisStateStore.connect({ url: redis.url, timeoutMs: 10_000 });
      const registry = new ToolMetadataRegistry();
      registry.register(
        defineTool({
          name: 'send',
          description: 'Sends a letter',
          inputSchema: { type: 'object' },
          accessMode: 'write',
          execute: () => 'sent',
        }),
      );
      const approvalKey = Buffer.from('ab'.repeat(32), 'hex');
      const executor = new ToolExecutor({ registry, store, approvalKey });
      const flags = {
        redis: redis.url,
        'approval-key-file': 'approval.key',
        webhook: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`,
        'public-url': 'https://tools.example',
      };
      await expect(running(flags, {}, async () => {}, root)).rejects.toThrow(
        'Expected a secret for --webhook, got none. Set TOOLDEX_WEBHOOK_SECRET',
      );
      const env = { TOOLDEX_WEBHOOK_SECRET: 'secret-of-the-webhook' };
      await running(
        flags,
        env,
        async () => {
          await executor.execute({ id: '1', name: 'send' });
          const [request, response] = await arrived;
          response.end();
          const body = Buffer.concat((await request.toArray()) as Buffer[]).toString();
          const [{ id }] = (await executor.waiting()) as unknown as [{ readonly id: string }];
          const url = `https://tools.example/#/waiting?open=${id}`;
          expect(JSON.parse(body)).toMatchObject({ id, tool: 'send', url });
        },
        root,
      );
      await executor.close();
      await store.close();
      hook.close();
    });

    it('reads health under the prefix from --redis-prefix, and reports if there is no health data', async () => {
      await redis.flush();
      const store = await RedisStateStore.connect({
        url: redis.url,
        prefix: 'app1:',
        timeoutMs: 10_000,
      });
      const health = new PublishedHealth({ store });
      health.record({ kind: 'tool', name: 'read', success: true, latencyMs: 1 });
      await health.close();
      await store.close();
      const { root } = new ManifestTree({ 'functions.json': [toolEntry('read')] });
      const calls = async (url: string) =>
        (
          (await (await fetch(`${url}/tools/read`)).json()) as {
            health: { tool: { total: number } };
          }
        ).health.tool.total;
      await running(
        { manifests: root, redis: redis.url, 'redis-prefix': 'app1:' },
        {},
        async (url, terminal) => {
          expect([await calls(url), terminal.told]).toEqual([1, '']);
        },
      );
      await running({ manifests: root, redis: redis.url }, {}, async (url, terminal) => {
        expect([await calls(url), terminal.told]).toEqual([
          0,
          "This Redis has no health data with the prefix 'tooldex:' yet. If your processes use another prefix, pass it with --redis-prefix.\n",
        ]);
      });
    });
  },
);
