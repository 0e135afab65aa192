import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CapabilityRegistry } from '../../src/capability.js';
import {
  defineTool,
  metadataOf,
  planExecution,
  tool,
  ToolExecutor,
  toolkit,
  ToolMetadataRegistry,
} from '../../src/index.js';
import { toMcpTools } from '../../src/interop.js';
import { runTool } from '../../src/testing.js';
import { refusal } from '../tool/sample-tools.js';
import type { ResolveInstance } from '../../src/tool/find-definitions.js';

const Order = z.object({ id: z.string() });

class Database {
  constructor(readonly place: string) {}
}

@toolkit({ category: 'orders' })
class Orders {
  constructor(readonly database: Database) {}

  @tool({
    name: 'order_find',
    description: 'Finds an order',
    inputSchema: Order,
    accessMode: 'readonly',
  })
  find({ id }: z.infer<typeof Order>) {
    return `${id} in ${this.database.place}`;
  }

  @tool({
    name: 'order_cancel',
    description: 'Cancels an order',
    inputSchema: Order,
    accessMode: 'write',
    dangerLevel: 'low',
    allowParallel: true,
    conflictKeys(this: Orders, { id }) {
      return [`order:${this.database.place}/${id}`];
    },
    canonicalInput: ({ id }) => ({ id: id.toUpperCase() }),
    preview(this: Orders, { id }) {
      return `Cancels ${id} in ${this.database.place}`;
    },
  })
  cancel({ id }: z.infer<typeof Order>) {
    return `cancelled ${id} in ${this.database.place}`;
  }

  @tool({ name: 'order_kinds', description: 'Lists the kinds', inputSchema: z.object({}) })
  static kinds() {
    return ['sale', 'rent'];
  }
}

class RushOrders extends Orders {
  @tool({ name: 'order_rush', description: 'Hurries an order', inputSchema: Order })
  rush({ id }: z.infer<typeof Order>) {
    return `hurried ${id}`;
  }
}

const at = (place: string) => new Orders(new Database(place));
const run = (registry: ToolMetadataRegistry, name: string, input: unknown = { id: 'a1' }) =>
  new ToolExecutor({ registry, confirm: () => true }).execute({ id: '1', name, input });

it("metadataOf lists a class's tools and where they're declared, without an instance", () => {
  expect(
    metadataOf(RushOrders).map(({ name, category, declaredOn, method, static: isStatic }) => [
      name,
      category,
      declaredOn,
      method,
      isStatic,
    ]),
  ).toEqual([
    ['order_rush', 'orders', RushOrders, 'rush', false],
    ['order_find', 'orders', Orders, 'find', false],
    ['order_cancel', 'orders', Orders, 'cancel', false],
    ['order_kinds', 'orders', Orders, 'kinds', true],
  ]);
});

