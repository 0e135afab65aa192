import { describe, expect, it } from 'vitest';
import { boundInput } from '../../src/tool/bound-input.js';
import { compileJsonSchema, foreignSchema } from '../../src/json-schema/compile-json-schema.js';
import { formatPath } from '../../src/core/issues.js';
import { issuesOf } from '../../src/core/errors.js';
import { refusal } from '../tool/sample-tools.js';

const NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'];

function fits(schema: object, input: unknown): boolean {
  return compileJsonSchema(schema).check(boundInput(input)).length === 0;
}

/** Returns the issues of an input, one per line. */
function told(schema: object, input: unknown): readonly string[] {
  return compileJsonSchema(schema)
    .check(boundInput(input))
    .map(({ path, message }) => `${formatPath(path)}: ${message}`);
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function nestedIn(levels: number, wrap: (inner: object) => object, leaf: object = {}): object {
  return times(levels, () => 0).reduce((inner) => wrap(inner), leaf);
}

function definitions(count: number, make: (next: { $ref: string }) => object): object {
  const $defs = Object.fromEntries(
    times(count, (index) => [`d${index}`, make({ $ref: `#/$defs/d${index + 1}` })]),
  );
  return { $ref: '#/$defs/d0', $defs: { ...$defs, [`d${count}`]: { type: 'string' } } };
}

const circle: Record<string, unknown> = {};
circle['not'] = circle;

/** Schemas that are invalid, endless, or easily misunderstood, each with its error message. */
const REFUSED: readonly (readonly [what: string, schema: object, says: RegExp])[] = [
  ['a reference to itself', { $ref: '#' }, /points back to itself/],
  [
    'two definitions that refer to each other',
    {
      $ref: '#/$defs/a',
      $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } },
    },
    /points back to itself/,
  ],
  ['100,000 levels of nesting', nestedIn(100_000, (not) => ({ not })), /at most 64 levels deep/],
  ['a circular schema object', circle, /at most 64 levels deep/],
  ['more than 256 KiB', { description: 'x'.repeat(270_000) }, /more than 262144 characters/],
  [
    'an external reference',
    { properties: { a: { $ref: 'https://example.com/schema.json' } } },
    /same document .*, got "https:/,
  ],
  ['a reference to a missing definition', { $ref: '#/$defs/missing' }, /same document/],
  [
    'an invalid pattern',
    { properties: { a: { pattern: '(' } } },
    /properties\.a\.pattern: Expected a regular expression, got "\("/,
  ],
];

/** Keywords with values of the wrong type. */
const MISTYPED: readonly (readonly [keyword: string, value: unknown])[] = [
  ['type', 'file'],
  ['properties', []],
  ['minLength', 'x'],
  ['minLength', -1],
  ['multipleOf', 0],
  ['pattern', 1],
  ['dependentRequired', { a: 'b' }],
];

describe('invalid JSON Schemas', () => {
  it.each(REFUSED)('compileJsonSchema rejects %s', (_, schema, says) => {
    const error = refusal(() => compileJsonSchema(schema));
    expect(error.code).toBe('INVALID_INPUT_SCHEMA');
    expect(error.message).toMatch(says);
    expect(error.message.length).toBeLessThan(6_000);
    expect(issuesOf(error).length).toBeLessThanOrEqual(20);
  });

  it.each(MISTYPED)('the keyword %s with %j is rejected', (keyword, value) => {
    const error = refusal(() => compileJsonSchema({ properties: { a: { [keyword]: value } } }));
    expect(error.code).toBe('INVALID_INPUT_SCHEMA');
    expect(issuesOf(error)[0]?.path.slice(0, 3)).toEqual(['properties', 'a', keyword]);
  });
});

const twoBranches = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      anyOf: ['y', 'z'].map((name) => ({
        type: 'object',
        properties: { x: { $ref: '#/$defs/node' }, [name]: { type: 'string' } },
        additionalProperties: false,
      })),
    },
  },
};

/**
 * Schemas with multiplying references, and inputs that would keep a check without limits busy for
 * minutes.
 */
const ENDLESS: readonly (readonly [what: string, schema: object, input: unknown])[] = [
  [
    '24 definitions that each use the next one twice',
    definitions(24, (next) => ({ anyOf: [next, next] })),
    {},
  ],
  [
    'a schema that refers to itself in two branches and an input 60 levels deep',
    twoBranches,
    nestedIn(60, (x) => ({ x }), { q: 1 }),
  ],
  [
    '256 patterns and 20,000 property names',
    { patternProperties: Object.fromEntries(times(256, (index) => [`^a*${index}$`, {}])) },
    Object.fromEntries(times(20_000, (index) => [`k${index}`, 1])),
  ],
];

