import { describe, expect, it } from 'vitest';
import {
  createToolSearchTool,
  ToolExecutor,
  selectTools,
  type ToolMetadataRegistry,
} from '../../src/index.js';
import { registryOf, sample, type LooseOptions } from '../tool/sample-tools.js';
import { HARMLESS, LONG_SCHEMA, long } from './selection-cases.js';
import type { ToolSearchOptions } from '../../src/selection/tool-search-tool.js';

interface Answer {
  readonly found: readonly {
    readonly name: string;
    readonly description: string;
    readonly why: string;
  }[];
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: object;
  }[];
  readonly unknown: readonly string[];
}

function askOf(registry: ToolMetadataRegistry, options: ToolSearchOptions = {}) {
  const tool = createToolSearchTool(registry, options);
  registry.register(tool);
  return (input: { readonly query?: string; readonly names?: string[] }) =>
    tool.execute!(input, {}) as Answer;
}

const found = ({ found }: Answer) => found.map(({ name }) => name);

describe('the find_tools tool', () => {
  it('finds tools for a request and returns one line per tool with the reason', () => {
    const ask = askOf(registryOf(long('weather'), { name: 'paint', description: 'Paints' }));
    const answer = ask({ query: 'weather forecast' });
    expect(answer).toEqual({
      found: [
        {
          name: 'weather',
          description: 'Forecasts the weather.',
          why: expect.stringContaining('weather'),
        },
      ],
      tools: [],
      unknown: [],
    });
  });

  it('returns full definitions by name or alias, and lists unknown names', () => {
    const registry = registryOf(long('weather', { aliases: ['forecast'], compact: true }));
    const { tools, unknown } = askOf(registry)({
      names: ['forecast', 'weather', 'wether', 'wether'],
    });
    expect(tools).toEqual([
      {
        name: 'weather',
        description: registry.require('weather').description,
        inputSchema: LONG_SCHEMA,
      },
    ]);
    expect(unknown).toEqual(['wether']);
  });

  const cases: readonly (readonly [string, ToolSearchOptions, LooseOptions])[] = [
    ['exclude', { exclude: ['secret'] }, {}],
    ['maxDanger', { maxDanger: 'low' }, { dangerLevel: 'high' }],
    ['maxCostTier', { maxCostTier: 'low' }, { costTier: 'high' }],
    ['filter', { filter: { category: 'open' } }, {}],
    ['availability', {}, { available: () => false }],
  ];
  it.each(cases)('neither finds nor shows tools that a limit forbids: %s', (_, limits, options) => {
    const registry = registryOf({
      ...HARMLESS,
      name: 'secret',
      aliases: ['hush'],
      description: 'Forecasts the weather',
      priority: 0,
      mandatoryKeywords: ['weather'],
      ...options,
    });
    const answer = askOf(
      registry,
      limits,
    )({ query: 'weather forecast secret hush', names: ['secret', 'hush'] });
    expect(answer).toEqual({ found: [], tools: [], unknown: ['secret', 'hush'] });
    // A selection with the same limits must drop the same tools.
    expect(
      selectTools(registry, { text: 'weather', include: ['secret'], ...limits }).tools.map(
        ({ toolName }) => toolName,
      ),
    ).not.toContain('secret');
  });

  it('finds tools registered later, and excludes a tool by an alias registered later', () => {
    const registry = registryOf();
    const ask = askOf(registry, { exclude: ['rm'] });
    expect(found(ask({ query: 'weather' }))).toEqual([]);
    registry.registerAll([
      sample(long('weather')),
      sample({ name: 'delete_weather', aliases: ['rm'], description: 'Deletes the weather' }),
    ]);
    expect(ask({ query: 'weather', names: ['weather', 'delete_weather', 'rm'] })).toMatchObject({
      found: [{ name: 'weather' }],
      tools: [{ name: 'weather' }],
      unknown: ['delete_weather', 'rm'],
    });
    registry.unregister('weather');
    expect(ask({ query: 'weather', names: ['weather'] })).toEqual({
      found: [],
      tools: [],
      unknown: ['weather'],
    });
  });

  it('never finds or shows itself', () => {
    for (const options of [{}, { name: 'look' }]) {
      const name = options.name ?? 'find_tools';
      expect(
        askOf(registryOf(), options)({ query: 'which tool help finds tools', names: [name] }),
      ).toEqual({ found: [], tools: [], unknown: [name] });
    }
  });

  it('returns at most maxResults tools', () => {
    const registry = registryOf(
      ...Array.from({ length: 30 }, (_, index) => long(`weather_${index}`)),
    );
    expect(found(askOf(registry)({ query: 'weather' }))).toHaveLength(10);
    expect(
      found(askOf(registry, { name: 'few', maxResults: 3 })({ query: 'weather' })),
    ).toHaveLength(3);
  });

  it('limits how many names a model can ask for at once, and their length', async () => {
    const schema = createToolSearchTool(registryOf()).inputSchema;
    const accepts = async (input: unknown) =>
      (await schema['~standard'].validate(input)).issues === undefined;
    expect(await accepts({ query: 'x', names: ['a'] })).toBe(true);
    expect(await accepts({ names: Array.from({ length: 21 }, () => 'a') })).toBe(false);
    expect(await accepts({ names: ['a'.repeat(10_000)] })).toBe(false);
  });

  it.each([[{}], [{ query: ' ' }], [{ names: [] }]])(
    'tells a model that asks for %j what to ask',
    async (input) => {
      const registry = registryOf();
      registry.register(createToolSearchTool(registry));
      expect(
        await new ToolExecutor({ registry }).execute({ id: '1', name: 'find_tools', input }),
      ).toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining(
          'Say what you want to do in query, such as "send an email", or pass names of tools.',
        ),
      });
    },
  );

  it('needs no approval, fits every limit, and is guaranteed in every selection', () => {
    const registry = registryOf();
    askOf(registry);
    expect(registry.requiresApproval('find_tools')).toBe(false);
    expect(
      selectTools(registry, {
        text: '',
        maxDanger: 'safe',
        maxCostTier: 'free',
        accessModes: ['readonly'],
      }).tools,
    ).toMatchObject([{ toolName: 'find_tools', reason: 'critical' }]);
  });
});
