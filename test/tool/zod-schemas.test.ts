import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { renderTool } from '../../src/tool/render-tool.js';
import { checkInput } from '../../src/tool/check-input.js';
import { issuesWith, sampleEntry } from './sample-tools.js';
import { propertyRuns } from '../property-runs.js';

const refused = (schema: unknown) => issuesWith({ inputSchema: schema });
const shown = (shape: z.ZodRawShape) =>
  renderTool(sampleEntry({ inputSchema: z.object(shape) }), 'full').inputSchema['properties'];
const declared = (shape: z.ZodRawShape) =>
  sampleEntry({ inputSchema: z.object(shape) }).inputJsonSchema['properties'];

/** Schemas that no JSON value satisfies, each with the beginning of the advice. */
const UNMET: readonly (readonly [got: string, schema: z.ZodType, wayOut: string])[] = [
  ['z.date()', z.date(), 'Use z.iso.datetime()'],
  ['z.bigint()', z.bigint(), 'Use z.int(), or z.coerce.bigint()'],
  ['z.map()', z.map(z.string(), z.string()), 'Use z.record('],
  ['z.file()', z.file(), 'the path of the file'],
  ['z.undefined()', z.undefined(), 'Use .optional()'],
  ['z.function()', z.function(), 'Remove it'],
  ['z.custom() or z.instanceof()', z.instanceof(URL), '.meta({ type: … })'],
  ['z.literal() of another value', z.literal(1n), 'a number, true'],
];

const dated = (id: string) => z.date().meta({ id });
const text = { type: 'string' };
const fields = (properties: object, ...required: string[]) => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});

/** Schemas that some JSON value satisfies, each with the schema that models see. */
const MET: readonly (readonly [title: string, schema: z.ZodType, json: object])[] = [
  ['a union with a date that has an id', z.union([z.string(), dated('a')]), text],
  [
    'a union with a caught, a readonly and a branded date',
    z.union([z.date().catch(new Date(0)), z.date().readonly(), z.date().brand('Date'), z.string()]),
    text,
  ],
  [
    'a union with an object that needs a date',
    z.union([z.object({ at: z.date() }), z.object({ b: z.string() })]),
    fields({ b: text }, 'b'),
  ],
  [
    'a union with undefined, void, a symbol, a map and a custom type',
    z.union([
      z.undefined(),
      z.void(),
      z.symbol(),
      z.map(z.string(), z.string()),
      z.instanceof(URL),
      z.string(),
    ]),
    text,
  ],
  [
    'a discriminated union with a date in one branch',
    z.discriminatedUnion('k', [
      z.object({ k: z.literal('a'), at: z.date() }),
      z.object({ k: z.literal('b') }),
    ]),
    fields({ k: { type: 'string', const: 'b' } }, 'k'),
  ],
  [
    'a list of such unions',
    z.array(z.union([z.date(), z.string()])),
    { type: 'array', items: text },
  ],
  [
    'a custom type whose wrapper has a JSON Schema',
    z.instanceof(URL).optional().meta({ type: 'string' }),
    text,
  ],
  ['a literal that is a text or a bigint', z.literal(['a', 1n]), { enum: ['a'] }],
  [
    'a coerced date or bigint with a default',
    z.object({ at: z.coerce.date().default(new Date(0)), id: z.coerce.bigint().default(1n) }),
    fields({
      at: { type: 'string', format: 'date-time' },
      id: { type: 'string', pattern: '^-?[0-9]+$' },
    }),
  ],
  [
    'a template literal',
    z.templateLiteral(['v', z.number()]),
    { type: 'string', pattern: '^v-?\\d+(?:\\.\\d+)?$' },
  ],
];

it.each(UNMET)(
  'defining a tool with %s as input fails, and the error gives advice',
  (got, schema, wayOut) => {
    const [issue, ...others] = refused(z.object({ when: schema }));
    expect(others).toEqual([]);
    expect(issue?.path).toEqual(['inputSchema', 'when']);
    expect(issue?.message).toContain(
      `Expected a schema for values that JSON can represent, got ${got}. `,
    );
    expect(issue?.message).toContain(wayOut);
  },
);

it('an impossible schema is refused at any depth, and all its locations are reported', () => {
  const wrappers: Readonly<Record<string, (inner: z.ZodType) => z.ZodType>> = {
    nullable: (inner) => inner.nullable(),
    default: (inner) => inner.default(null),
    piped: (inner) => inner.transform(String),
    lazy: (inner) => z.lazy(() => inner),
    list: (inner) => z.array(inner),
    object: (inner) => z.object({ inner }),
  };
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...Object.keys(wrappers)), { maxLength: 4 }),
      fc.constantFrom(...UNMET),
      (names, [, schema, wayOut]) => {
        const wrapped = names.reduce((inner, name) => wrappers[name]!(inner), schema);
        const issues = refused(z.object({ first: wrapped, fine: z.string(), second: wrapped }));
        expect(issues.map(({ path }) => path[1])).toEqual(['first', 'second']);
        for (const { message } of issues) expect(message).toContain(wayOut);
      },
    ),
    { numRuns: propertyRuns(200) },
  );
});

