import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { folderWith, tooldex } from './command-line.js';
import { FakeTerminal, type FakeTerminalOptions } from './fake-terminal.js';

let folder: string;
beforeEach(() => void (folder = folderWith()));

/** Runs `tooldex plan` on the calls in a file. */
async function plan(
  calls: unknown,
  flags: readonly string[] = [],
  options: FakeTerminalOptions = {},
) {
  writeFileSync(
    join(folder, 'calls.json'),
    typeof calls === 'string' ? calls : JSON.stringify(calls),
  );
  return tooldex(['plan', 'calls.json', ...flags], { cwd: folder, ...options });
}

const read = (path: string) => ({ name: 'read_file', input: { path } });
const write = (path: string, more = {}) => ({
  name: 'write_file',
  input: { path, content: `in ${path}`, ...more },
});
const has = (path: string) => existsSync(join(folder, path));

describe('tooldex plan', () => {
  it("shows the batches, the policy's decisions, and why a call waits, without running anything", async () => {
    const { code, out, err } = await plan([write('a.txt'), write('b.txt'), read('a.txt')]);
    expect([code, err, has('a.txt')]).toEqual([0, '', false]);
    expect(out).toMatch(/^1 +0 +write_file {2}confirm {2}write_file: it can change something/m);
    expect(out).toMatch(
      /^2 +2 +read_file +allow .*; waits after call 0, write_file: both touch file:a.txt$/m,
    );
    expect(out).toMatch(/^3 calls in 2 batches, 1 allow, 2 confirm$/m);
  });

  it('shows which calls would be refused, and how --yes and --mode change the decisions', async () => {
    const { code, out } = await plan([
      { name: 'read_file', input: { pth: 1 } },
      { name: 'read_fil' },
    ]);
    expect(code).toBe(0);
    expect(out).toMatch(/refused .*path: Expected a value/);
    expect(out).toMatch(/deny .*Did you mean read_file/);
    expect((await plan([write('a.txt')], ['--yes'])).out).toMatch(/allow +--yes medium covers it/);
    expect((await plan([write('a.txt', { overwrite: true })], ['--yes'])).out).toMatch(
      /confirm +write_file/,
    );
    expect((await plan([write('a.txt')], ['--mode', 'read-only'])).out).toMatch(/deny .*read-only/);
  });

  it('prints the plan as JSON with --json', async () => {
    const { out } = await plan([write('a.txt'), read('a.txt')], ['--json']);
    expect(JSON.parse(out)).toMatchObject({
      batches: [[0], [1]],
      calls: [
        {
          position: 0,
          id: 'call-0',
          toolName: 'write_file',
          batch: 0,
          input: { path: 'a.txt' },
          decision: { verdict: 'confirm', danger: 'medium' },
        },
        {
          position: 1,
          id: 'call-1',
          batch: 1,
          after: { position: 0 },
          decision: { verdict: 'allow' },
        },
      ],
    });
  });

  it('reports the position of every wrong entry, and exits with 2', async () => {
    const { code, out, err } = await plan(
      [{ name: 3 }, read('a'), { name: 'x', arguments: {} }, 'read_file', { id: '', name: 'x' }],
      ['--run', '--yes'],
    );
    expect([code, out]).toEqual([2, '']);
    for (const place of [
      '[0].name: Expected a string, got 3.',
      '[2]: Expected a known option, got "arguments".',
      '[3]: Expected an object',
      '[4].id: Expected at least 1',
    ])
      expect(err).toContain(place);
  });
});

describe('tooldex plan --run', () => {
  it('runs the calls in the planned order, and prints the outcomes in the order of the file', async () => {
    const { code, out } = await plan(
      [write('a.txt'), read('a.txt'), { name: 'list_directory' }],
      ['--run', '--yes'],
    );
    expect([code, readFileSync(join(folder, 'a.txt'), 'utf8')]).toEqual([0, 'in a.txt']);
    const outcomes = out.slice(out.indexOf('3 calls in'));
    expect(outcomes).toMatch(
      /\n0 {2}write_file {2}ok[^]*\n1 {2}read_file {2}ok[^]*"text": "in a.txt"[^]*\n2 {2}list_directory {2}ok/,
    );
  });

  it('asks about one call at a time, and runs the approved calls', async () => {
    const { code, err, asked } = await plan(
      [write('a.txt'), write('b.txt'), write('c.txt')],
      ['--run'],
      { answers: ['y', 'n', 'y'] },
    );
    // The calls are in the order in which their previews were ready.
    const shown = [...err.matchAll(/path\s+│ "([abc]\.txt)"/g)].map(([, path]) => path!);
    expect([code, [...shown].sort(), shown.map(has), asked.length]).toEqual([
      4,
      ['a.txt', 'b.txt', 'c.txt'],
      [true, false, true],
      3,
    ]);
    expect(err.match(/Run it\? \[y\/N\/e\] [yn]\n/g)).toHaveLength(3);
  });

  it('exits with the highest exit code of all calls', async () => {
    const codeOf = async (calls: readonly object[], ...flags: string[]) =>
      (await plan(calls, ['--run', ...flags])).code;
    expect(await codeOf([read('nowhere.txt')])).toBe(1);
    expect(await codeOf([read('nowhere.txt'), { name: 'nope' }])).toBe(2);
    expect(await codeOf([read('nowhere.txt'), write('a.txt')], '--mode', 'read-only')).toBe(3);
    expect(await codeOf([write('a.txt'), { name: 'nope' }, read('nowhere.txt')])).toBe(4);
    expect(await codeOf([])).toBe(0);
  });

  it('starts no more calls after an interrupt, and exits with 130', async () => {
    writeFileSync(
      join(folder, 'calls.json'),
      JSON.stringify([write('a.txt'), write('a.txt'), write('a.txt')]),
    );
    const terminal: FakeTerminal = new FakeTerminal({
      answers: [() => (terminal.interrupt(), 'y'), 'y', 'y'],
    });
    const args = ['plan', 'calls.json', '--run'];
    expect((await tooldex(args, { cwd: folder, terminal })).code).toBe(130);
    expect([has('a.txt'), terminal.asked.length]).toEqual([false, 1]);
  });
});
