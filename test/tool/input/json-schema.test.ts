import { Validator, type Schema } from '@cfworker/json-schema';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, type Json } from '../../../src/core/plain-data.js';
import { boundInput } from '../../../src/tool/input/bound-input.js';
import { compileJsonSchema, schemaFindings } from '../../../src/tool/input/compile-json-schema.js';
import { formatPath } from '../../../src/tool/input/input-error.js';
import { isToolError, issuesOf } from '../../../src/core/errors.js';
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
  ['4,000 references to an anchor that is missing', { allOf: times(4_000, () => ({ $ref: '#x' })) }, /same document/],
  ['1,900 references that lead nowhere, each elsewhere', { allOf: times(1_900, (index) => ({ $ref: `#/$defs/${index}` })) }, /same document/],
  ['20,000 schemas', { allOf: times(20_000, () => ({})) }, /at most 2000 schemas in a document/],
  ['200 schemas that are referred to inside each other', { ...nestedIn(30, (inner) => ({ allOf: [inner, ...times(10, () => ({}))] })), anyOf: times(30, (index) => ({ $ref: `#${'/allOf/0'.repeat(index)}` })) }, /at most 2000 schemas in a document/],
  ['patterns that take long to judge', { allOf: times(420, (index) => ({ pattern: `${'[a-z]|[^b]|\\w|'.repeat(7)}${index}` })) }, /patterns of at most 2048 characters in all/],
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
    expect(error.message.length).toBeLessThan(3_000);
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
  ['a schema that refers to itself from two branches, and an input 60 deep', { anyOf: [{ properties: { a: { $ref: '#' } }, required: ['b'] }, { properties: { a: { $ref: '#' } }, required: ['c'] }] }, nestedIn(60, (a) => ({ a }))],
  ['40,000 items that must be unique', { properties: { a: { uniqueItems: true } } }, { a: times(40_000, (index) => index) }],
  ['a quadratic pattern on a long text', { properties: { a: { pattern: '^[^@]+@[^@]+\\.[^@]+$' } } }, { a: `a@${'.'.repeat(200_000)}@` }],
  ['a pattern without ^ on a long text', { properties: { a: { pattern: 'a+b' } } }, { a: 'a'.repeat(200_000) }],
  ['a quadratic pattern on a long name', { patternProperties: { 'a+b': {} } }, { ['a'.repeat(200_000)]: 1 }],
  ['256 patterns on 20,000 names', { patternProperties: Object.fromEntries(times(256, (index) => [`^a*${index}$`, {}])) }, Object.fromEntries(times(20_000, (index) => [`k${index}`, 1]))],
  ['1,400 objects that must be unique', { properties: { a: { uniqueItems: true } } }, { a: times(1_400, (index) => ({ a: 1, b: 2, c: index })) }],
  ['20 large objects that must be unique', { properties: { a: { uniqueItems: true } } }, { a: times(20, (index) => Object.fromEntries(times(900, (name) => [`k${name}`, name === 899 ? index : 1]))) }],
  ['3,000 objects and an enum of 256 objects', { properties: { a: { items: { enum: times(256, (index) => ({ index, list: [1, 2, 3, 4, 5] })) } } } }, { a: times(3_000, () => ({ index: -1, list: [1, 2, 3, 4, 5] })) }],
  ['a large constant that 1,000 items miss', { properties: { a: { items: { const: times(2_000, () => ({})) } } } }, { a: times(1_000, () => 1) }],
  ['35 Unicode properties on a text that is not Latin', { properties: { a: { allOf: times(7, (index) => ({ pattern: `^${'\\p{L}'.repeat(5)}${index}` })) } } }, { a: 'x😀' }],
  ['30 branches inside each other that have looked at 800 names', { ...nestedIn(30, (inner) => ({ anyOf: [inner] }), { additionalProperties: {} }), unevaluatedProperties: false }, Object.fromEntries(times(800, (index) => [`k${index}`, 1]))],
  ['31 schemas inside each other at each of 63 levels', nestedIn(30, (inner) => ({ allOf: [inner] }), { properties: { a: { $ref: '#' } } }), nestedIn(63, (a) => ({ a }))],
  ['1,500 lengths of a long text', { properties: { a: { allOf: times(1_500, () => ({ minLength: 1 })) } } }, { a: 'x'.repeat(250_000) }],
  ['a large enum that 100,000 items miss', { properties: { a: { contains: { enum: times(250, (index) => 'v'.repeat(200) + index) } } } }, { a: times(100_000, () => 1) }],
  ['1,500 schemas that look at 20,000 names', { allOf: times(1_500, () => ({})) }, Object.fromEntries(times(20_000, (index) => [`k${index}`, 1]))],
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
    expect(fits({ properties: { a: { items: { type: 'integer' } } } }, { a: times(15_000, (index) => index % 10) })).toBe(true);
    expect(fits({ properties: { a: { uniqueItems: true } } }, { a: times(1_500, (index) => index) })).toBe(true);
    expect(fits({ properties: { a: { pattern: '^[^@]+@[^@]+\\.[^@]+$' } } }, { a: `me@${'sub.'.repeat(100)}example.com` })).toBe(true);
  });

  const entry = { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string', minLength: 1 }, tags: { type: 'array', items: { type: 'string' } }, at: { type: 'object', properties: { x: { type: 'number' }, y: { type: 'number' } }, required: ['x'], additionalProperties: false } }, required: ['id'], additionalProperties: false };
  it.each([
    ['1,000 small objects', { items: entry }, times(1_000, (index) => ({ id: index, name: `n${index}`, tags: ['a', 'b'], at: { x: 1, y: 2 } }))],
    ['300 objects of three forms', { items: { oneOf: times(3, (form) => ({ type: 'object', properties: { kind: { const: form }, value: { type: 'string' } }, required: ['kind'], additionalProperties: false })) } }, times(300, (index) => ({ kind: index % 3, value: 'x' }))],
    ['a text of 200 KiB', { type: 'string', minLength: 1, maxLength: 300_000, pattern: '^[^\\u0000]*$' }, 'x'.repeat(204_800)],
    ['1,000 texts out of 200', { items: { enum: times(200, (index) => `value-${index}`) } }, times(1_000, (index) => `value-${index % 200}`)],
    ['a map of 2,000 texts', { additionalProperties: { type: 'string' } }, Object.fromEntries(times(2_000, (index) => [`k${index}`, 'x']))],
    ['1,000 addresses', { items: { pattern: '^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$' } }, times(1_000, (index) => `someone.number${index}@example.com`)],
    ['200 objects that must be unique', { uniqueItems: true }, times(200, (id) => ({ id, name: 'x' }))],
    ['a line of 3,000 characters', { pattern: '^.*\\S.*$' }, 'x'.repeat(3_000)],
    ['a name in many scripts', { pattern: '^[\\p{L}\\p{M}]+(?: [\\p{L}\\p{M}]+)*$' }, 'Jörg 中村'],
  ])('is not that of %s', (_, schema, input) => {
    expect(fits({ properties: { a: schema } }, { a: input })).toBe(true);
  });

  // Where refusing all that nests would be easy, and looking at all branches takes seconds.
  const node = { $ref: '#/$defs/node' };
  const twoBranches = { ...node, $defs: { node: { anyOf: ['y', 'z'].map((name) => ({ type: 'object', properties: { x: node, [name]: { type: 'string' } }, required: [name] })) } } };
  it.each([1, 3, 5])('is not that of an input %i deep for a schema that refers to itself from two branches', (depth) => {
    const issues = told(twoBranches, nestedIn(depth, (x) => ({ x })));
    expect(issues.at(-1)).toBe(`${'x.'.repeat(depth)}y: expected a value (it is required), found none`);
    expect(fits(twoBranches, nestedIn(depth, (x) => ({ x, z: '' }), { y: '' }))).toBe(true);
  });

  it.each([8, 9, 10, 11, 12, 13, 14, 15])('is refused or answered with the issues of one branch at depth %i of a schema that refers to itself from two branches', (depth) => {
    const compiled = compileJsonSchema(twoBranches);
    const input = boundInput(nestedIn(depth, (x) => ({ x })));
    if (depth > 11) expect(refusal(() => compiled.check(input)).code).toBe('LIMIT_EXCEEDED');
    else expect(outcomeOf(() => compiled.check(input))).toMatch(/^(?:LIMIT_EXCEEDED|refused)$/);
  });

  it('ends for all small schemas that refer to themselves, with an answer or a refusal', () => {
    const inner = fc.constant({ $ref: '#' });
    const part = fc.oneof(
      inner.map((each) => ({ properties: { a: each } })),
      inner.map((each) => ({ items: each })),
      inner.map((each) => ({ additionalProperties: each })),
      inner.map((each) => ({ patternProperties: { '^a': each, a$: each } })),
      inner.map((each) => ({ properties: { a: { not: each } } })),
      inner.map((each) => ({ dependentSchemas: { a: { properties: { a: each } } } })),
      inner.map((each) => ({ if: { properties: { a: each } }, then: { properties: { a: each } }, else: { required: ['q'] } })),
      fc.constantFrom<object>({ required: ['b'] }, { type: 'array' }, { maxProperties: 0 }, { const: 1 }, { uniqueItems: true }),
    );
    const branch = fc.array(part, { minLength: 1, maxLength: 3 }).map((all) => Object.assign({}, ...all) as object);
    const schema = fc.tuple(fc.constantFrom('anyOf', 'oneOf', 'allOf'), fc.array(branch, { minLength: 1, maxLength: 3 })).map(([keyword, branches]) => ({ [keyword]: branches }));
    const wrap = fc.constantFrom<(inner: object) => object>((a) => ({ a }), (a) => [a], (a) => ({ a, b: a }), (a) => [a, a]);
    const outcomes = new Map<string, number>();
    fc.assert(
      fc.property(schema, wrap, fc.integer({ min: 1, max: 14 }), (each, around, depth) => {
        const compiled = compileJsonSchema(each);
        const outcome = outcomeOf(() => compiled.check(boundInput(nestedIn(depth, around))));
        expect(['fits', 'refused', 'LIMIT_EXCEEDED']).toContain(outcome);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }),
      { numRuns: 300 },
    );
    for (const outcome of ['fits', 'refused', 'LIMIT_EXCEEDED']) expect(outcomes.get(outcome)).toBeGreaterThan(3);
  });

  it('tells only the first of very many errors', () => {
    const wrong = Object.fromEntries(times(4_000, (index) => [`k${index}`, 1]));
    const issues = told({ additionalProperties: { type: 'string' } }, wrong);
    expect(issues[0]).toBe('k0: expected string, found 1');
    expect(issues.length).toBeGreaterThan(20);
    expect(issues.length).toBeLessThan(1_000);
    expect(told({ additionalProperties: { additionalProperties: { type: 'string' } } }, { ['k'.repeat(200_000)]: { a: 1, b: 1 } })).toHaveLength(1);
  });

  it('is refused as an input that cannot be checked when the validator fails on its names', () => {
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

/** How a check ends. */
function outcomeOf(check: () => readonly unknown[]): string {
  try {
    return check().length === 0 ? 'fits' : 'refused';
  } catch (error) {
    return isToolError(error) ? error.code : String(error);
  }
}

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
