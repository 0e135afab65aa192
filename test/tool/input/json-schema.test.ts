import { Validator, type Schema } from '@cfworker/json-schema';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, type Json } from '../../../src/core/plain-data.js';
import { boundInput } from '../../../src/tool/input/bound-input.js';
import { compileJsonSchema, schemaFindings } from '../../../src/tool/input/compile-json-schema.js';
import { formatPath } from '../../../src/tool/input/input-error.js';
import { issuesOf } from '../../../src/core/errors.js';
import { refusal } from '../sample-tools.js';

const NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'];

function fits(schema: object, input: unknown): boolean {
  return compileJsonSchema(schema).check(boundInput(input)).length === 0;
}

/** What is said of an input, one line per issue. */
function told(schema: object, input: unknown): readonly string[] {
  return compileJsonSchema(schema).check(boundInput(input)).map(({ path, message }) => `${formatPath(path)}: ${message}`);
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function nestedIn(levels: number, wrap: (inner: object) => object, leaf: object = {}): object {
  return times(levels, () => 0).reduce((inner) => wrap(inner), leaf);
}

function definitions(count: number, make: (next: { $ref: string }) => object): object {
  const $defs = Object.fromEntries(times(count, (index) => [`d${index}`, make({ $ref: `#/$defs/d${index + 1}` })]));
  return { $ref: '#/$defs/d0', $defs: { ...$defs, [`d${count}`]: { type: 'string' } } };
}

const circle: Record<string, unknown> = {};
circle['not'] = circle;

/** Schemas that would be slow, endless or misunderstood, and what their refusal says. */
const BOMBS: readonly (readonly [what: string, schema: object, says: RegExp])[] = [
  ['22 definitions of which each uses the next twice', definitions(22, (next) => ({ anyOf: [next, next] })), /at most 10000 schemas/],
  ['2,000 definitions in a row', definitions(2_000, (next) => next), /at most 256 schemas/],
  ['200 definitions in a row for one value', definitions(200, (next) => next), /at most 48 schemas inside each other/],
  ['a reference to itself', { $ref: '#' }, /comes back to itself/],
  ['a reference to itself in a branch', { anyOf: [{ type: 'string' }, { $ref: '#' }] }, /comes back to itself/],
  ['two definitions that are each other', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } } }, /comes back to itself/],
  ['100,000 levels', nestedIn(100_000, (not) => ({ not })), /at most 64 levels deep/],
  ['1,000 levels', nestedIn(1_000, (a) => ({ properties: { a } })), /at most 64 levels deep/],
  ['33 levels of schemas', nestedIn(33, (not) => ({ not })), /nested at most 32 deep/],
  ['a circle', circle, /at most 64 levels deep/],
  ['70 KiB', { description: 'x'.repeat(70_000) }, /at most 65536 bytes/],
  ['257 properties', { properties: Object.fromEntries(times(257, (index) => [`p${index}`, {}])) }, /at most 256 entries, found 257/],
  ['257 enum values', { enum: times(257, String) }, /at most 256 values, found a list of 257/],
  ['an external reference', { properties: { a: { $ref: 'https://example.com/schema.json' } } }, /same document .*, found "https:/],
  ['a reference to a file', { $ref: 'other.json#/a' }, /same document/],
  ['a reference that leads nowhere', { $ref: '#/$defs/missing' }, /same document/],
  ['a reference to what every object has', { $ref: '#/constructor' }, /same document/],
  ['a reference to the prototype', { $ref: '#/__proto__' }, /same document/],
  ['a reference to what is no schema', { $ref: '#/title', title: 'x' }, /expected a schema, found "x"/],
  ['a reference with a broken escape', { $ref: '#/%zz' }, /same document/],
  ['a reference that is no text', { $ref: 1 }, /same document/],
  ['a dynamic reference', { $dynamicRef: '#node' }, /say where they lead/],
  ['a recursive reference', { $recursiveRef: '#' }, /say where they lead/],
  ['an $id inside', { properties: { a: { $id: 'https://example.com/a' } } }, /\$id only at the top/],
  ['a pattern that is dropped inside not', { properties: { a: { not: { pattern: '^(a+)+$' } } } }, /patterns that are known to be safe inside not/],
  ['a pattern that is dropped inside oneOf by reference', { oneOf: [{ $ref: '#/$defs/a' }, {}], $defs: { a: { properties: { b: { pattern: '(a)\\1' } } } } }, /patterns that are known to be safe/],
  ['a pattern of names that is dropped inside if', { if: { patternProperties: { '(a)\\1': {} } } }, /patterns that are known to be safe/],
  ['a pattern that is dropped inside contains with a maximum', { properties: { a: { contains: { pattern: '(a)\\1' }, maxContains: 1 } } }, /patterns that are known to be safe/],
  ['a function', { default: () => 1 }, /plain data/],
];

