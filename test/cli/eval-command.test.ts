import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/index.js';
import { folderWith, tooldex } from './command-line.js';

const tool = (name: string, description: string) =>
  defineTool({ name, description, inputSchema: {}, accessMode: 'readonly', execute: () => 1 });
const tools = [tool('order_status', 'Tells where an order is'), tool('stop_order', 'Stops one')];

/** Evaluates requests, one per line. */
function evaluate(lines: readonly string[], ...flags: string[]) {
  const cwd = folderWith({ 'requests.jsonl': lines.join('\n') });
  return tooldex(['eval', 'requests.jsonl', '--max-tools', '1', ...flags], { cwd, tools });
}

const HIT = '{"text": "Where is my order?", "tools": ["order_status"]}';
const MISS = '{"text": "Refund my last order", "tools": ["stop_order"]}';

describe('tooldex eval', () => {
  it('prints the recall, the missed tools and the tools ranked above them, and suggestions', async () => {
    const { code, out } = await evaluate([HIT, '', MISS], '--suggest');
    expect(code).toBe(0);
    expect(out).toMatch(/^2 requests: recall 0\.500/);
    expect(out).toMatch(/Missed[^]*stop_order[^]*Refund my last order[^]*order_status/);
    expect(out).toMatch(/Suggestions[^]*stop_order +keywords "refund" +\+0\.500/);
  });

  it('exits with 1 if a metric is below --fail-under', async () => {
    expect((await evaluate([HIT], '--fail-under', 'recall=1')).code).toBe(0);
    const low = await evaluate([HIT, MISS], '--fail-under', 'recall=0.9', '--json');
    expect(low).toMatchObject({
      code: 1,
      err: expect.stringContaining('recall is 0.500, expected at least 0.900'),
    });
    expect(JSON.parse(low.out)).toMatchObject({
      recall: 0.5,
      misses: [{ toolName: 'stop_order' }],
    });
  });

  it.each([
    [['{"text": "x"'], [], 'Line 1 of'],
    [['{"text": "x", "tools": ["order_state"]}'], [], 'Did you mean "order_status"?'],
    [[HIT], ['--fail-under', 'precision=1'], 'Expected --fail-under to be recall=0.9'],
  ])('refuses the cases %j with the options %j', async (lines, flags, message) => {
    expect(await evaluate(lines, ...flags)).toMatchObject({
      code: 2,
      err: expect.stringContaining(message),
    });
  });
});