describe('a registry with resolve', () => {
  it('resolve is called for every tool call, with the class and the call', async () => {
    const asked: unknown[] = [];
    const resolve: ResolveInstance = (Class, call) => {
      asked.push([Class, call?.toolName]);
      return at(`place ${asked.length}`);
    };
    const registry = new ToolMetadataRegistry({ resolve });
    registry.register(Orders);
    expect(asked).toEqual([]);
    expect(await run(registry, 'order_find')).toMatchObject({ value: 'a1 in place 1' });
    expect(await run(registry, 'order_find')).toMatchObject({ value: 'a1 in place 2' });
    expect(await run(registry, 'order_kinds', {})).toMatchObject({ value: ['sale', 'rent'] });
    expect(asked).toEqual([
      [Orders, 'order_find'],
      [Orders, 'order_find'],
    ]);
  });

  it('resolve may be async and receives the registered class, not its base class', async () => {
    const registry = new ToolMetadataRegistry({
      resolve: async (Class) => {
        expect(Class).toBe(RushOrders);
        return Promise.resolve(new RushOrders(new Database('Bern')));
      },
    });
    registry.register(RushOrders);
    expect(await run(registry, 'order_find')).toMatchObject({ value: 'a1 in Bern' });
    expect(await run(registry, 'order_cancel')).toMatchObject({ value: 'cancelled A1 in Bern' });
  });

  it('conflict keys are used only if resolve returns the instance synchronously', () => {
    const batches = (resolve: ResolveInstance) => {
      const registry = new ToolMetadataRegistry({ resolve });
      registry.register(Orders);
      const calls = ['a1', 'a2'].map((id) => ({ id, name: 'order_cancel', input: { id } }));
      return planExecution(registry, calls).batches.length;
    };
    expect(batches(() => at('Bern'))).toBe(1);
    expect(batches(() => Promise.resolve(at('Bern')))).toBe(2);
    expect(batches(() => Promise.reject(new Error('no request')))).toBe(2);
    expect(
      batches(() => {
        throw new Error('no request');
      }),
    ).toBe(2);
  });

  it('resolve also provides the instance for a preview', async () => {
    const registry = new ToolMetadataRegistry({ resolve: () => Promise.resolve(at('Bern')) });
    registry.register(Orders);
    const seen: unknown[] = [];
    await new ToolExecutor({
      registry,
      confirm: ({ preview }) => {
        seen.push(preview?.summary);
        return true;
      },
    }).execute({ id: '1', name: 'order_cancel', input: { id: 'a1' } });
    expect(seen).toEqual(['Cancels A1 in Bern']);
  });

  it("a call fails with advice if resolve doesn't return an instance of the class", async () => {
    const registry = new ToolMetadataRegistry({ resolve: () => ({}) });
    registry.register(Orders);
    expect(await run(registry, 'order_find')).toMatchObject({
      status: 'error',
      message: expect.stringContaining('return an instance of the class from resolve.'),
    });
  });
});

it('resolve also works with runTool, exports, and capability registries', async () => {
  const resolve = () => at('Bern');
  const { outcome } = await runTool(Orders, { id: 'a1' }, { name: 'order_find', resolve });
  expect(outcome).toMatchObject({ status: 'ok', value: 'a1 in Bern' });
  expect(toMcpTools([Orders], { resolve }).map(({ name }) => name)).toContain('order_find');
  const capabilities = await CapabilityRegistry.load({ tools: [Orders], resolve });
  expect(await run(capabilities.registryFor(), 'order_find')).toMatchObject({
    value: 'a1 in Bern',
  });
});

const toolOf = (name: string, more: object = {}) =>
  defineTool({
    name,
    description: 'Does it',
    inputSchema: z.object({}),
    execute: () => name,
    ...more,
  });

it('different prefixes allow two instances of the same toolkit', async () => {
  const registry = new ToolMetadataRegistry();
  registry.register(at('Bern'), { prefix: 'eu_' });
  registry.register(at('Boston'), { prefix: 'us_' });
  expect([...registry].map(({ name }) => name)).toEqual([
    'eu_order_find',
    'eu_order_cancel',
    'us_order_find',
    'us_order_cancel',
  ]);
  expect(await run(registry, 'us_order_find')).toMatchObject({ value: 'a1 in Boston' });
});

it('a prefix is also added to aliases and to references between tools', () => {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(
    [toolOf('read', { aliases: ['open'] }), toolOf('write', { invalidates: ['read', 'search'] })],
    { prefix: 'eu_' },
  );
  expect(registry.require('eu_open').name).toBe('eu_read');
  expect(registry.require('eu_write').invalidates).toEqual(['eu_read', 'search']);
});

it('an invalid prefix is refused', () => {
  const registry = new ToolMetadataRegistry();
  expect(refusal(() => registry.register(toolOf('read'), { prefix: 'eu ' })).message).toContain(
    'got "eu read".',
  );
  expect(
    refusal(() => registry.register(toolOf('read'), { prefix: 5 as never })).message,
  ).toContain('prefix: Expected a string, got 5.');
});
