import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { estimateTokens, renderTool } from '../../src/tool/render-tool.js';
import { checkInput } from '../../src/tool/check-input.js';
import { issuesWith, sampleEntry } from './sample-tools.js';

const refused = (schema: unknown) => issuesWith({ inputSchema: schema });
const shown = (shape: z.ZodRawShape) => renderTool(sampleEntry({ inputSchema: z.object(shape) }), 'full').inputSchema['properties'];
const declared = (shape: z.ZodRawShape) => sampleEntry({ inputSchema: z.object(shape) }).inputJsonSchema['properties'];

/** Schemas that no JSON value meets, each with the beginning of its way out. */
const UNMET: readonly (readonly [got: string, schema: z.ZodType, wayOut: string])[] = [
  ['z.date()', z.date(), 'Use z.iso.datetime()'],
  ['z.bigint()', z.bigint(), 'Use z.int(), or z.coerce.bigint()'],
  ['z.map()', z.map(z.string(), z.string()), 'Use z.record('],
  ['z.set()', z.set(z.string()), 'Use z.array('],
  ['z.symbol()', z.symbol(), 'Use z.string()'],
  ['z.nan()', z.nan(), 'Use z.number()'],
  ['z.file()', z.file(), 'the path of the file'],
  ['z.undefined()', z.undefined(), 'Use .optional()'],
  ['z.function()', z.function(), 'Leave it out'],
  ['z.custom() or z.instanceof()', z.instanceof(URL), '.meta({ type: … })'],
  ['z.custom() or z.instanceof()', z.custom<`#${string}`>(), '.meta({ type: … })'],
  ['z.literal() of another value', z.literal(1n), 'a number, true'],
];

describe('an input schema that no model can meet', () => {
  it.each(UNMET)('%s is refused when the tool is defined, with the way out', (got, schema, wayOut) => {
    const [issue, ...others] = refused(z.object({ when: schema }));
    expect(others).toEqual([]);
    expect(issue?.path).toEqual(['inputSchema', 'when']);
    expect(issue?.message).toContain(`Expected a schema of values that JSON can carry, got ${got}. `);
    expect(issue?.message).toContain(wayOut);
  });

  it('is refused wherever it stands, every place at once', () => {
    const wrappers: Readonly<Record<string, (inner: z.ZodType) => z.ZodType>> = {
      optional: (inner) => inner.optional(),
      nullable: (inner) => inner.nullable(),
      described: (inner) => inner.describe('When'),
      default: (inner) => inner.default(null),
      readonly: (inner) => inner.readonly(),
      piped: (inner) => inner.transform(String),
      lazy: (inner) => z.lazy(() => inner),
      list: (inner) => z.array(inner),
      tuple: (inner) => z.tuple([inner]),
      record: (inner) => z.record(z.string(), inner),
      object: (inner) => z.object({ inner }),
      both: (inner) => z.intersection(z.object({ inner }), z.object({})),
    };
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...Object.keys(wrappers)), { maxLength: 4 }), fc.constantFrom(...UNMET), (names, [, schema, wayOut]) => {
        const wrapped = names.reduce((inner, name) => wrappers[name]!(inner), schema);
        const issues = refused(z.object({ first: wrapped, fine: z.string(), second: wrapped }));
        expect(issues.map(({ path }) => path[1])).toEqual(['first', 'second']);
        for (const { message } of issues) expect(message).toContain(wayOut);
      }),
      { numRuns: 200 },
    );
  });

  it('names the place within lists and objects', () => {
    expect(refused(z.object({ trips: z.array(z.object({ start: z.date() })) }))[0]?.path).toEqual(['inputSchema', 'trips', 'items', 'start']);
    expect(refused(z.object({ trip: z.union([z.string(), z.object({ start: z.date() })]) }))[0]?.path).toEqual(['inputSchema', 'trip', 'start']);
  });

  it('of zod 3 is refused with the version to install, as a schema and as the shape of one', () => {
    for (const schema of [z3.object({ a: z3.string() }), { a: z3.string() }]) {
      expect(refused(schema)).toEqual([{ path: ['inputSchema'], message: 'Expected a schema of zod 4, got one of zod 3. Install it (npm install zod@4) and import z from "zod".' }]);
    }
  });
});