/** Keywords with values of a wrong type. */
const MISTYPED: readonly (readonly [keyword: string, value: unknown])[] = [
  ['type', 'file'], ['type', ['string', 5]], ['properties', []], ['properties', { a: 'string' }], ['required', 'a'], ['required', [1]], ['items', 'string'], ['anyOf', {}], ['anyOf', [null]], ['not', 1],
  ['minLength', 'x'], ['minLength', -1], ['maxItems', 1.5], ['minimum', '0'], ['multipleOf', 0], ['multipleOf', -1], ['enum', {}], ['uniqueItems', 'yes'], ['pattern', 1], ['patternProperties', []], ['dependentRequired', { a: 'b' }], ['exclusiveMinimum', '5'], ['additionalProperties', 'no'],
];

describe('compileJsonSchema refuses', () => {
  it.each(BOMBS)('%s', (_, schema, says) => {
    const error = refusal(() => compileJsonSchema(schema));
    expect(error.code).toBe('INVALID_INPUT_SCHEMA');
    expect(error.message).toMatch(says);
    expect(error.message.length).toBeLessThan(2_000);
    expect(schemaFindings(schema).map(({ message }) => message).join('\n')).toMatch(says);
  });

  it.each(MISTYPED)('%s: %j', (keyword, value) => {
    const error = refusal(() => compileJsonSchema({ properties: { a: { [keyword]: value } } }));
    expect(error.code).toBe('INVALID_INPUT_SCHEMA');
    expect(issuesOf(error)[0]?.path.slice(0, 3)).toEqual(['properties', 'a', keyword]);
  });

  it('the same schema each time it is asked, with all reasons', () => {
    const schema = { required: 'a', properties: { a: { type: 'file' } } };
    for (let time = 0; time < 2; time++) expect(issuesOf(refusal(() => compileJsonSchema(schema)))).toHaveLength(2);
  });
});

/** Inputs that would keep an unbounded validator busy for minutes, with schemas that are good in themselves. */
const WORK: readonly (readonly [what: string, schema: object, input: unknown])[] = [
  ['a schema that refers to itself from two branches', { anyOf: [{ properties: { a: { $ref: '#' } }, required: ['b'] }, { properties: { a: { $ref: '#' } }, required: ['c'] }] }, nestedIn(60, (a) => ({ a }))],
  ['40,000 items that must be unique', { properties: { a: { uniqueItems: true } } }, { a: times(40_000, (index) => index) }],
  ['a quadratic pattern on a long text', { properties: { a: { pattern: '^[^@]+@[^@]+\\.[^@]+$' } } }, { a: `a@${'.'.repeat(200_000)}@` }],
  ['a pattern without ^ on a long text', { properties: { a: { pattern: 'a+b' } } }, { a: 'a'.repeat(200_000) }],
  ['a quadratic pattern on a long name', { patternProperties: { 'a+b': {} } }, { ['a'.repeat(200_000)]: 1 }],
  ['256 patterns on 20,000 names', { patternProperties: Object.fromEntries(times(256, (index) => [`^a*${index}$`, {}])) }, Object.fromEntries(times(20_000, (index) => [`k${index}`, 1]))],
  ['3,000 lengths of a long text', { properties: { a: { allOf: times(3_000, () => ({ minLength: 1 })) } } }, { a: 'x'.repeat(250_000) }],
  ['a large enum that 100,000 items miss', { properties: { a: { contains: { enum: times(250, (index) => 'v'.repeat(200) + index) } } } }, { a: times(100_000, () => 1) }],
  ['3,000 schemas that look at 20,000 names', { allOf: times(3_000, () => ({})) }, Object.fromEntries(times(20_000, (index) => [`k${index}`, 1]))],
  ['255 times no further names for 20,000 names', { allOf: times(255, () => ({ additionalProperties: false })) }, Object.fromEntries(times(20_000, (index) => [`k${index}`, 1]))],
];

