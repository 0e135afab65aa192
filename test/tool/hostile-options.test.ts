import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defineTool, isToolError, tool, ToolMetadataRegistry } from '../../src/index.js';
import { isDeepFrozen } from '../core/json-values.js';
import { LEAST, refusal, registryOf, sample, sampleEntry } from './sample-tools.js';
import { propertyRuns } from '../property-runs.js';

const LONG = 'k'.repeat(10_000);
const NASTY = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '__defineGetter__',
];

describe('a nasty name', () => {
  it.each(NASTY)(
    '%s is a tool name, alias, keyword, category, stage and metadata key like any other',
    (nasty) => {
      const registry = registryOf({
        name: nasty,
        aliases: [`${nasty}.alias`],
        keywords: [nasty, 'plain'],
        mandatoryKeywords: [nasty],
        category: nasty,
        stages: [nasty],
        taskTypes: [nasty],
        capabilities: [nasty],
      });
      const label = nasty.toLowerCase();
      expect(registry.require(nasty).name).toBe(nasty);
      expect(registry.get(`${nasty}.alias`)?.name).toBe(nasty);
      expect(registry.getByKeyword(nasty).map(({ name }) => name)).toEqual([nasty]);
      expect(registry.getByCategory(nasty)).toHaveLength(1);
      expect([...registry.getToolsByStage(nasty)]).toEqual([nasty]);
      expect([...registry.getToolsByTaskType(nasty)]).toEqual([nasty]);
      expect([...registry.getAllCategories()]).toEqual([label]);
      expect([...registry.getCategoryKeywords(nasty)]).toEqual([label, 'plain'].sort());
      expect(Object.entries(registry.summary().byCategory)).toEqual([[label, 1]]);
      expect(
        registry.getToolsMatchingTextScored(`please ${nasty} now`).map(({ toolName }) => toolName),
      ).toEqual([nasty]);
      expect([...registry.getToolsMatchingMandatoryKeywords(nasty)]).toEqual([nasty]);
      expect(registry.filter({ category: nasty, capability: nasty })).toHaveLength(1);
      expect(registry.unregister(nasty)).toBe(true);
      expect(registry.has(nasty)).toBe(false);
    },
  );

  it.each(NASTY)('%s is unknown to an empty registry', (nasty) => {
    const registry = new ToolMetadataRegistry();
    expect(registry.get(nasty)).toBeUndefined();
    expect(registry.has(nasty)).toBe(false);
    expect(registry.getByCategory(nasty)).toEqual([]);
    expect([...registry.getConflictingTools(nasty)]).toEqual([]);
    expect(registry.getToolsMatchingTextScored(nasty)).toEqual([]);
    expect(registry.search(nasty)).toEqual([]);
    expect(refusal(() => registry.require(nasty)).code).toBe('TOOL_NOT_FOUND');
    expect(refusal(() => registry.filter({ accessMode: nasty as never })).code).toBe(
      'INVALID_ARGUMENT',
    );
  });

  it.each(NASTY)('%s as a metadata key pollutes nothing', (nasty) => {
    const entry = sampleEntry({
      metadata: JSON.parse(`{${JSON.stringify(nasty)}:{"polluted":true}}`) as unknown,
    });
    expect(Object.keys(entry.metadata!)).toEqual([nasty]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('of 10 kB is refused where names and labels are bounded, and its message does not repeat it', () => {
    for (const options of [
      { name: LONG },
      { aliases: [LONG] },
      { keywords: [LONG] },
      { mandatoryKeywords: [LONG] },
      { category: LONG },
      { stages: [LONG] },
    ]) {
      const error = refusal(() => sample(options));
      expect(error.code).toBe('INVALID_METADATA');
      expect(error.message.length).toBeLessThan(500);
    }
  });

  it('of 10 kB is kept as a metadata key', () => {
    expect(Object.keys(sampleEntry({ metadata: { [LONG]: LONG } }).metadata!)).toEqual([LONG]);
  });
});

const boom = () => {
  throw new Error('boom');
};
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable<object>({}, {});
  revoke();
  return proxy;
};
const throwing = (option: string, value: unknown = new Error('boom')) =>
  Object.defineProperty({ ...LEAST }, option, {
    enumerable: true,
    get: () => {
      throw value;
    },
  });

/** Options that fight back when they are read. */
const HOSTILE: readonly (readonly [what: string, options: () => object])[] = [
  ['a getter of name that throws', () => throwing('name')],
  ['a getter of keywords that throws', () => throwing('keywords')],
  ['a getter of keywords that throws no error', () => throwing('keywords', null)],
  ['a getter of inputSchema that throws', () => throwing('inputSchema')],
  ['a proxy that does not list its keys', () => new Proxy({ ...LEAST }, { ownKeys: boom })],
  ['a proxy that does not give its values', () => new Proxy({ ...LEAST }, { get: boom })],
  [
    'a proxy that does not describe its keys',
    () => new Proxy({ ...LEAST }, { getOwnPropertyDescriptor: boom }),
  ],
  ['a revoked proxy', revoked],
];

/** Values that fight back, each in an otherwise good definition. */
const HOSTILE_VALUES: readonly (readonly [what: string, option: string, value: () => unknown])[] = [
  [
    'a list whose items throw',
    'keywords',
    () =>
      new Proxy(['a'], {
        get: (list, key) => (key === '0' ? boom() : (Reflect.get(list, key) as unknown)),
      }),
  ],
  ['a revoked proxy', 'metadata', revoked],
  ['a revoked proxy', 'dangerFor', revoked],
  ['a revoked proxy', 'inputSchema', revoked],
  ['a revoked proxy', 'outputSchema', revoked],
  [
    'an object that throws when its prototype is asked',
    'metadata',
    () => new Proxy({}, { getPrototypeOf: boom }),
  ],
  [
    'an object whose getter throws',
    'metadata',
    () => ({
      get a(): unknown {
        return boom();
      },
    }),
  ],
  [
    'a schema that throws when read',
    'inputSchema',
    () => new Proxy({}, { get: boom, has: boom, ownKeys: boom }),
  ],
  [
    'a schema that claims to be zod',
    'inputSchema',
    () => ({ '~standard': { version: 1, vendor: 'zod', validate: boom }, _zod: {} }),
  ],
  [
    'a schema that claims to be zod',
    'outputSchema',
    () => ({
      '~standard': { version: 1, vendor: 'zod', validate: boom },
      get _zod(): unknown {
        return boom();
      },
    }),
  ],
  [
    'an endless object',
    'metadata',
    () => {
      const self: object = new Proxy(
        {},
        {
          ownKeys: () => ['again'],
          getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
          get: (): unknown => self,
        },
      );
      return self;
    },
  ],
];

describe('hostile options', () => {
  it.each(HOSTILE)('as %s are refused by defineTool as wrong metadata', (_, options) => {
    expect(refusal(() => defineTool(options() as never)).code).toBe('INVALID_METADATA');
  });

  it.each(HOSTILE)('as %s are refused by @tool as wrong metadata', (_, options) => {
    expect(refusal(() => tool(options() as never)).code).toBe('INVALID_METADATA');
  });

  it.each(HOSTILE_VALUES)(
    'with %s as %s are refused as wrong metadata of that field',
    (_, option, value) => {
      const error = refusal(() => sample({ [option]: value() }));
      expect(error.code).toBe('INVALID_METADATA');
      expect(error.message).toContain(`${option}: `);
    },
  );

  it('leave a registry as it was', () => {
    const registry = registryOf({ name: 'kept', keywords: ['kept'] });
    const before = JSON.stringify([registry.summary(), [...registry]]);
    for (const [, options] of HOSTILE) expect(() => registry.register(options())).toThrow();
    expect(JSON.stringify([registry.summary(), [...registry]])).toBe(before);
  });
});

describe('a mutated definition', () => {
  const OPTIONS = [
    'name',
    'description',
    'inputSchema',
    'outputSchema',
    'version',
    'aliases',
    'priority',
    'accessMode',
    'dangerLevel',
    'executionCategory',
    'costTier',
    'sideEffects',
    'category',
    'keywords',
    'mandatoryKeywords',
    'stages',
    'taskTypes',
    'progressParams',
    'examples',
    'timeoutMs',
    'auth',
    'allowParallel',
    'requiresConsent',
    'dangerFor',
    'canonicalInput',
    'conflictKeys',
    'invalidates',
    'cacheTtlMs',
    'cacheKey',
    'costPerCall',
    'idempotencyKey',
    'capabilities',
    'personaAllowlist',
    'providers',
    'manual',
    'compact',
    'summary',
    'handlerRef',
    'available',
    'metadata',
    'execute',
    'unknown',
  ];
  const label = fc.constantFrom(
    'a',
    ' ',
    '__proto__',
    'readonly',
    'write',
    'none',
    'x'.repeat(300),
  );
  const value = fc.oneof(
    fc.jsonValue(),
    label,
    fc.array(label),
    fc.integer({ min: -2, max: 5 }),
    fc.constantFrom(NaN, Infinity, undefined, Symbol('s'), 10n, boom, new Date(0), new Map(), /x/),
  );
  const changes = fc.array(fc.tuple(fc.constantFrom(...OPTIONS), value), {
    minLength: 1,
    maxLength: 4,
  });

  it('is either a good definition or refused as INVALID_METADATA, and never half registered', () => {
    let good = 0;
    let bad = 0;
    const registry = registryOf({ name: 'kept', aliases: ['kept-too'], keywords: ['kept'] });
    const before = JSON.stringify([registry.summary(), [...registry]]);
    fc.assert(
      fc.property(changes, (mutations) => {
        let definition;
        try {
          definition = sample(Object.fromEntries(mutations));
        } catch (error) {
          if (!isToolError(error, 'INVALID_METADATA')) throw error;
          expect(error.message).toMatch(/refused:\n {2}/);
          expect(() => registry.register(Object.fromEntries(mutations))).toThrow();
          expect(JSON.stringify([registry.summary(), [...registry]])).toBe(before);
          bad++;
          return;
        }
        const [entry] = new ToolMetadataRegistry().register(definition);
        expect(isDeepFrozen(entry)).toBe(true);
        expect(entry!.digest).toMatch(/^[0-9a-f]{64}$/);
        good++;
      }),
      { numRuns: propertyRuns(3_000) },
    );
    expect(bad).toBeGreaterThan(100);
    expect(good).toBeGreaterThan(0);
  });
});
