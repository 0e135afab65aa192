import { describe, expect, it } from 'vitest';
import type { ToolMetadataRegistry } from '../../src/index.js';
import { long } from '../selection/selection-cases.js';
import { registryOf } from '../tool/sample-tools.js';
import { tooldex } from './command-line.js';

/** Runs `tooldex select` on the bundled tools or the test's tools. */
const run = (args: readonly string[], tools?: ToolMetadataRegistry) =>
  tooldex(['select', ...args], { columns: 200, tools });

const names = async (...args: string[]) =>
  (JSON.parse((await run([...args, '--json'])).out) as { tools: { toolName: string }[] }).tools.map(
    ({ toolName }) => toolName,
  );

describe('tooldex select', () => {
  it('prints the selected tools with reasons and token costs, and the omitted tools', async () => {
    const registry = registryOf(
      long('core', { priority: 0 }),
      long('weather', { keywords: ['weather'] }),
      long('other', { stages: ['execution'] }),
    );
    const { code, out, err } = await run(['weather', '--stage', 'reading'], registry);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^TOOL +LEVEL +TOKENS +SCORE +REASON/);
    expect(out).toMatch(/core +full +\d+ +\d+\.\d +critical: /);
    expect(out).toMatch(/weather +full +\d+ +\d+\.\d +search: hit 1/);
    expect(out).toMatch(/\n2 tools, \d+ tokens\n/);
    expect(out).toMatch(
      /Considered but not selected\n[^]*other +stage +it is for the stages execution/,
    );
  });

  it('respects the maximum number of tools and the token budget, and shortens tools to fit', async () => {
    const { out } = await run(['fix the failing test', '--max', '4', '--budget', '300']);
    const [, tokens] = /\d tools, (\d+) of 300 tokens/.exec(out)!;
    expect(Number(tokens)).toBeLessThanOrEqual(300);
    expect(out).toMatch(/stub|compact/);
    // Tools with critical priority don't count toward the limit.
    expect(await names('fix the failing test', '--max', '1')).toEqual(['read_file', 'run_tests']);
  });

  it('accepts the filters of tooldex list', async () => {
    const text = 'delete the file';
    expect(await names(text)).toEqual(expect.arrayContaining(['delete_file', 'read_file']));
    for (const filter of ['--access=readonly', '--max-danger=low', '--category=git'])
      expect(await names(text, filter)).not.toContain('delete_file');
  });

  it('exits with 1 if the guaranteed tools exceed the budget, but still lists them', async () => {
    const registry = registryOf(long('one', { priority: 0 }), long('two', { priority: 0 }));
    const { code, out, err } = await run(['weather', '--budget', '30', '--json'], registry);
    expect([code, err]).toEqual([1, expect.stringMatching(/^error .*one, two/)]);
    expect(JSON.parse(out)).toMatchObject({
      tools: [{ toolName: 'one' }, { toolName: 'two' }],
      error: { code: 'BUDGET_EXCEEDED' },
    });
  });

  it.each([[['x', '--max', '1.5']], [[]]])('exits with 2 for the arguments %j', async (args) => {
    expect((await run(args)).code).toBe(2);
  });
});