describe('a check that would take too long', () => {
  it.each(WORK)('is refused: %s', (_, schema, input) => {
    const compiled = compileJsonSchema(schema);
    expect(refusal(() => compiled.check(boundInput(input))).code).toBe('LIMIT_EXCEEDED');
  });

  it('is one of honest size if its schema is recursive, its list long, or its texts of a usual length', () => {
    const tree = { $ref: '#/$defs/node', $defs: { node: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/node' } } }, required: ['children'], additionalProperties: false } } };
    const leaf = { children: [] };
    expect(fits(tree, nestedIn(30, (inner) => ({ children: [inner, leaf] }), leaf))).toBe(true);
    expect(told(tree, { children: [leaf, { children: 1 }] })).toEqual(['children[1].children: expected array, found 1']);
    expect(fits({ properties: { a: { items: { type: 'integer' } } } }, { a: times(50_000, (index) => index % 10) })).toBe(true);
    expect(fits({ properties: { a: { uniqueItems: true } } }, { a: times(2_000, (index) => index) })).toBe(true);
    expect(fits({ properties: { a: { pattern: '^[^@]+@[^@]+\\.[^@]+$' } } }, { a: `me@${'sub.'.repeat(100)}example.com` })).toBe(true);
  });

  it('is refused as an input that cannot be checked when the validator overflows', () => {
    const schema = nestedIn(30, (inner) => ({ allOf: [inner] }), { properties: { a: { $ref: '#' } } });
    expect(told(schema, nestedIn(63, (a) => ({ a })))).toEqual([expect.stringMatching(/on which the check fails/)]);
    expect(told({ additionalProperties: { type: 'number' } }, { '\ud800': 1 })).toEqual([expect.stringMatching(/on which the check fails/)]);
  });
});

describe('a nasty name', () => {
  it.each(NAMES)('%s is required only of inputs that have it as their own', (name) => {
    const own = JSON.parse(`{${JSON.stringify(name)}:1}`) as object;
    expect(fits({ required: [name] }, {})).toBe(false);
    expect(fits({ required: [name] }, own)).toBe(true);
    expect(fits({ dependentRequired: JSON.parse(`{${JSON.stringify(name)}:["x"]}`) as object }, {})).toBe(true);
    expect(fits({ dependentRequired: { x: [name] } }, { x: 1 })).toBe(false);
  });

  it.each(NAMES)('%s is a property, a definition and an unknown parameter like any other', (name) => {
    const key = JSON.stringify(name);
    const own = JSON.parse(`{${key}:1}`) as object;
    const ofText = JSON.parse(`{"properties":{${key}:{"type":"string"}}}`) as object;
    const ofNumber = JSON.parse(`{"properties":{${key}:{"type":"number"}},"additionalProperties":false}`) as object;
    expect(told(ofText, own)).toEqual([`${name}: expected string, found 1`]);
    expect(fits(ofText, {})).toBe(true);
    expect(fits(ofNumber, own)).toBe(true);
    expect(fits(ofNumber, { other: 1 })).toBe(false);
    expect(told({ additionalProperties: false }, own)).toEqual([`${name}: expected only known parameters, found ${key}; leave it out`]);
    expect(fits({ anyOf: [ofNumber], unevaluatedProperties: false }, own)).toBe(true);
    expect(fits({ $ref: `#/$defs/${name}`, $defs: JSON.parse(`{${key}:{"minProperties":2}}`) as object }, own)).toBe(false);
    expect(fits({ properties: { a: { format: name } } }, { a: 'x' })).toBe(true);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each(NAMES)('%s as a keyword is ignored', (name) => {
    expect(fits(JSON.parse(`{${JSON.stringify(name)}:{"not":{}},"type":"object"}`) as object, {})).toBe(true);
  });
});

describe('a pattern', () => {
  it('that is safe is checked, in values and in names', () => {
    expect(told({ properties: { a: { pattern: '^[a-z]+$' } } }, { a: 'A' })).toEqual(['a: expected a text that matches ^[a-z]+$, found "A"']);
    expect(told({ propertyNames: { pattern: '^[a-z]+$' } }, { A: 1 })).toEqual(['A: expected a text that matches ^[a-z]+$, found "A"']);
    expect(fits({ patternProperties: { '^x-': {} }, additionalProperties: false }, { 'x-a': 1 })).toBe(true);
    expect(fits({ patternProperties: { '^x-': {} }, additionalProperties: false }, { y: 1 })).toBe(false);
  });

  it('that is not known to be safe is not checked, which is found, and accepts more than it would', () => {
    const schema = { properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    expect(fits(schema, { a: `${'a'.repeat(40)}b` })).toBe(true);
    expect(fits(schema, { a: 1 })).toBe(false);
    expect(schemaFindings(schema)).toEqual([{ path: ['properties', 'a', 'pattern'], message: expect.stringMatching(/known to end soon .* found "\^\(a\+\)\+\$"; it is not checked$/) }]);
    expect(compileJsonSchema(schema).findings).toEqual(schemaFindings(schema));
  });

  it('of names that is not checked makes no name unknown', () => {
    expect(fits({ patternProperties: { '^(a+)+$': { type: 'number' } }, additionalProperties: false }, { aa: 'x', b: 1 })).toBe(true);
    expect(fits({ patternProperties: { '^(a+)+$': { type: 'number' } }, unevaluatedProperties: false, required: ['c'] }, { aa: 'x' })).toBe(false);
  });
});

describe('a check', () => {
  it('says of every field what was expected and what was found', () => {
    const schema = {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 3 },
        limit: { type: 'integer', minimum: 1 },
        mode: { enum: ['read', 'write'] },
        tags: { type: 'array', items: { type: 'string' }, uniqueItems: true },
        who: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        where: { oneOf: [{ type: 'object', required: ['x'], properties: { x: { type: 'number' } } }, { type: 'string' }] },
      },
      required: ['path', 'name'],
      additionalProperties: false,
    };
    expect(told(schema, { path: 'ab', limit: 0, mode: 'x', tags: ['a', 2], who: 1, where: { x: 'y' }, 'extra key': 1 })).toEqual([
      'name: expected a value (it is required), found none',
      'path: expected at least 3 characters, found "ab" (2 characters)',
      'limit: expected at least 1, found 0',
      'mode: expected one of "read", "write", found "x"',
      'tags[1]: expected string, found 2',
      'who: expected string, or null, found 1',
      'where.x: expected number, found "y"',
      '["extra key"]: expected only known parameters, found "extra key"; leave it out',
    ]);
    expect(told({ properties: { a: { oneOf: [{ type: 'number' }, { type: 'integer' }] } } }, { a: 1 })).toEqual(['a: expected a value that fits exactly one form, found 1, which fits 2']);
    expect(told({ properties: { 'a/b~c %': { const: [1] } } }, { 'a/b~c %': 2 })).toEqual(['["a/b~c %"]: expected [1], found 2']);
  });

  it('does not check formats and fills in no defaults', () => {
    const schema = { properties: { a: { format: 'url', default: 'x' } } };
    const raw = boundInput({ a: `http://${'a'.repeat(100_000)}!` });
    expect(compileJsonSchema(schema).check(raw)).toEqual([]);
    expect(compileJsonSchema(schema).check({})).toEqual([]);
  });

  it('understands the drafts: bounds of draft 4, lists of items, references with neighbours, anchors', () => {
    expect(fits({ properties: { a: { minimum: 0, exclusiveMinimum: true } } }, { a: 0 })).toBe(false);
    expect(fits({ properties: { a: { minimum: 0, exclusiveMinimum: false } } }, { a: 0 })).toBe(true);
    expect(fits({ properties: { a: { items: [{ type: 'string' }], additionalItems: false } } }, { a: ['x', 1] })).toBe(false);
    expect(fits({ properties: { a: { prefixItems: [{ type: 'string' }], items: false } } }, { a: ['x', 1] })).toBe(false);
    const neighbours = { properties: { a: { $ref: '#/definitions/any', type: 'string' } }, definitions: { any: {} } };
    expect(fits(neighbours, { a: 1 })).toBe(false);
    expect(fits({ $schema: 'http://json-schema.org/draft-07/schema#', ...neighbours }, { a: 1 })).toBe(true);
    expect(fits({ properties: { a: { $ref: '#text' } }, $defs: { x: { $anchor: 'text', type: 'string' } } }, { a: 1 })).toBe(false);
  });

  it('keeps to the schema as it was when it was first seen', () => {
    const schema = { properties: { a: { type: 'string' } } };
    expect(fits(schema, { a: 1 })).toBe(false);
    schema.properties.a.type = 'number';
    expect(fits(schema, { a: 1 })).toBe(false);
  });

  const name = fc.constantFrom('a', 'b', ...NAMES);
  const small = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, fc.constantFrom<unknown>(null, true, 0, 1, 1.5, '', 'a', 'bb'), fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(name, tie('value'), { maxKeys: 3 })),
  })).value;
  const one = <T>(keyword: string, value: fc.Arbitrary<T>) => value.map((each) => ({ [keyword]: each }));
  const schemas = fc.letrec<{ schema: object | boolean; keyword: object }>((tie) => ({
    // A few keywords each: with all of them no schema would end.
    schema: fc.oneof({ maxDepth: 4, withCrossShrink: true }, fc.boolean(), { arbitrary: fc.array(tie('keyword'), { maxLength: 3 }).map((all) => Object.assign({}, ...all) as object), weight: 4 }),
    keyword: fc.oneof(
      one('type', fc.constantFrom<unknown>('object', 'array', 'string', 'number', 'integer', 'boolean', 'null', ['string', 'null'], ['integer', 'array', 'object'])),
      one('const', small),
      one('enum', fc.array(small, { maxLength: 3 })),
      one('required', fc.array(name, { maxLength: 2 })),
      one('properties', fc.dictionary(name, tie('schema'), { maxKeys: 3 })),
      one('additionalProperties', tie('schema')),
      one('items', tie('schema')),
      one('anyOf', fc.array(tie('schema'), { minLength: 1, maxLength: 2 })),
      one('allOf', fc.array(tie('schema'), { minLength: 1, maxLength: 2 })),
      one('oneOf', fc.array(tie('schema'), { minLength: 1, maxLength: 2 })),
      one('not', tie('schema')),
      one('minimum', fc.constantFrom(0, 1)),
      one('minLength', fc.constantFrom(0, 1, 2)),
      one('maxItems', fc.constantFrom(0, 1, 2)),
      one('uniqueItems', fc.boolean()),
      one('$ref', fc.constant('#/$defs/shared')),
    ),
  })).schema;

  it('answers as a naive reference and as the bare validator do, for all schemas and inputs', () => {
    let accepted = 0;
    const runs = 5_000;
    fc.assert(
      fc.property(schemas, fc.constantFrom<object | boolean>(true, false, { type: 'string' }, { minProperties: 1 }), small, (inner, shared, value) => {
        const schema = { anyOf: [inner], $defs: { shared } };
        const answer = fits(schema, value);
        expect(answer).toBe(reference(inner, shared, boundInput(value)));
        expect(answer).toBe(new Validator(structuredClone(schema) as Schema, '2020-12').validate(value).valid);
        if (answer) accepted++;
      }),
      { numRuns: runs },
    );
    expect(accepted).toBeGreaterThan(runs / 10);
    expect(accepted).toBeLessThan((runs * 9) / 10);
  });
});

