import { Validator } from '@cfworker/json-schema';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { objectSchema } from '../../src/interop/schema/object-schema.js';
import {
  ANTHROPIC_PARAMETER_RULE,
  GEMINI_PARAMETER_RULE,
  renameParameters,
} from '../../src/interop/export/name-codec.js';
import { strictSchema, withoutNulls } from '../../src/interop/export/to-openai-tools.js';
import { propertiesOf } from '../../src/interop/schema/walk-schema.js';
import type { JsonSchema } from '../../src/index.js';
import { anyInput, plainInput } from './export-cases.js';
import { propertyRuns } from '../property-runs.js';

const isValid = (schema: object, value: unknown) =>
  new Validator(schema, '2020-12', false).validate(value).valid;
/** Whether at least one alternative holds where exactly one should: that is how targets without `oneOf` see it. */
const isRoughlyValid = (schema: object, value: unknown) =>
  isValid(JSON.parse(JSON.stringify(schema).replaceAll('"oneOf":', '"anyOf":')) as object, value);

describe('an object schema', () => {
  it('allows whatever the tool allows', () => {
    fc.assert(
      fc.property(anyInput, ({ schema, value }) => {
        fc.pre(isValid(schema, value));
        expect(isValid(objectSchema(schema), value)).toBe(true);
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('has no alternatives at the top, and keeps the parameters of all of them', () => {
    const folded = objectSchema({
      description: 'Where',
      oneOf: [
        {
          type: 'object',
          properties: { kind: { const: 'file' }, path: { type: 'string' } },
          required: ['kind', 'path'],
        },
        {
          type: 'object',
          properties: { kind: { const: 'url' }, url: { type: 'string' } },
          required: ['kind', 'url'],
        },
      ],
    });
    expect(folded).toEqual({
      type: 'object',
      properties: {
        kind: { anyOf: [{ const: 'file' }, { const: 'url' }] },
        path: { type: 'string' },
        url: { type: 'string' },
      },
      required: ['kind'],
      description: 'Where\nGive one of these: "path"; or "url".',
    });
  });

  it('follows a reference at the top, joins what must hold together, and drops what is not allowed there', () => {
    const folded = objectSchema({
      $ref: '#/$defs/input',
      not: { required: ['x'] },
      $defs: {
        input: {
          type: 'object',
          properties: { a: { type: 'string' } },
          allOf: [{ required: ['a'] }, { properties: { b: true } }],
        },
      },
    });
    expect(folded).toMatchObject({
      type: 'object',
      properties: { a: { type: 'string' }, b: {} },
      required: ['a'],
    });
    for (const keyword of ['$ref', 'not', 'allOf']) expect(folded).not.toHaveProperty([keyword]);
  });

  it('ends for definitions that are several parts of themselves', () => {
    const self = { $ref: '#/$defs/self' };
    const bomb = {
      $ref: '#/$defs/self',
      $defs: { self: { allOf: [self, self], anyOf: [self, self, { properties: { a: {} } }] } },
    };
    expect(objectSchema(bomb).type).toBe('object');
    expect(withoutNulls({ a: null }, { type: 'object', properties: {}, ...bomb })).toEqual({
      a: null,
    });
  });
});

describe('a strict schema', () => {
  it('takes every input when nulls stand for what is missing, and gives it back', () => {
    fc.assert(
      fc.property(plainInput, ({ schema, value }) => {
        const loose = objectSchema(schema);
        const strict = strictSchema(loose);
        fc.pre(strict !== undefined && isValid(schema, value));
        const filled = fill(value, loose, loose);
        expect(isValid(strict, filled), JSON.stringify(filled)).toBe(true);
        expect(withoutNulls(filled, loose)).toEqual(fill(value, loose, loose, false));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('closes every object and requires all of its properties', () => {
    fc.assert(
      fc.property(anyInput, ({ schema }) => {
        const strict = strictSchema(objectSchema(schema));
        for (const each of objectsOf(strict)) {
          expect(each['additionalProperties']).toBe(false);
          expect(each['required']).toEqual(Object.keys(each['properties'] as object));
        }
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('does not exist for free keys, values of any type, tuples and deep nesting', () => {
    const strictOf = (property: object) =>
      strictSchema(objectSchema({ type: 'object', properties: { property } }));
    const deep = (levels: number): object =>
      levels === 0
        ? { type: 'string' }
        : { type: 'object', properties: { inner: deep(levels - 1) } };
    const open = [
      {},
      { type: 'object' },
      { type: 'object', additionalProperties: true },
      { type: 'object', additionalProperties: { type: 'string' } },
      { type: 'array' },
      { type: 'array', prefixItems: [{ type: 'string' }] },
      { $ref: '#/$defs/none' },
      deep(9),
      { enum: Array.from({ length: 1_001 }, (_, index) => index) },
    ];
    for (const schema of open)
      expect(strictOf(schema), JSON.stringify(schema).slice(0, 80)).toBeUndefined();
    for (const schema of [
      { type: 'string' },
      { type: 'array', items: { type: 'string' } },
      { enum: ['a', 1] },
      deep(3),
    ])
      expect(strictOf(schema), JSON.stringify(schema)).toBeDefined();
  });

  it('finds the alternative that is meant by names, by values and by what lies deeper', () => {
    const loose = objectSchema({
      type: 'object',
      properties: {
        either: {
          anyOf: [
            { type: 'object', properties: { a: { type: 'string' } } },
            {
              type: 'object',
              properties: { a: { type: ['string', 'null'] }, b: { type: 'string' } },
            },
          ],
        },
        kind: {
          anyOf: [
            {
              type: 'object',
              properties: { kind: { const: 'x' }, a: { type: ['string', 'null'] } },
            },
            { type: 'object', properties: { kind: { const: 'y' }, a: { type: 'string' } } },
          ],
        },
        list: {
          anyOf: [
            { type: 'array', items: { type: 'boolean' } },
            { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } } } },
          ],
        },
      },
    });
    expect(
      withoutNulls(
        { either: { a: null, b: null }, kind: { kind: 'y', a: null }, list: [{ a: null }] },
        loose,
      ),
    ).toEqual({ either: { a: null }, kind: { kind: 'y' }, list: [{}] });
    expect(withoutNulls({ either: { a: null }, kind: { kind: 'x', a: null } }, loose)).toEqual({
      either: {},
      kind: { kind: 'x', a: null },
    });
  });

  it('leaves a null that the tool itself allows', () => {
    const loose = objectSchema({
      type: 'object',
      properties: { a: { type: ['string', 'null'] }, b: { type: 'string' }, c: { type: 'string' } },
      required: ['c'],
    });
    expect(withoutNulls({ a: null, b: null, c: null }, loose)).toEqual({ a: null, c: null });
  });
});

/** The input as a model in strict mode would write it; or only with those nulls that the tool itself allows. */
function fill(value: unknown, schema: JsonSchema, root: JsonSchema, all = true): unknown {
  const found =
    typeof schema['$ref'] === 'string'
      ? (root['$defs'] as Record<string, JsonSchema>)[schema['$ref'].split('/').pop()!]!
      : schema;
  const branches = [
    ...((found['anyOf'] ?? []) as JsonSchema[]),
    ...((found['oneOf'] ?? []) as JsonSchema[]),
  ];
  if (branches.length > 0)
    return fill(
      value,
      branches.find((each) => isRoughlyValid({ ...each, $defs: root['$defs'] }, value))!,
      root,
      all,
    );
  if (Array.isArray(value))
    return value.map((each) => fill(each, found['items'] as JsonSchema, root, all));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(propertiesOf(found)).flatMap(([name, property]) => {
      if (Object.hasOwn(value, name))
        return [[name, fill((value as Record<string, unknown>)[name], property, root, all)]];
      return all || isRoughlyValid({ ...property, $defs: root['$defs'] }, null)
        ? [[name, null]]
        : [];
    }),
  );
}

function objectsOf(value: unknown): JsonSchema[] {
  if (typeof value !== 'object' || value === null) return [];
  const node = value as JsonSchema;
  const isObject =
    node['type'] === 'object' || (Array.isArray(node['type']) && node['type'].includes('object'));
  const inner = [
    ...Object.values(propertiesOf(node)),
    ...Object.values(node['$defs'] ?? {}),
    node['items'],
    ...((node['anyOf'] ?? []) as unknown[]),
  ];
  return [...(isObject ? [node] : []), ...inner.flatMap(objectsOf)];
}

describe('renamed parameters', () => {
  it('fit the target on every level, and get their names back', () => {
    fc.assert(
      fc.property(
        anyInput,
        fc.constantFrom(ANTHROPIC_PARAMETER_RULE, GEMINI_PARAMETER_RULE),
        ({ schema, value }, rule) => {
          const { schema: renamed, restore } = renameParameters(objectSchema(schema), rule);
          for (const each of objectsOf(renamed))
            for (const name of Object.keys(propertiesOf(each)))
              expect(rule.test(name), name).toBe(true);
          expect(restore(value)).toEqual(value); // Own names pass through: a model may know them from elsewhere.
        },
      ),
      { numRuns: propertyRuns(300) },
    );
  });

  it('are told apart and found again in nested objects, lists and alternatives', () => {
    const filter = {
      type: 'object',
      properties: { $filter: { type: 'string' }, _filter: { type: 'string' } },
      required: ['$filter'],
    };
    const schema = {
      type: 'object',
      properties: {
        '@in': filter,
        list: { type: 'array', items: filter },
        either: { anyOf: [{ type: 'string' }, filter] },
      },
    };
    const { schema: renamed, restore } = renameParameters(schema, ANTHROPIC_PARAMETER_RULE);
    const inner = (renamed.properties as Record<string, JsonSchema>)['_in']!;
    const [encoded] = inner['required'] as string[];
    expect(encoded).toMatch(/^_filter_[0-9a-f]{8}$/);
    const written = { [encoded!]: 'a', _filter: 'b' };
    const meant = { $filter: 'a', _filter: 'b' };
    expect(restore({ _in: written, list: [written], either: written, other: 1 })).toEqual({
      '@in': meant,
      list: [meant],
      either: meant,
      other: 1,
    });
  });
});
