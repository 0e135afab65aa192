import fc from 'fast-check';
import { defineTool, type ToolDefinition } from '../../src/index.js';

/** Returns a tool with this name and these options. */
export function named(
  name: string,
  options: Readonly<Record<string, unknown>> = {},
): ToolDefinition {
  return defineTool({
    name,
    description: `Does ${name}`,
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    execute: (input: unknown) => input,
    ...options,
  });
}

/** Returns a tool with this input schema. */
export function withInput(
  inputSchema: Readonly<Record<string, unknown>>,
  name = 'tool',
): ToolDefinition {
  return named(name, { inputSchema });
}

export interface Described {
  readonly schema: unknown;
  readonly value: unknown;
}

/** Definitions that the schemas below can refer to. `tree` refers to itself. */
export const DEFINITIONS = {
  word: { type: 'string', enum: ['a', 'b'] },
  tree: {
    type: 'object',
    properties: {
      label: { type: 'string' },
      children: { type: 'array', items: { $ref: '#/$defs/tree' } },
    },
    required: ['label'],
  },
};

const key = fc.constantFrom(
  'text',
  'count',
  'a.b',
  '$filter',
  '@type',
  'user-agent',
  'constructor',
  'x',
  'items',
  'type',
  'properties',
);
const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean());

/**
 * Schemas that every target supports: text, numbers, lists, objects, enums, optional and nullable
 * fields, and definitions.
 */
const plain: fc.Arbitrary<Described>[] = [
  fc.record({
    value: fc.string({ minLength: 2, maxLength: 9 }),
    schema: fc.constant({ type: 'string', minLength: 2, maxLength: 9, description: 'Text' }),
  }),
  fc.record({
    value: fc.integer({ min: 1, max: 9 }),
    schema: fc.constantFrom(
      { type: 'integer', exclusiveMinimum: 0 },
      { type: 'integer', minimum: 1, maximum: 9, default: 2 },
      { type: 'number', exclusiveMaximum: 9.5 },
      { enum: [1, 2, 3, 4, 5, 6, 7, 8, 9] },
    ),
  }),
  fc.record({
    value: fc.constantFrom('a', 'b'),
    schema: fc.constantFrom(
      { enum: ['a', 'b'] },
      { type: 'string', enum: ['b', 'a'] },
      { $ref: '#/$defs/word' },
      { $ref: '#/$defs/word', description: 'A word' },
    ),
  }),
  fc.record({
    value: fc.constant('only'),
    schema: fc.constantFrom({ const: 'only' }, { type: 'string', const: 'only' }),
  }),
  fc.record({
    value: fc.constantFrom(null, 'x'),
    schema: fc.constantFrom(
      { type: ['string', 'null'] },
      { anyOf: [{ type: 'string' }, { type: 'null' }] },
    ),
  }),
  fc.record({
    value: fc.constantFrom(
      { label: 'r' },
      { label: 'r', children: [{ label: 'c', children: [] }] },
    ),
    schema: fc.constant({ $ref: '#/$defs/tree' }),
  }),
  fc.record({ value: fc.boolean(), schema: fc.constant({ type: 'boolean' }) }),
];

/** Schemas that some targets don't support: any value, free keys, tuples, and combinations of schemas. */
const wild: fc.Arbitrary<Described>[] = [
  fc.record({
    value: fc.oneof(scalar, fc.dictionary(fc.string(), scalar)),
    schema: fc.constantFrom({}, true, { description: 'Anything' }),
  }),
  fc.record({
    value: fc.dictionary(fc.string(), fc.integer()),
    schema: fc.constantFrom(
      { type: 'object', additionalProperties: { type: 'integer' } },
      { type: 'object' },
    ),
  }),
  fc.record({
    value: fc.tuple(fc.string(), fc.integer()),
    schema: fc.constantFrom(
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }] },
      { type: 'array', items: {} },
      { type: 'array' },
    ),
  }),
  fc.record({
    value: fc.string(),
    schema: fc.constantFrom(
      { allOf: [{ type: 'string' }, { description: 'Text' }] },
      { type: ['string', 'number', 'boolean'] },
      { not: { type: 'null' } },
    ),
  }),
  fc.record({
    value: fc.constant('2020-01-01'),
    schema: fc.constantFrom(
      { type: 'string', format: 'date' },
      { type: 'string', pattern: '^(?=2)' },
      { type: 'string', contentEncoding: 'base64' },
    ),
  }),
  fc.record({
    value: fc.constant({ a: 1, b: 'x' }),
    schema: fc.constant({
      type: 'object',
      allOf: [
        { properties: { a: { type: 'integer' } } },
        { properties: { b: { type: 'string' } }, required: ['b'] },
      ],
    }),
  }),
];

function described(
  leaves: readonly fc.Arbitrary<Described>[],
  depth: number,
): fc.Arbitrary<Described> {
  if (depth === 0) return fc.oneof(...leaves);
  const inner = described(leaves, depth - 1);
  return fc.oneof(
    ...leaves,
    inner.map(({ schema, value }) => ({
      schema: { type: 'array', items: schema },
      value: [value, value],
    })),
    object(inner),
    fc
      .tuple(inner, inner)
      .map(([a, b]) => ({ schema: { anyOf: [a.schema, b.schema] }, value: a.value })),
    fc.tuple(inner, inner).map(([a, b]) => ({
      schema: { oneOf: [b.schema, a.schema], description: 'One' },
      value: a.value,
    })),
  );
}

function object(inner: fc.Arbitrary<Described>): fc.Arbitrary<Described> {
  return fc
    .uniqueArray(fc.record({ name: key, inner, required: fc.boolean(), given: fc.boolean() }), {
      maxLength: 4,
      minLength: 1,
      selector: ({ name }) => name,
    })
    .map((fields) => ({
      schema: {
        type: 'object',
        properties: Object.fromEntries(fields.map(({ name, inner: { schema } }) => [name, schema])),
        required: fields.filter(({ required }) => required).map(({ name }) => name),
      },
      value: Object.fromEntries(
        fields
          .filter(({ required, given }) => required || given)
          .map(({ name, inner: { value } }) => [name, value]),
      ),
    }));
}

const rooted = (arbitrary: fc.Arbitrary<Described>) =>
  object(arbitrary).map(({ schema, value }) => ({
    schema: { ...(schema as object), $defs: DEFINITIONS },
    value: value as Record<string, unknown>,
  }));
/** Any input schema, and an input that the schema allows. */
export const anyInput = rooted(described([...plain, ...wild], 2));