/** Inputs that once took quadratic time or were refused because of their size. */
const LARGE: readonly (readonly [what: string, schema: object, input: unknown, fits: boolean])[] = [
  [
    '40,000 items that must be unique',
    { uniqueItems: true },
    times(40_000, (index) => index),
    true,
  ],
  [
    '30 nested branches that each evaluate 800 property names',
    {
      ...nestedIn(30, (inner) => ({ anyOf: [inner] }), { additionalProperties: {} }),
      unevaluatedProperties: false,
    },
    Object.fromEntries(times(800, (index) => [`k${index}`, 1])),
    true,
  ],
  [
    '130,000 numbers in one of five forms',
    {
      items: { anyOf: ['null', 'string', 'object', 'array', 'integer'].map((type) => ({ type })) },
    },
    times(130_000, () => 1),
    true,
  ],
  ['a chain of 500 definitions', definitions(500, (next) => next), 'x', true],
  [
    '1,000 properties',
    {
      properties: Object.fromEntries(times(1_000, (index) => [`p${index}`, { type: 'integer' }])),
      additionalProperties: false,
    },
    Object.fromEntries(times(1_000, (index) => [`p${index}`, index])),
    true,
  ],
];

describe('checking an input', () => {
  it.each(ENDLESS)('ends with LIMIT_EXCEEDED for %s', (_, schema, input) => {
    const compiled = compileJsonSchema(schema);
    const error = refusal(() => compiled.check(boundInput(input)));
    expect(error.code).toBe('LIMIT_EXCEEDED');
    expect(error.message).toMatch(
      /^Checking this input takes more than \d+ .*\. (?:Send shorter text and lists|Flatten it)\.$/,
    );
  });

  it.each(LARGE)('finishes without exceeding a limit for %s', (_, schema, input, answer) => {
    const issues = compileJsonSchema(schema).check(boundInput(input));
    expect(issues.length === 0).toBe(answer);
    expect(issues.map(({ message }) => message).join()).not.toMatch(/that matches the schema/);
  });
  it.each([
    [
      '300 objects of three forms',
      {
        items: {
          oneOf: times(3, (form) => ({
            type: 'object',
            properties: { kind: { const: form }, value: { type: 'string' } },
            required: ['kind'],
            additionalProperties: false,
          })),
        },
      },
      times(300, (index) => ({ kind: index % 3, value: 'x' })),
    ],
    [
      '1,000 addresses',
      { items: { pattern: '^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$' } },
      times(1_000, (index) => `someone.number${index}@example.com`),
    ],
    ['a line of 3,000 characters', { pattern: '^.*\\S.*$' }, 'x'.repeat(3_000)],
  ])('accepts a valid input within the step limit: %s', (_, schema, input) => {
    expect(fits({ properties: { a: schema } }, { a: input })).toBe(true);
  });

  it.each([1, 3, 5, 8])(
    "reports only one branch's issues for a recursive schema with two branches and an input %i levels deep",
    (depth) => {
      expect(
        told(
          twoBranches,
          nestedIn(depth, (x) => ({ x }), { q: 1 }),
        ).at(-1),
      ).toBe(`${'x.'.repeat(depth)}q: Expected only known parameters, got "q". Remove it.`);
      expect(
        fits(
          twoBranches,
          nestedIn(depth, (x) => ({ x, z: '' }), { y: '' }),
        ),
      ).toBe(true);
    },
  );
});