describe('an input schema of zod', () => {
  it('shows the text that coercion reads, and calls the tool with what it makes', () => {
    const entry = sampleEntry({ inputSchema: z.object({ when: z.coerce.date().describe('Then'), id: z.coerce.bigint() }) });
    expect(entry.inputJsonSchema['properties']).toEqual({ when: { type: 'string', format: 'date-time', description: 'Then' }, id: { type: 'string', pattern: '^-?[0-9]+$' } });
    expect(checkInput(entry, { when: '2024-05-01T00:00:00Z', id: '12345678901234567890' })).toMatchObject({ ok: true, value: { when: new Date(Date.UTC(2024, 4, 1)), id: 12345678901234567890n } });
  });

  it('is accepted where a custom type says its JSON Schema, a codec reads text, or a function makes the value', () => {
    const isoDate = z.codec(z.iso.datetime(), z.date(), { decode: (text) => new Date(text), encode: (date) => date.toISOString() });
    const shape = { tag: z.custom<`#${string}`>().meta({ type: 'string' }), at: isoDate, any: z.preprocess((value) => new Date(value as string), z.date()), optional: z.preprocess((value) => value, z.object({ start: z.date() })).optional() };
    expect(shown(shape)).toEqual({ tag: { type: 'string' }, at: { type: 'string', format: 'date-time' }, any: {}, optional: { type: 'object', properties: { start: {} }, required: ['start'] } });
  });

  it('leaves out of a union what JSON cannot carry', () => {
    expect(declared({ a: z.union([z.string(), z.date()]).describe('A'), b: z.union([z.string(), z.int32(), z.undefined()]), c: z.union([z.date(), z.preprocess(String, z.date())]) })).toEqual({
      a: { type: 'string', description: 'A' },
      b: { anyOf: [{ type: 'string' }, { type: 'integer', minimum: -2147483648, maximum: 2147483647 }] },
      c: {},
    });
  });

  it('may answer with what JSON cannot carry: only inputs come from a model', () => {
    expect(sampleEntry({ outputSchema: z.object({ when: z.date() }) }).outputSchema).toBeDefined();
  });
});

describe('what a model reads of a schema', () => {
  it('has no bounds of safe integers, no patterns beside formats and no dialect', () => {
    const formats = { date: z.iso.date(), moment: z.iso.datetime(), precise: z.iso.datetime({ offset: true, precision: 3 }), email: z.email(), uuid: z.uuid(), v4: z.uuidv4(), ip: z.ipv4(), length: z.iso.duration() };
    expect(shown({ count: z.int(), id: z.record(z.string(), z.string()), ...formats })).toEqual({
      count: { type: 'integer' },
      id: { type: 'object', additionalProperties: { type: 'string' } },
      ...Object.fromEntries(Object.keys(formats).map((name) => [name, { type: 'string', format: expect.any(String) as string }])),
    });
    expect(renderTool(sampleEntry({ inputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' } }), 'full').inputSchema).toEqual({ type: 'object' });
  });

  it('keeps the bounds and patterns that say something', () => {
    const shape = { count: z.int().min(1).max(9), small: z.int32(), email: z.email({ pattern: /@example\.org$/ }), code: z.string().regex(/^[A-Z]+$/), time: z.iso.time(), loose: z.looseObject({ a: z.string() }), keys: z.record(z.string().min(3), z.any()) };
    expect(shown(shape)).toEqual(declared(shape));
    const authored = { type: 'object', properties: { day: { type: 'string', format: 'date', pattern: '^2024-' }, minimum: { type: 'integer', minimum: 0 }, $schema: { type: 'string' } } };
    expect(renderTool(sampleEntry({ inputSchema: authored }), 'full').inputSchema).toEqual(authored);
  });

  it('makes three integers cost 32 tokens instead of 73', () => {
    const entry = sampleEntry({ inputSchema: z.object({ a: z.int(), b: z.int(), c: z.int() }) });
    const tokens = (schema: unknown) => estimateTokens(JSON.stringify(schema));
    expect([tokens(renderTool(entry, 'full').inputSchema), tokens(entry.inputJsonSchema)]).toEqual([32, 73]);
  });

  it('leaves the entry as it was declared: its digest, its stored form and its checks', () => {
    const pattern = '^(?:[01]\\d)$';
    const entry = sampleEntry({ inputSchema: { type: 'object', properties: { n: { type: 'integer', maximum: Number.MAX_SAFE_INTEGER }, day: { type: 'string', format: 'date', pattern } } } });
    expect(entry.inputJsonSchema['properties']).toEqual({ n: { type: 'integer', maximum: Number.MAX_SAFE_INTEGER }, day: { type: 'string', format: 'date', pattern } });
    expect(checkInput(entry, { n: 2 ** 60 })).toMatchObject({ ok: false });
    expect(Object.isFrozen(renderTool(entry, 'full').inputSchema)).toBe(true);
  });
});
