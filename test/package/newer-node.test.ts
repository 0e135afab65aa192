import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUNDLERS, DEADLINE_MS, NODE_22, NODE_24 } from '../programs.js';
import { install } from './consumer.js';
import { SURFACE } from './surface.js';

const NODES = { 22: NODE_22, 24: NODE_24 };
const OTHERS: Readonly<Record<string, readonly [file: string, ...args: string[]]>> = {
  Bun: [join(BUNDLERS, '@oven/bun-linux-x64/bin/bun')],
  Deno: [
    join(BUNDLERS, '@deno/linux-x64-glibc/deno'),
    'run',
    '--allow-all',
    '--node-modules-dir=manual',
  ],
};
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tooldex-newer-node-')));
const work = join(folder, 'work');

/** A program that imports and requires every entry point, and uses them. */
const PROGRAM = `
  import { createRequire } from 'node:module';
  import { AccessMode, defineTool, selectTools, tool, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
  import { CapabilityRegistry } from 'tooldex/capability';
  import { scriptedModel, Session } from 'tooldex/chat';
  import { createDiscoveryApp } from 'tooldex/http';
  import { MemoryStateStore } from 'tooldex/state';
  import { createDefaultTools } from 'tooldex/tools';
  import { z } from 'zod';

  const require = createRequire(import.meta.url);
  const names = {};
  for (const entry of ${JSON.stringify(Object.keys(SURFACE))}) names[entry] = [Object.keys(await import(entry)).sort(), Object.keys(require(entry)).sort()];

  class WordCount { execute({ text }) { return text.split(' ').length; } }
  tool({ name: 'word_count', description: 'Counts words', inputSchema: z.object({ text: z.string() }), accessMode: AccessMode.READONLY })(WordCount);
  const saved = [];
  const save = defineTool({ name: 'save', description: 'Saves a text', inputSchema: z.object({ text: z.string() }), accessMode: AccessMode.WRITE, execute: ({ text }) => saved.push(text) });
  const registry = new ToolMetadataRegistry();
  registry.registerAll([WordCount, save, ...createDefaultTools({ root: process.cwd() })]);
  const executor = new ToolExecutor({ registry, store: new MemoryStateStore() });
  const engine = { executor, model: scriptedModel([{ calls: [{ id: 'c', name: 'save', input: { text: 'x' } }, { id: 'd', name: 'write_file', input: { path: 'a.txt', content: 'Hi' } }] }, 'Saved.']) };
  const { session } = await Session.create({ id: 's' }).start(engine, 'Save it');
  const { result } = await Session.fromJSON(JSON.parse(JSON.stringify(session))).approve('c').session.approve('d').session.continue(engine);
  const app = createDiscoveryApp(await CapabilityRegistry.load({ tools: [WordCount, save] }));
  console.log(JSON.stringify({
    names,
    digests: [...registry].map(({ name, digest }) => [name, digest]),
    selected: selectTools(registry, { text: 'how many words has the file', maxTools: 5 }).tools.map(({ toolName }) => toolName),
    counted: (await executor.execute({ id: '1', name: 'word_count', input: { text: 'a b c' } })).value,
    read: (await executor.execute({ id: '2', name: 'read_file', input: { path: 'a.txt' } })).value,
    chat: result.text,
    saved,
    health: (await app.request('http://localhost/health')).status,
  }));`;

beforeAll(() => {
  install(folder, {
    '@nestjs': fileURLToPath(new URL('../../node_modules/@nestjs', import.meta.url)),
  });
  mkdirSync(work);
  writeFileSync(join(folder, 'program.mjs'), PROGRAM);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns a program's output. The test fails if there is other output, such as warnings of a newer Node. */
async function run(node: string, ...args: readonly string[]): Promise<string> {
  rmSync(work, { recursive: true });
  mkdirSync(work);
  const { stdout, stderr } = await promisify(execFile)(node, args, {
    cwd: work,
    env: { PATH: process.env['PATH'], HOME: folder, NO_COLOR: '1' },
    timeout: DEADLINE_MS,
  });
  expect(stderr.replace(/^ok +[\d.]+ m?s, 1 attempt\n/, '')).toBe('');
  return stdout;
}
const known = new Map<string, Promise<string>>();
/** Returns the output on this Node, computed once for all newer versions. */
function runHere(...args: readonly string[]): Promise<string> {
  const key = args.join('\n');
  known.set(key, known.get(key) ?? run(process.execPath, ...args));
  return known.get(key)!;
}

/** Removes parts that differ from run to run. */
const withoutTimes = (text: string) =>
  text
    .replaceAll(/"(durationMs|createdAt|expiresAt)": [\d.]+/g, '"$1": 0')
    .replaceAll(/"signature": "[\da-f]+"/g, '"signature": ""')
    // The last digit of a logarithm can differ between versions of V8.
    .replaceAll(/"score": (\d+\.\d{12})\d+/g, '"score": $1')
    .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'id');

describe.each(Object.entries(NODES))('the built package on Node %s', (version, node) => {
  const skips = !existsSync(node);
  const cli = join(folder, 'node_modules/tooldex/dist/cli.js');

  it.skipIf(skips)(
    'loads every entry point and selects, runs, approves, chats, and serves as on Node 20 (skipped without npm ci --prefix test/node22)',
    async () => {
      expect(await run(node, '-p', "process.versions.node.split('.')[0]")).toBe(`${version}\n`);
      const found = await run(node, join(folder, 'program.mjs'));
      expect(JSON.parse(found)).toMatchObject({
        names: Object.fromEntries(
          Object.entries(SURFACE).map(([entry, { values }]) => [entry, [values, values]]),
        ),
        counted: 3,
        chat: 'Saved.',
        saved: ['x'],
        health: 200,
      });
      expect(found).toBe(await runHere(join(folder, 'program.mjs')));
    },
  );

  it.skipIf(skips)(
    'prints the same overview with npm start as on Node 20 (skipped without npm ci --prefix test/node22)',
    async () => {
      const shown = withoutTimes(await run(node, cli, '--json'));
      expect(shown).toContain('"calls"');
      expect(shown).toBe(withoutTimes(await runHere(cli, '--json')));
      expect(await run(node, cli)).toContain('search_text');
    },
  );

  it.skipIf(skips).each([
    ['list', '--json'],
    ['search', 'which files mention the parser', '--json'],
    ['lint', '--bundled', '--json'],
    ['run', 'calculate', '--input', '{"expression":"6*7"}'],
  ])(
    'prints the same output for tooldex %s as on Node 20 (skipped without npm ci --prefix test/node22)',
    async (...args) => {
      const shown = await run(node, cli, ...args);
      expect(shown.length).toBeGreaterThan(1);
      expect(shown).toBe(await runHere(cli, ...args));
    },
  );
});

describe.each(Object.entries(OTHERS))('the built package on %s', (_, [file, ...args]) => {
  it.skipIf(!existsSync(file))(
    'loads every entry point and selects, runs, approves, chats, and serves as on Node 20 (skipped without npm ci --prefix test/bundlers)',
    async () => {
      const program = join(folder, 'program.mjs');
      expect(await run(file, ...args, program)).toBe(await runHere(program));
    },
  );
});
