import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  askUser,
  defineTool,
  fromStore,
  ToolExecutor,
  ToolMetadataRegistry,
} from '../../src/index.js';
import { RedisStateStore } from '../../src/state.js';
import { redisPresent, RedisServer, warnIfNoRedis } from '../state/redis-server.js';
import { folderWith, tooldex } from './command-line.js';
import { FakeTerminal } from './fake-terminal.js';

warnIfNoRedis('tooldex pending');

const KEY = randomBytes(32);
const folder = folderWith({ 'approval.key': `${KEY.toString('hex')}\n`, 'short.key': 'abc' });
const keyFile = join(folder, 'approval.key');

describe('tooldex pending', () => {
  it('explains which options it requires, and refuses a key that is too short', async () => {
    expect(await tooldex(['pending'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--approval-key-file'),
    });
    const short = join(folder, 'short.key');
    expect(
      await tooldex(['deny', 'x', '--redis', 'redis://h', '--approval-key-file', short]),
    ).toMatchObject({ code: 2, err: expect.stringContaining('openssl rand -hex 32') });
  });
});

describe.skipIf(!redisPresent)(
  'tooldex pending with a Redis (skipped without redis-server)',
  () => {
    let redis: RedisServer;
    let store: RedisStateStore;
    const sent: unknown[] = [];
    let executor: ToolExecutor;

    beforeAll(async () => {
      redis = await RedisServer.start();
      store = await RedisStateStore.connect({ url: redis.url, timeoutMs: 10_000 });
      const registry = new ToolMetadataRegistry();
      registry.registerAll([
        defineTool({
          name: 'refund',
          description: 'Refunds an order',
          inputSchema: z.object({ order: z.number() }),
          accessMode: 'write',
          reads: [],
          sends: 'nowhere',
          execute: ({ order }) => sent.push(order),
        }),
        defineTool({
          name: 'mail',
          description: 'Sends a mail',
          inputSchema: z.object({ text: z.string() }),
          accessMode: 'write',
          execute: () => 'sent',
        }),
        defineTool({
          name: 'pick',
          description: 'Lets the user pick a colour',
          inputSchema: {},
          accessMode: 'readonly',
          execute: () => askUser('Which colour?', ['red', 'blue']),
        }),
      ]);
      const confirm = fromStore({ store, timeoutMs: 60_000, pollMs: 20 });
      executor = new ToolExecutor({ registry, store, approvalKey: KEY, confirm });
    });
    afterAll(async () => {
      await executor.close();
      await store.close();
      await redis.stop();
    });

    const at = (...args: string[]) =>
      tooldex([...args, '--redis', redis.url, '--approval-key-file', keyFile]);
    const list = async () =>
      (
        JSON.parse((await at('pending', '--json')).out) as {
          readonly pending: readonly { readonly id: string; readonly toolName: string }[];
        }
      ).pending;

    /** Returns the id of the only waiting call. */
    async function waiting(): Promise<string> {
      for (;;) {
        const [first] = await list();
        if (first !== undefined) return first.id;
      }
    }

    it('lists a pending call, shows it in full, and approves it with edited arguments', async () => {
      const outcome = executor.execute(
        { id: '1', name: 'refund', input: { order: 7 } },
        { principal: 'ada' },
      );
      const id = await waiting();
      expect(await at('pending')).toMatchObject({
        code: 0,
        out: expect.stringMatching(/refund +approval +\w+ +ada +\d+ s +\{"order":7\}/),
      });
      expect((await at('pending', id.slice(0, 8))).out).toContain('order');
      expect((await at('pending', '--json')).out).not.toContain('signature');
      expect(
        await at('approve', id.slice(0, 8), '--input', '{"order": 8}', '--operator', 'rita'),
      ).toMatchObject({ code: 0, out: expect.stringContaining(`approved ${id}`) });
      expect(await outcome).toMatchObject({ status: 'ok' });
      expect(sent).toEqual([8]);
      expect(await at('deny', id)).toMatchObject({
        code: 2,
        err: expect.stringContaining('(approve, by rita)'),
      });
      expect((await at('pending')).out).toBe('nothing waits for an answer with this key\n');
    });

    it('approves further calls with a grant, and denies a call', async () => {
      const granted = executor.execute({ id: '2', name: 'refund', input: { order: 1 } });
      expect(
        await at('approve', await waiting(), '--grant', '{"uses": 1}', '--json'),
      ).toMatchObject({
        code: 0,
        out: expect.stringContaining('"grant": "'),
      });
      expect((await granted).status).toBe('ok');
      expect(
        (await executor.execute({ id: '3', name: 'refund', input: { order: 2 } })).status,
      ).toBe('ok');
      const denied = executor.execute({ id: '4', name: 'refund', input: { order: 3 } });
      expect((await at('deny', await waiting())).code).toBe(0);
      expect((await denied).status).toBe('denied');
      expect(sent).toEqual([8, 1, 2]);
    });

    it("answers a question, but only with one of the question's choices", async () => {
      expect((await executor.execute({ id: '5', name: 'pick' })).status).toBe('ask_user');
      const id = await waiting();
      expect((await at('answer', id, '"green"')).code).toBe(2);
      expect((await at('answer', id, '"red"')).code).toBe(0);
      expect(await list()).toEqual([]);
    });

    it('approves a call that was cut off only after showing all of it, or with --yes', async () => {
      const args = ['--redis', redis.url, '--approval-key-file', keyFile];
      const text = `${'a'.repeat(200)}${Array.from({ length: 80 }, (_, line) => `line ${line}`).join('\n')}`;
      const mail = (id: string) =>
        executor.request({ id, name: 'mail', input: { text } }, { principal: 'p'.repeat(50) });
      await mail('long');
      const id = await waiting();
      const rows = (await tooldex(['pending', ...args], { columns: 80 })).out.split('\n');
      expect(Math.max(...rows.map(({ length }) => length))).toBeLessThanOrEqual(80);
      const cut = await at('approve', id);
      expect([cut.code, cut.err]).toEqual([2, expect.stringContaining(`pending ${id}`)]);
      expect((await at('pending', id)).out).toContain('line 79');
      const no = new FakeTerminal({ answers: ['n'] });
      expect((await tooldex(['approve', id, ...args], { terminal: no })).code).toBe(2);
      expect(no.told).toContain('line 79');
      expect(await list()).toHaveLength(1);
      const yes = new FakeTerminal({ answers: ['y'] });
      expect((await tooldex(['approve', id, ...args], { terminal: yes })).code).toBe(0);
      await mail('longer');
      expect((await at('approve', await waiting(), '--yes')).code).toBe(0);
    });

    it('lets an operator with a token approve a call in tooldex serve', async () => {
      const tokens = join(folder, 'tokens.json');
      const token = randomBytes(16).toString('hex');
      writeFileSync(
        tokens,
        JSON.stringify([{ token, name: 'ada', roles: ['view', 'approve', 'run'] }]),
      );
      const outcome = executor.execute({ id: '6', name: 'refund', input: { order: 9 } });
      const id = await waiting();
      const terminal = new FakeTerminal();
      const flags = ['--redis', redis.url, '--approval-key-file', keyFile, '--allow-approve'];
      const code = tooldex(
        ['serve', '--port', '0', ...flags, '--allow-run', '--token-file', tokens],
        {
          terminal,
        },
      );
      await Promise.race([terminal.prints(/http:\S+/), code]);
      const [url] = /http:[^\s"]+/.exec(terminal.printed)!;
      const ask = async (path: string, body: object) =>
        (
          await fetch(new URL(path, url), {
            method: 'POST',
            headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          })
        ).json();
      const headers = { authorization: `Bearer ${token}` };
      const shown = await fetch(new URL('/pending', url), { headers });
      const { pending } = (await shown.json()) as { pending: readonly { digest: string }[] };
      const { digest } = pending[0]!;
      expect(await ask(`/pending/${id}/approve`, { digest })).toMatchObject({ done: 'approve' });
      expect((await outcome).status).toBe('ok');
      terminal.interrupt();
      expect((await code).code).toBe(0);
    });
  },
);
