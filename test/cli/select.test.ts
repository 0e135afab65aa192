import { describe, expect, it } from 'vitest';
import type { ToolMetadataRegistry } from '../../src/index.js';
import { long } from '../selection/selection-cases.js';
import { registryOf } from '../tool/sample-tools.js';
import { tooldex } from './command-line.js';

/** Runs `tooldex select` on the bundled tools. */
const run = (...args: string[]) => tooldex(['select', ...args], { columns: 200 });

/** Runs the command on tools of a test. */
const runOn = (tools: ToolMetadataRegistry, ...args: string[]) =>
  tooldex(['select', ...args], { columns: 200, tools });

const names = (out: string) =>
  (JSON.parse(out) as { tools: { toolName: string }[] }).tools.map(({ toolName }) => toolName);
const drops = (out: string) =>
  new Map(
    (JSON.parse(out) as { dropped: { toolName: string; reason: string }[] }).dropped.map(
      ({ toolName, reason }) => [toolName, reason],
    ),
  );

describe('tooldex select', () => {
  it('prints the choice, the reasons, the token account and what was left out', async () => {
    const registry = registryOf(
      long('core', { priority: 0 }),
      long('weather', { keywords: ['weather'] }),
      long('other', { stages: ['execution'] }),
    );
    const { code, out, err } = await runOn(
      registry,
      ...['weather', '--stage', 'reading', '--exclude', 'gone'],
    );
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^TOOL +LEVEL +TOKENS +SCORE +REASON/);
    expect(out).toMatch(/core +full +\d+ +\d+\.\d +critical: /);
    expect(out).toMatch(/weather +full +\d+ +\d+\.\d +search: hit 1/);
    expect(out).toMatch(/2 of at most 12 tools, \d+ tokens/);
    expect(out).toMatch(/Considered and left out\n/);
    expect(out).toMatch(/other +stage +it is for the stages execution/);
    expect(out).toMatch(/gone +unknown +/);
  });

  it('prints the account against the budget, and the level of each tool', async () => {
    const { out } = await run('fix', 'the', 'failing', 'test', '--max', '4', '--budget', '300');
    const [, tools, tokens] = /(\d) of at most 4 and 1 critical tools, (\d+) of 300 tokens/.exec(
      out,
    )!;
    expect([Number(tools) > 1, Number(tokens) <= 300]).toEqual([true, true]);
    expect(out).toMatch(/stub|compact/);
  });

  it('prints an empty choice as one', async () => {
    const { code, out } = await runOn(registryOf({ name: 'far', description: 'Paints' }), 'qqq');
    expect([code, out.trim()]).toEqual([0, '0 of at most 12 tools, 0 tokens']);
  });

  it('exits with 1 if the guaranteed tools do not fit, and still lists them', async () => {
    const registry = registryOf(
      long('one', { priority: 0 }),
      long('two', { priority: 0 }),
      long('weather'),
    );
    for (const limit of [
      ['--max', '1', '--no-critical-outside-limit'],
      ['--budget', '30'],
    ]) {
      const { code, out, err } = await runOn(registry, 'weather', ...limit);
      expect(code).toBe(1);
      expect(err).toMatch(/^error .*one, two/);
      for (const name of ['one', 'two', 'weather']) expect(out).toContain(name);
      const json = await runOn(registry, 'weather', '--json', ...limit);
      expect([json.code, JSON.parse(json.out)]).toMatchObject([
        1,
        {
          tools: [{ toolName: 'one' }, { toolName: 'two' }],
          error: { code: 'BUDGET_EXCEEDED', message: expect.stringContaining('one, two') },
        },
      ]);
    }
  });

  it('prints the same as JSON, without entries and functions, and equal bytes every time', async () => {
    const { code, out } = await run('show what changed', '--json', '--budget', '400');
    const selection = JSON.parse(out) as {
      readonly tools: readonly object[];
      readonly error: unknown;
    };
    expect([code, Object.keys(selection), selection.error]).toEqual([
      0,
      ['tools', 'dropped', 'tokens', 'tokenBudget', 'maxTools', 'error'],
      null,
    ]);
    expect(Object.keys(selection.tools[0]!)).toEqual([
      'toolName',
      'reason',
      'guaranteed',
      'score',
      'level',
      'tokens',
      'rendered',
      'explanation',
    ]);
    expect((await run('show what changed', '--json', '--budget', '400')).out).toBe(out);
  });

  it('takes every part of a request', async () => {
    const text = 'delete the file';
    const all = names((await run(text, '--json')).out);
    expect(all).toEqual(expect.arrayContaining(['delete_file', 'read_file']));
    const excluded = (
      await run(text, '--exclude', 'delete_file', '--exclude', 'nope,move_file', '--json')
    ).out;
    expect([
      names(excluded).includes('delete_file'),
      drops(excluded).get('delete_file'),
      drops(excluded).get('nope'),
    ]).toEqual([false, 'excluded', 'unknown']);
    expect(drops((await run(text, '--max-danger', 'low', '--json')).out).get('delete_file')).toBe(
      'danger',
    );
    expect(drops((await run(text, '--access', 'readonly', '--json')).out).get('delete_file')).toBe(
      'access',
    );
    expect(names((await run(text, '--access', 'readonly,write', '--json')).out)).toContain(
      'delete_file',
    );
    expect(names((await run(text, '--include', 'calculate, json_query', '--json')).out)).toEqual(
      expect.arrayContaining(['calculate', 'json_query']),
    );
    expect(names((await run('fix the failing test', '--max', '1', '--json')).out)).toEqual([
      'read_file',
      'run_tests',
    ]);
    expect(
      names(
        (await run('fix the failing test', '--max', '1', '--no-critical-outside-limit', '--json'))
          .out,
      ),
    ).toEqual(['read_file']);
    const stage = (await run('run the tests', '--stage', 'reading', '--json')).out;
    expect([...drops(stage).values()]).toContain('stage');
    expect([
      ...drops((await run('search the web', '--max-cost', 'free', '--json')).out).values(),
    ]).toContain('cost');
    expect([...drops((await run('search the web', '--json')).out).values()]).not.toContain('cost');
    expect((await run('x', '--task-type', 'nothing', '--json')).code).toBe(0);
  });

  it('explains wrong usage and exits with 2', async () => {
    for (const args of [
      [],
      ['x', '--max-danger', 'extreme'],
      ['x', '--max-cost', 'dear'],
      ['x', '--access', 'read'],
      ['x', '--budget', '-1'],
      ['x', '--budget', 'many'],
      ['x', '--max', '1.5'],
      ['x', '--bogus'],
    ]) {
      const { code, err } = await run(...args);
      expect([args, code, err === '']).toEqual([args, 2, false]);
    }
  });

  it('takes hostile texts', async () => {
    for (const text of [
      '',
      '🔥🔥🔥',
      '\ud800',
      '__proto__ constructor',
      '(a+)+$',
      'a'.repeat(100_000),
    ])
      expect((await run(text, '--json')).code).toBe(0);
  });
});