describe('names of built-in properties', () => {
  it.each(NAMES)('%s can be a property, a definition, or an unknown parameter', (name) => {
    const key = JSON.stringify(name);
    const own = JSON.parse(`{${key}:1}`) as object;
    const ofText = JSON.parse(`{"properties":{${key}:{"type":"string"}}}`) as object;
    const ofNumber = JSON.parse(
      `{"properties":{${key}:{"type":"number"}},"additionalProperties":false}`,
    ) as object;
    expect(told(ofText, own)).toEqual([`${name}: Expected a string, got 1.`]);
    expect(fits(ofText, {})).toBe(true);
    expect(fits(ofNumber, own)).toBe(true);
    expect(fits(ofNumber, { other: 1 })).toBe(false);
    expect(told({ additionalProperties: false }, own)).toEqual([
      `${name}: Expected only known parameters, got ${key}. Remove it.`,
    ]);
    expect(fits({ anyOf: [ofNumber], unevaluatedProperties: false }, own)).toBe(true);
    expect(
      fits(
        { $ref: `#/$defs/${name}`, $defs: JSON.parse(`{${key}:{"minProperties":2}}`) as object },
        own,
      ),
    ).toBe(false);
    expect(fits({ properties: { a: { format: name } } }, { a: 'x' })).toBe(true);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

/** Common patterns, each with a text that matches and texts that don't. */
const PATTERNS: readonly (readonly [
  what: string,
  pattern: string,
  good: string,
  bad: readonly string[],
])[] = [
  ['a path without ".."', '^(?!.*\\.\\.)[a-z/]+$', 'etc/hosts', ['../../etc', 'a/..']],
  [
    'an IPv4 address',
    '^(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?:\\.(?!$)|$)){4}$',
    '10.0.0.1',
    ['10.0.0', '256.1.1.1', '1.1.1.1.'],
  ],
  ['a repeated word', '^(\\w+) \\1$', 'a a', ['a b']],
  ['an escape invalid with the u flag', '^[a-z]\\-[\\w\\-.]+\\@$', 'a-b.c@', ['a_b@']],
];

describe('patterns in a trusted schema', () => {
  it.each(PATTERNS)(
    'are enforced for %s in pattern, patternProperties, and propertyNames',
    (_, pattern, good, bad) => {
      const value = { properties: { a: { pattern } } };
      const members = {
        patternProperties: { [pattern]: { type: 'number' } },
        additionalProperties: false,
      };
      const names = { propertyNames: { pattern } };
      for (const schema of [value, members, names])
        expect(compileJsonSchema(schema).unchecked).toEqual([]);
      expect([
        fits(value, { a: good }),
        fits(members, { [good]: 1 }),
        fits(members, { [good]: 'x' }),
        fits(names, { [good]: 1 }),
      ]).toEqual([true, true, false, true]);
      for (const each of bad)
        expect([
          each,
          fits(value, { a: each }),
          fits(members, { [each]: 1 }),
          fits(names, { [each]: 1 }),
        ]).toEqual([each, false, false, false]);
    },
  );

  it("are reported with the expected pattern if a value or a name doesn't match", () => {
    expect(told({ properties: { a: { pattern: '^[a-z]+$' } } }, { a: 'A' })).toEqual([
      'a: Expected text that matches ^[a-z]+$, got "A".',
    ]);
    expect(told({ propertyNames: { pattern: '^[a-z]+$' } }, { A: 1, ok: 1, B: 1 })).toEqual([
      'A: Expected text that matches ^[a-z]+$, got "A".',
      'B: Expected text that matches ^[a-z]+$, got "B".',
    ]);
  });

  it("aren't run on text that is too long", () => {
    expect(
      told(
        { properties: { a: { pattern: '^(a+)+$', maxLength: 20 } } },
        { a: `${'a'.repeat(60)}b` },
      ),
    ).toEqual([expect.stringMatching(/^a: Expected at most 20 characters, /)]);
  });
});

describe('patterns in an untrusted schema', () => {
  const unsafe = '^(a+)+$';
  const endless = `${'a'.repeat(60)}b`;
  const foreignFits = (schema: object, input: unknown) => fits(foreignSchema(schema), input);

  it("aren't run, and are reported wherever they occur", () => {
    const schema = foreignSchema({
      properties: {
        a: { type: 'string', pattern: unsafe },
        b: { patternProperties: { '^x': {} } },
      },
      propertyNames: { pattern: '^[a-z]' },
    });
    expect(fits(schema, { a: endless })).toBe(true);
    expect(fits(schema, { a: 1 })).toBe(false);
    expect(compileJsonSchema(schema).unchecked).toEqual([
      { path: ['properties', 'a', 'pattern'], pattern: unsafe },
      { path: ['properties', 'b', 'patternProperties', '^x'], pattern: '^x' },
      { path: ['propertyNames', 'pattern'], pattern: '^[a-z]' },
    ]);
    expect(compileJsonSchema(foreignSchema({ pattern: '(' })).unchecked).toHaveLength(1);
  });

  it('match any property name, so additionalProperties and unevaluatedProperties never reject a property', () => {
    expect(
      foreignFits(
        { patternProperties: { [unsafe]: { type: 'number' } }, additionalProperties: false },
        { aa: 'x', b: 1 },
      ),
    ).toBe(true);
    expect(
      foreignFits(
        {
          patternProperties: { [unsafe]: { type: 'number' } },
          unevaluatedProperties: false,
          required: ['c'],
        },
        { aa: 'x' },
      ),
    ).toBe(false);
  });

  it('never reject an input, even if a keyword negates them', () => {
    const pattern = { type: 'string', pattern: unsafe };
    expect([foreignFits({ not: pattern }, 'x'), foreignFits({ not: pattern }, 1)]).toEqual([
      true,
      true,
    ]);
    expect([
      foreignFits({ not: { anyOf: [pattern, { type: 'number' }] } }, 'x'),
      foreignFits({ not: { anyOf: [pattern, { type: 'number' }] } }, 1),
    ]).toEqual([true, false]);
    expect([
      foreignFits({ oneOf: [pattern, { type: 'string' }] }, 'x'),
      foreignFits({ oneOf: [pattern, { type: 'string' }, { minLength: 1 }] }, 'x'),
    ]).toEqual([true, false]);
    const condition = { if: pattern, then: { maxLength: 1 }, else: { minLength: 3 } };
    expect(['x', 'xxx', 'xx'].map((text) => foreignFits(condition, text))).toEqual([
      true,
      true,
      false,
    ]);
    expect(foreignFits({ not: { patternProperties: { [unsafe]: false } } }, { a: 1 })).toBe(true);
  });

  it('run on the regular-expression engine that the user passes', () => {
    const asked: string[] = [];
    const schema = foreignSchema(
      { properties: { a: { pattern: '^x' }, b: { pattern: '(?=y)' } } },
      (pattern) => {
        if (pattern.includes('?')) throw new Error('not linear');
        return {
          test: (text) => {
            asked.push(text);
            return text.startsWith('x');
          },
        };
      },
    );
    expect([
      fits(schema, { a: 'xy' }),
      fits(schema, { a: 'y', b: 'z' }),
      fits(schema, { b: 'z' }),
    ]).toEqual([true, false, true]);
    expect(new Set(asked)).toEqual(new Set(['xy', 'y']));
    expect(compileJsonSchema(schema).unchecked).toEqual([
      { path: ['properties', 'b', 'pattern'], pattern: '(?=y)' },
    ]);
  });
});

describe('results of a check', () => {
  it('report every invalid field with the expected and the actual value', () => {
    const schema = {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 3 },
        limit: { type: 'integer', minimum: 1 },
        mode: { enum: ['read', 'write'] },
        tags: { type: 'array', items: { type: 'string' }, uniqueItems: true },
        who: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        where: {
          oneOf: [
            { type: 'object', required: ['x'], properties: { x: { type: 'number' } } },
            { type: 'string' },
          ],
        },
      },
      required: ['path', 'name'],
      additionalProperties: false,
    };
    expect(
      told(schema, {
        path: 'ab',
        limit: 0,
        mode: 'x',
        tags: ['a', 2],
        who: 1,
        where: { x: 'y' },
        'extra key': 1,
      }),
    ).toEqual([
      'name: Expected a value (it is required), got nothing.',
      'path: Expected at least 3 characters, got "ab" (2 characters).',
      'limit: Expected at least 1, got 0.',
      'mode: Expected one of "read", "write", got "x".',
      'tags[1]: Expected a string, got 2.',
      'who: Expected a string, or null, got 1.',
      'where.x: Expected a number, got "y".',
      '["extra key"]: Expected only known parameters, got "extra key". Remove it.',
    ]);
    expect(
      told({ properties: { a: { oneOf: [{ type: 'number' }, { type: 'integer' }] } } }, { a: 1 }),
    ).toEqual(['a: Expected a value that matches exactly one schema, got 1 (it matches 2).']);
    expect(told({ properties: { 'a/b~c %': { const: [1] } } }, { 'a/b~c %': 2 })).toEqual([
      '["a/b~c %"]: Expected [1], got 2.',
    ]);
  });

  it("ignore formats and don't fill in defaults", () => {
    const schema = { properties: { a: { format: 'url', default: 'x' } } };
    const raw = boundInput({ a: `http://${'a'.repeat(100_000)}!` });
    expect(compileJsonSchema(schema).check(raw)).toEqual([]);
    expect(compileJsonSchema(schema).check({})).toEqual([]);
  });

  it("don't refuse a value because two branches differ only in formats, which aren't checked", () => {
    const oneOf = [
      { type: 'string', format: 'ipv4' },
      { type: 'string', format: 'email' },
    ];
    expect(fits({ oneOf }, '127.0.0.1')).toBe(true);
    expect(fits({ oneOf }, 1)).toBe(false);
    expect(fits({ oneOf: [...oneOf, { minLength: 1 }, { maxLength: 9 }] }, 'a')).toBe(false);
  });

  it('respect draft 4 bounds, tuple items, references with siblings, and anchors', () => {
    expect(fits({ properties: { a: { minimum: 0, exclusiveMinimum: true } } }, { a: 0 })).toBe(
      false,
    );
    expect(fits({ properties: { a: { minimum: 0, exclusiveMinimum: false } } }, { a: 0 })).toBe(
      true,
    );
    const neighbours = {
      properties: { a: { $ref: '#/definitions/any', type: 'string' } },
      definitions: { any: {} },
    };
    expect(fits(neighbours, { a: 1 })).toBe(false);
    expect(
      fits({ $schema: 'http://json-schema.org/draft-07/schema#', ...neighbours }, { a: 1 }),
    ).toBe(true);
  });
});
