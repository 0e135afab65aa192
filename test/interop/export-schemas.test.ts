import { Validator } from '@cfworker/json-schema';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { objectSchema } from '../../src/interop/schema/object-schema.js';
import {
  ANTHROPIC_PARAMETER_RULE,
  GEMINI_PARAMETER_RULE,
  renameParameters,
} from '../../src/interop/export/name-codec.js';
import { propertiesOf } from '../../src/interop/schema/walk-schema.js';
import type { JsonSchema } from '../../src/index.js';
import { anyInput } from './export-cases.js';
import { propertyRuns } from '../property-runs.js';

const isValid = (schema: object, value: unknown) =>
  new Validator(schema, '2020-12', false).validate(value).valid;
it("objectSchema accepts every input that the tool's schema accepts", () => {
  fc.assert(
    fc.property(anyInput, ({ schema, value }) => {
      fc.pre(isValid(schema, value));
      expect(isValid(objectSchema(schema), value)).toBe(true);
    }),
    { numRuns: propertyRuns(300) },
  );
});

it('objectSchema merges top-level alternatives and keeps all parameters', () => {
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
    description: 'Where\nProvide one of these: "path"; or "url".',
  });
});

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

it('renamed parameters are valid for the target at every level', () => {
  fc.assert(
    fc.property(
      anyInput,
      fc.constantFrom(ANTHROPIC_PARAMETER_RULE, GEMINI_PARAMETER_RULE),
      ({ schema, value }, rule) => {
        const { schema: renamed, restore } = renameParameters(objectSchema(schema), rule);
        for (const each of objectsOf(renamed))
          for (const name of Object.keys(propertiesOf(each)))
            expect(rule.test(name), name).toBe(true);
        expect(restore(value)).toEqual(value); // Original names are accepted, too, because a model may know them from somewhere else.
      },
    ),
    { numRuns: propertyRuns(300) },
  );
});

it('renamed parameters get their original names back in nested objects, lists, and alternatives', () => {
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