/** JSON Schema read literally: one line per keyword. */
function reference(schema: unknown, shared: unknown, value: Json): boolean {
  if (typeof schema === 'boolean') return schema;
  const has = (key: string) => Object.hasOwn(schema as object, key);
  const get = <T>(key: string): T => (schema as Record<string, T>)[key]!;
  const inner = (each: unknown, part: Json = value) => reference(each, shared, part);
  const equal = (a: unknown, b: unknown) => canonicalJson(a) === canonicalJson(b);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const members = isObject ? Object.entries(value as Readonly<Record<string, Json>>) : [];
  const items = Array.isArray(value) ? (value as readonly Json[]) : [];
  const isType = (type: string) => (type === 'integer' ? Number.isInteger(value) : type === (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value));
  const count = (key: string) => get<unknown[]>(key).filter((each) => inner(each)).length;
  if (has('$ref') && !inner(shared)) return false;
  if (has('type') && ![get<string | string[]>('type')].flat().some(isType)) return false;
  if (has('const') && !equal(get('const'), value)) return false;
  if (has('enum') && !get<unknown[]>('enum').some((each) => equal(each, value))) return false;
  if (has('anyOf') && count('anyOf') === 0) return false;
  if (has('allOf') && count('allOf') < get<unknown[]>('allOf').length) return false;
  if (has('oneOf') && count('oneOf') !== 1) return false;
  if (has('not') && inner(get('not'))) return false;
  if (isObject && has('required') && !get<string[]>('required').every((key) => Object.hasOwn(value, key))) return false;
  if (isObject && has('minProperties') && members.length < get<number>('minProperties')) return false;
  const properties = has('properties') ? get<Record<string, unknown>>('properties') : {};
  for (const [key, member] of members) {
    if (Object.hasOwn(properties, key) ? !inner(properties[key], member) : has('additionalProperties') && !inner(get('additionalProperties'), member)) return false;
  }
  if (has('items') && !items.every((item) => inner(get('items'), item))) return false;
  if (has('maxItems') && items.length > get<number>('maxItems')) return false;
  if (get('uniqueItems') === true && new Set(items.map(canonicalJson)).size < items.length) return false;
  if (has('minimum') && typeof value === 'number' && value < get<number>('minimum')) return false;
  return !(has('minLength') && typeof value === 'string' && value.length < get<number>('minLength'));
}