it('two schemas with the same id are refused', () => {
  const schema = z.object({
    a: z.string().meta({ id: 'Twice' }),
    b: z.number().meta({ id: 'Twice' }),
  });
  expect(refused(schema)).toMatchObject([
    { path: ['inputSchema'], message: expect.stringContaining('"Twice"') },
  ]);
});

it('a zod 3 schema is refused, and the error says which version to install', () => {
  for (const schema of [z3.object({ a: z3.string() }), { a: z3.string() }]) {
    expect(refused(schema)).toEqual([
      {
        path: ['inputSchema'],
        message:
          'Expected a zod 4 schema, got a zod 3 schema. Install zod 4 (npm install zod@4) and import z from "zod".',
      },
    ]);
  }
});

it('models see a coerced input as a string, and the tool receives the converted value', () => {
  const entry = sampleEntry({
    inputSchema: z.object({ when: z.coerce.date().describe('Then'), id: z.coerce.bigint() }),
  });
  expect(entry.inputJsonSchema['properties']).toEqual({
    when: { type: 'string', format: 'date-time', description: 'Then' },
    id: { type: 'string', pattern: '^-?[0-9]+$' },
  });
  expect(
    checkInput(entry, { when: '2024-05-01T00:00:00Z', id: '12345678901234567890' }),
  ).toMatchObject({
    ok: true,
    value: { when: new Date(Date.UTC(2024, 4, 1)), id: 12345678901234567890n },
  });
});

it('tools can use a custom type with a JSON Schema, a codec that decodes text, and a computed value', () => {
  const isoDate = z.codec(z.iso.datetime(), z.date(), {
    decode: (text) => new Date(text),
    encode: (date) => date.toISOString(),
  });
  const shape = {
    tag: z.custom<`#${string}`>().meta({ type: 'string' }),
    at: isoDate,
    any: z.preprocess((value) => new Date(value as string), z.date()),
    optional: z.preprocess((value) => value, z.object({ start: z.date() })).optional(),
  };
  expect(shown(shape)).toEqual({
    tag: { type: 'string' },
    at: { type: 'string', format: 'date-time' },
    any: {},
    optional: { type: 'object', properties: { start: {} }, required: ['start'] },
  });
});

it.each(MET)('a schema with %s is shown as the JSON that a model can send', (_, schema, json) => {
  expect(
    sampleEntry({ inputSchema: z.object({ it: schema }) }).inputJsonSchema['properties'],
  ).toEqual({ it: json });
});

it('a recursive schema is accepted if the recursion can end', () => {
  const tree: z.ZodType = z.lazy(() =>
    z.object({ at: z.union([z.date(), z.iso.date()]), children: z.array(tree) }),
  );
  const entry = sampleEntry({ inputSchema: z.object({ tree }) });
  expect(
    checkInput(entry, {
      tree: { at: '2024-05-01', children: [{ at: '2024-05-02', children: [] }] },
    }),
  ).toMatchObject({ ok: true });
  expect(checkInput(entry, { tree: { at: 5, children: [] } })).toMatchObject({ ok: false });
});

it("an output schema can contain types that JSON doesn't have, such as dates", () => {
  expect(sampleEntry({ outputSchema: z.object({ when: z.date() }) }).outputSchema).toBeDefined();
});

it("models don't see safe-integer bounds, patterns of formats, or the dialect", () => {
  const formats = {
    date: z.iso.date(),
    precise: z.iso.datetime({ offset: true, precision: 3 }),
    email: z.email(),
    uuid: z.uuid(),
  };
  expect(shown({ count: z.int(), id: z.record(z.string(), z.string()), ...formats })).toEqual({
    count: { type: 'integer' },
    id: { type: 'object', additionalProperties: { type: 'string' } },
    ...Object.fromEntries(
      Object.keys(formats).map((name) => [name, { type: 'string', format: expect.any(String) }]),
    ),
  });
  expect(
    renderTool(
      sampleEntry({
        inputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' },
      }),
      'full',
    ).inputSchema,
  ).toEqual({ type: 'object' });
});

it('models see meaningful bounds and patterns', () => {
  const shape = {
    count: z.int().min(1).max(9),
    email: z.email({ pattern: /@example\.org$/ }),
    code: z.string().regex(/^[A-Z]+$/),
    time: z.iso.time(),
  };
  expect(shown(shape)).toEqual(declared(shape));
  const authored = {
    type: 'object',
    properties: {
      day: { type: 'string', format: 'date', pattern: '^2024-' },
      minimum: { type: 'integer', minimum: 0 },
      $schema: { type: 'string' },
    },
  };
  expect(renderTool(sampleEntry({ inputSchema: authored }), 'full').inputSchema).toEqual(authored);
});
