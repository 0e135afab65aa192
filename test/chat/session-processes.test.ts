import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderWith } from '../folder-with.js';
import { SessionStore } from '../../src/chat.js';
import { RedisStateStore } from '../../src/state.js';
import { RedisServer, redisPresent, warnIfNoRedis } from '../state/redis-server.js';
import { resultsIn } from './session-thread.js';
import { assertSendable, callId, kindOf, type Script } from './session-world.js';
import { program, ROOT } from '../programs.js';

warnIfNoRedis('sessions of processes that are killed');

/** Runs a process and kills it after it has printed a number of lines. @returns The lines. */
async function run(args: readonly string[], killAt: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [program('test/chat/session-child.ts'), ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout))
    if (lines.push(line) === killAt) child.kill('SIGKILL');
  const [code] = (await ended) as [number | null];
  if (code !== null && code !== 0)
    throw new Error(`Expected the process to be killed or to end well, got the exit code ${code}.`);
  return lines;
}

describe.skipIf(!redisPresent)(
  'processes that share a session (skipped without redis-server)',
  () => {
    let server: RedisServer;
    const folder = folderWith();
    beforeAll(async () => {
      server = await RedisServer.start();
    });
    afterAll(async () => {
      await server.stop();
    });

    it('a session finishes although its processes are killed: each call gets one result, and each effect happens at most once', async () => {
      const script: Script = [
        ['auto', 'slow', 'manual', 'pay', 'auto'],
        ['idempotent', 'ask', 'fail', 'pay', 'slow'],
        ['choose', 'payAsk', 'auto', 'throw'],
      ];
      const file = join(folder, 'effects');
      writeFileSync(file, '');
      const args = [server.url, file, JSON.stringify(script)];
      let killed = 0;
      let lines: readonly string[] = [];
      for (const killAt of [4, 7, 9, 6, 12, Infinity]) {
        lines = await run(args, killAt);
        if (lines.at(-1) === 'completed') break;
        killed += 1;
      }
      expect(lines.at(-1)).toBe('completed');
      expect(killed).toBeGreaterThan(2);
      const store = await RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 });
      const session = (await new SessionStore({ store }).open('s'))!;
      await store.close();
      assertSendable(session.messages);
      const results = resultsIn(session.messages);
      expect(results.map(([id]) => id)).toEqual(
        script.flatMap((turn, at) => turn.map((_, position) => callId(at, position))),
      );
      const effects = readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '' && kindOf(script, line) !== 'idempotent');
      expect(effects.filter((id, at) => effects.indexOf(id) !== at)).toEqual([]);
      // If a call had no effect, its result must say that the call may have run.
      const output = new Map(results);
      for (const id of script.flatMap((turn, at) =>
        turn.map((_, position) => callId(at, position)),
      )) {
        const result = JSON.stringify(output.get(id));
        if (
          kindOf(script, id) !== 'manual' &&
          kindOf(script, id) !== 'idempotent' &&
          !effects.includes(id)
        )
          expect(result).toContain('may have run');
      }
    });

    it('each effect happens at most once if several processes continue one session at the same time', async () => {
      await server.flush();
      const script: Script = [
        ['auto', 'pay', 'slow', 'pay', 'manual'],
        ['pay', 'ask', 'auto', 'payAsk'],
        ['auto', 'pay', 'slow'],
      ];
      const file = join(folder, 'effects-of-two');
      writeFileSync(file, '');
      const args = [server.url, file, JSON.stringify(script)];
      const ends = await Promise.all([0, 1].map(() => run(args, Infinity)));
      expect(ends.map((lines) => lines.at(-1))).toEqual(['completed', 'completed']);
      const effects = readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
      expect(effects.filter((id, at) => effects.indexOf(id) !== at)).toEqual([]);
      const store = await RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 });
      const session = (await new SessionStore({ store }).open('s'))!;
      await store.close();
      assertSendable(session.messages);
      expect(resultsIn(session.messages).map(([id]) => id)).toEqual(
        script.flatMap((turn, at) => turn.map((_, position) => callId(at, position))),
      );
    });
  },
);
