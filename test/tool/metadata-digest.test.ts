import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { leavesOf, shuffleKeys, withLeaf } from '../core/json-values.js';
import { acceptedEntry, LEAST, sampleEntry, type LooseOptions } from './sample-tools.js';
import { propertyRuns } from '../property-runs.js';

const FULL: LooseOptions = {
  ...LEAST,
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  outputSchema: { type: 'object', properties: { lines: { type: 'number' } } },
  version: '1.0.0',
  aliases: ['alias'],
  priority: 1,
  accessMode: 'write',
  dangerLevel: 'medium',
  executionCategory: 'write',
  costTier: 'low',
  sideEffects: ['write'],
  category: 'files',
  keywords: ['keyword', 'another'],
  mandatoryKeywords: ['must'],
  stages: ['reading'],
  taskTypes: ['search'],
  progressParams: ['path'],
  examples: ['find it'],
  timeoutMs: 1_000,
  auth: {
    required: true,
    type: 'bearer',
    scopes: ['read'],
    env: { TOKEN: 'required' },
    docs: 'https://example.org',
  },
  allowParallel: false,
  requiresConsent: false,
  invalidates: ['other'],
  cacheTtlMs: 5,
  costPerCall: 1,
  idempotencyKey: false,
  capabilities: ['vision'],
  personaAllowlist: ['analyst'],
  providers: [{ name: 'p', priority: 3, healthCheckIntervalMs: 7, config: { url: 'x' } }],
  manual: false,
  compact: false,
  summary: 'In short',
  handlerRef: 'h',
  metadata: { owner: { team: 'a', size: 3, open: null } },
};

/** A value of the same kind that says something else and is allowed in the same place. */
function another(path: readonly (string | number)[], leaf: unknown): unknown {
  const place = path.join('.');
  const known: Readonly<Record<string, unknown>> = {
    accessMode: 'execute',
    dangerLevel: 'high',
    executionCategory: 'network',
    costTier: 'high',
    'sideEffects.0': 'system',
    'inputSchema.type': undefined,
    'inputSchema.properties.path.type': 'number',
    'outputSchema.type': 'string',
    'outputSchema.properties.lines.type': 'string',
    'auth.env.TOKEN': 'optional',
  };
  if (place in known) return known[place];
  if (typeof leaf === 'boolean') return !leaf;
  if (typeof leaf === 'number') return leaf + 1;
  return leaf === null ? 'something' : `${leaf as string}x`;
}

function leafAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((at, step) => (at as Record<string | number, unknown>)[step], value);
}

describe('the digest', () => {
  const digest = sampleEntry(FULL).digest;

  it('is a SHA-256, equal for equal options however their keys are ordered', () => {
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    fc.assert(
      fc.property(
        fc.nat(),
        (seed) =>
          void expect(sampleEntry(shuffleKeys(FULL, seed) as LooseOptions).digest).toBe(digest),
      ),
    );
  });

  it.each(leavesOf(FULL).map((path) => [path.join('.'), path] as const))(
    'differs when only %s differs',
    (_, path) => {
      const changed = withLeaf(FULL, path, another(path, leafAt(FULL, path))) as LooseOptions;
      expect(sampleEntry(changed).digest).not.toBe(digest);
    },
  );

  it.each(
    Object.keys(FULL).filter(
      (option) => !(option in LEAST) && !['manual', 'compact', 'requiresConsent'].includes(option),
    ),
  )('differs when %s is not declared', (option) => {
    const changed = Object.fromEntries(Object.entries(FULL).filter(([key]) => key !== option));
    expect(sampleEntry(changed).digest).not.toBe(digest);
  });

  it('differs when a value is declared instead of inferred, though it is the same', () => {
    expect(sampleEntry({ accessMode: 'mixed' }).digest).not.toBe(sampleEntry().digest);
  });

  it('differs when a list has another order', () => {
    expect(sampleEntry({ ...FULL, keywords: ['another', 'keyword'] }).digest).not.toBe(digest);
  });

  it.each(['dangerFor', 'canonicalInput', 'conflictKeys', 'cacheKey', 'available'])(
    'differs when there is a function %s, but not between two of them',
    (option) => {
      const first = sampleEntry({ [option]: () => 'a' }).digest;
      expect(first).not.toBe(sampleEntry().digest);
      expect(first).toBe(sampleEntry({ [option]: () => 'b' }).digest);
    },
  );

  it('is that of the JSON Schema a zod schema stands for', () => {
    expect(sampleEntry({ inputSchema: z.object({ a: z.string() }) }).digest).toBe(
      sampleEntry({ inputSchema: z.object({ a: z.string() }) }).digest,
    );
    expect(sampleEntry({ inputSchema: z.object({ a: z.string() }) }).digest).not.toBe(
      sampleEntry({ inputSchema: z.object({ a: z.number() }) }).digest,
    );
  });

  it('differs for any two different sets of plain metadata', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }),
        fc.nat(),
        (metadata, pick) => {
          const leaves = leavesOf(metadata);
          const leaf = leaves[pick % leaves.length]!;
          const changed = withLeaf(
            metadata,
            leaf,
            leaf.length === 0 ? { any: 1 } : 'another leaf',
          ) as LooseOptions;
          expect(sampleEntry({ metadata: changed }).digest).not.toBe(
            sampleEntry({ metadata }).digest,
          );
        },
      ),
      { numRuns: propertyRuns(300) },
    );
  });

  it.each([
    ['metadata', (bag: unknown) => ({ metadata: bag })],
    [
      'the configuration of a provider',
      (bag: unknown) => ({ providers: [{ name: 'p', config: bag }] }),
    ],
  ])('differs when the key __proto__ of %s differs, which is kept like any other', (_, place) => {
    const first = sampleEntry(place(JSON.parse('{"__proto__":1,"a":1}')));
    const second = sampleEntry(place(JSON.parse('{"__proto__":2,"a":1}')));
    expect(JSON.stringify(first)).toContain('"__proto__":1');
    expect(first.digest).not.toBe(second.digest);
  });

  it('counts an environment variable called __proto__, or refuses it', () => {
    const declared = acceptedEntry({
      auth: { required: true, env: JSON.parse('{"__proto__":"required"}') as unknown },
    });
    if (declared !== undefined) expect(Object.keys(declared.auth!.env!)).toEqual(['__proto__']);
  });
});
