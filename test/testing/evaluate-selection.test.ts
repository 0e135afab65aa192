import { describe, expect, it } from 'vitest';
import { defineTool, ToolMetadataRegistry } from '../../src/index.js';
import { evaluateSelection } from '../../src/testing.js';

function registryWith(tools: Readonly<Record<string, string>>) {
  const registry = new ToolMetadataRegistry();
  for (const [name, description] of Object.entries(tools))
    registry.register(
      defineTool({ name, description, inputSchema: { type: 'object' }, execute: () => 1 }),
    );
  return registry;
}

const shop = () =>
  registryWith({
    order_status: 'Tells where an order is',
    cancel_order: 'Cancels an order that has not been sent',
    list_orders: 'Lists the orders of a customer',
    send_mail: 'Sends a mail',
  });

describe('evaluateSelection', () => {
  it('computes recall and nDCG by their formulas', () => {
    const requests = [
      { text: 'where is the order', tools: ['order_status'] },
      { text: 'cancel the order, send a mail', tools: ['cancel_order', 'send_mail'] },
      { text: 'my parcel', tools: ['order_status'] },
    ];
    const registry = shop();
    const { recall, ndcg, misses } = evaluateSelection(registry, requests, { maxTools: 2 });
    // The requests find 1, 1, and 0 of their tools, and each found tool is in first place.
    expect(recall).toBeCloseTo(2 / 3);
    expect(ndcg).toBeCloseTo(2 / 3);
    expect(misses.map(({ text, toolName }) => [text, toolName])).toEqual([
      ['my parcel', 'order_status'],
    ]);
    const second = evaluateSelection(registry, [{ text: 'cancel order', tools: ['list_orders'] }]);
    expect(second).toMatchObject({ recall: 1, ndcg: 1 / Math.log2(4) });
  });

  it("reports which tool took a missed tool's place, and why", () => {
    const { misses } = evaluateSelection(
      shop(),
      [{ text: 'cancel an order', tools: ['list_orders'] }],
      {
        maxTools: 1,
      },
    );
    expect(misses).toMatchObject([
      {
        toolName: 'list_orders',
        place: expect.any(Number),
        reason: '2 other tools match better',
        instead: [{ toolName: 'cancel_order' }],
      },
    ]);
  });

  it('counts the tokens of the selection, of all tools, and of the first hits at full length', () => {
    const { tokens } = evaluateSelection(
      shop(),
      [{ text: 'where is the order', tools: ['order_status'] }],
      {
        maxTools: 1,
        countTokens: () => 10,
      },
    );
    expect(tokens).toEqual({ selected: 10, allTools: 40, firstInFull: 10 });
  });

  it('lists tools that were confused, the words that distinguish them, and tools that were never selected', () => {
    const { confused, neverSelected } = evaluateSelection(
      shop(),
      [
        { text: 'stop the order and refund me', tools: ['cancel_order'] },
        { text: 'refund this order', tools: ['cancel_order'] },
      ],
      { maxTools: 1 },
    );
    expect(confused).toEqual([
      { wanted: 'cancel_order', offered: 'order_status', requests: 2, words: ['refund', 'stop'] },
    ]);
    expect(neverSelected).toEqual(['cancel_order', 'list_orders', 'send_mail']);
  });

  it('suggests keywords and examples, with the requests that they fix and break', () => {
    const registry = shop();
    const { suggestions } = evaluateSelection(
      registry,
      [
        { text: 'please still refund this order', tools: ['cancel_order'] },
        { text: 'please say the order status', tools: ['order_status'] },
      ],
      { maxTools: 1, suggest: true },
    );
    expect(suggestions[0]).toEqual({
      toolName: 'cancel_order',
      field: 'keywords',
      value: 'refund',
      gain: 0.5,
      fixes: ['please still refund this order'],
      breaks: [],
    });
    expect(registry.require('cancel_order').keywords).toEqual([]);
  });

  it.each([
    ['no requests', [], /at least 1/],
    ['a request without tools', [{ text: 'a', tools: [] }], /requests\[0\]\.tools|at least 1/],
    [
      "a tool that isn't registered",
      [{ text: 'a', tools: ['order_stats'] }],
      /Did you mean "order_status"\?/,
    ],
  ])('throws for %s', (_what, requests, message) => {
    expect(() => evaluateSelection(shop(), requests)).toThrow(message);
  });
});
