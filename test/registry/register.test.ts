import { expect, it } from 'vitest';
import { tool, ToolMetadataRegistry, type ToolSource } from '../../src/index.js';
import { LEAST, refusal, registryOf, sample } from '../tool/sample-tools.js';
import { answersOf } from './naive-registry.js';

const named = (registry: ToolMetadataRegistry) => [...registry].map(({ name }) => name);

/** Returns everything that must stay the same after a refused operation. */
const stateOf = (registry: ToolMetadataRegistry) =>
  JSON.stringify([
    answersOf(registry),
    registry.revision,
    registry.summary(),
    registry.search('sample git'),
  ]);

class OrderTools {
  constructor(readonly key: string) {}
  @tool({ ...LEAST, name: 'orders' })
  orders() {
    return this.key;
  }
}

@tool({ ...LEAST, name: 'manual', manual: true })
class ManualTool {
  constructor(readonly key: string) {}
}

class StaticTools {
  private constructor(readonly key: string) {}
  @tool({ ...LEAST, name: 'static' })
  static run() {
    return 1;
  }
}

it('register returns the entries in order, and the registry lists the tools in the same order', () => {
  const registry = new ToolMetadataRegistry();
  const entries = registry.registerAll([sample({ name: 'b' }), sample({ name: 'a' })]);
  expect(entries.map(({ name }) => name)).toEqual(['b', 'a']);
  expect([...registry]).toEqual(entries);
  expect(registry.get('b')).toBe(entries[0]);
  expect(registry.require('a')).toBe(entries[1]);
});

it('register refuses plain options, and explains that defineTool must wrap the options', () => {
  const error = refusal(() =>
    new ToolMetadataRegistry().register({ name: 'a', description: 'b', inputSchema: {} }),
  );
  expect(error.code).toBe('NOT_A_TOOL');
  expect(error.message).toContain('defineTool({…})');
});

it('register refuses a class whose constructor requires arguments, and suggests an instance', () => {
  const registry = registryOf({ name: 'a' });
  const state = stateOf(registry);
  const error = refusal(() => registry.registerAll([sample({ name: 'b' }), OrderTools]));
  expect(error).toMatchObject({
    code: 'INVALID_ARGUMENT',
    details: { requiredArguments: 1, tools: ['orders'] },
  });
  expect(error.message).toMatch(
    /whose constructor requires an argument\. Register an instance: registry\.register\(new \w+\(…\)\)\./,
  );
  expect(stateOf(registry)).toBe(state);
  registry.register(new OrderTools('key'));
  expect(registry.require('orders').definition.execute?.({}, {})).toBe('key');
});

it('register accepts a class without constructor arguments, or a class whose tools need no instance', () => {
  class OwnConstructor extends OrderTools {
    constructor() {
      super('own');
    }
  }
  class WithDefault extends OrderTools {
    constructor(key = 'default') {
      super(key);
    }
  }
  for (const [source, key] of [
    [OwnConstructor, 'own'],
    [WithDefault, 'default'],
  ] as const) {
    const registry = new ToolMetadataRegistry();
    registry.register(source);
    expect(registry.require('orders').definition.execute?.({}, {})).toBe(key);
  }
  const registry = new ToolMetadataRegistry();
  registry.registerAll([ManualTool, StaticTools] as unknown as ToolSource[]);
  expect(named(registry)).toEqual(['manual', 'static']);
  expect(registry.require('manual').definition).not.toHaveProperty('execute');
});

const before = () => registryOf({ name: 'a', aliases: ['a2'], keywords: ['git'] });

it.each<readonly [string, () => Iterable<unknown>]>([
  ['a name is taken', () => [sample({ name: 'b' }), sample({ name: 'a' })]],
  ['a name occurs twice', () => [sample({ name: 'b' }), sample({ name: 'b' })]],
  ["one value isn't a tool", () => [sample({ name: 'b' }), {}]],
])('registerAll changes nothing if %s', (_, sources) => {
  const registry = before();
  const events: unknown[] = [];
  registry.onChange((change) => events.push(change));
  const state = stateOf(registry);
  expect(() => registry.registerAll(sources() as Iterable<ToolSource>)).toThrow();
  expect(stateOf(registry)).toBe(state);
  expect(events).toEqual([]);
});

it('registerAll reports the taken name, its owner, and the fix', () => {
  const error = refusal(() => before().registerAll([sample({ name: 'c', aliases: ['a2'] })]));
  expect(error.code).toBe('DUPLICATE_TOOL');
  expect(error.details).toEqual({ name: 'a2', tool: 'c', takenBy: 'a' });
  expect(error.message).toMatch(/"a2".*"c".*"a".*replace: true/);
});

it('unregister returns whether the name was registered, and ignores aliases', () => {
  const registry = registryOf({ name: 'a', aliases: ['b'] });
  expect([registry.unregister('b'), registry.unregister('nobody'), registry.revision]).toEqual([
    false,
    false,
    1,
  ]);
  expect([registry.unregister('a'), registry.unregister('a'), registry.revision]).toEqual([
    true,
    false,
    2,
  ]);
  expect([registry.size, registry.has('a'), registry.has('b')]).toEqual([0, false, false]);
});
