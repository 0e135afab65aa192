import { expect, it } from 'vitest';
import { z } from 'zod';
import { isToolError, issuesOf, type ToolError } from '../../../src/core/errors.js';
import { checkInput } from '../../../src/tool/check-input.js';
import type { StandardResult } from '../../../src/tool/tool-schema.js';
import { isDeepFrozen } from '../../core/json-values.js';
import { sampleEntry } from '../sample-tools.js';

const FIELDS = {
  type: 'object',
  properties: { path: { type: 'string' }, limit: { type: 'integer', default: 10 } },
  required: ['path'],
};

/** Checks an input with a schema that answers synchronously. */
function checked(inputSchema: unknown, input: unknown) {
  const answer = checkInput(sampleEntry({ inputSchema }), input);
  if (answer instanceof Promise) throw new Error('expected an answer at once');
  return answer;
}

function accepted(inputSchema: unknown, input: unknown) {
  const answer = checked(inputSchema, input);
  if (!answer.ok) throw answer.error;
  return answer;
}

function refused(inputSchema: unknown, input: unknown): ToolError {
  const answer = checked(inputSchema, input);
  if (answer.ok) throw new Error('expected a refusal');
  return answer.error;
}

/** A Standard Schema from another library. */
function foreign(
  validate: (value: unknown) => StandardResult<unknown> | Promise<StandardResult<unknown>>,
) {
  return {
    '~standard': {
      version: 1,
      vendor: 'other',
      validate,
      jsonSchema: { input: () => ({ type: 'object' }) },
    },
  };
}

it('checkInput returns the value from zod with defaults and conversions, and the original input as raw', () => {
  const schema = z.object({
    path: z.string().trim(),
    limit: z.number().default(10),
    day: z.string().transform((text) => new Date(text)),
    extra: z.array(z.object({ a: z.number() })),
  });
  const { raw, value } = accepted(schema, {
    path: ' x ',
    day: '2024-01-02',
    extra: [{ a: 1 }],
    unknown: true,
  });
  expect(raw).toEqual({ path: ' x ', day: '2024-01-02', extra: [{ a: 1 }], unknown: true });
  expect(value).toEqual({ path: 'x', limit: 10, day: new Date('2024-01-02'), extra: [{ a: 1 }] });
});

it("checkInput freezes the input and the schema's plain data, but not class instances", () => {
  const schema = z.object({
    a: z.array(z.object({ b: z.number() })),
    m: z.any().transform(() => new Map([['k', { open: true }]])),
    bytes: z.any().transform(() => new Uint8Array(2)),
  });
  const { raw, value } = accepted(schema, { a: [{ b: 1 }], m: 1, bytes: 1 });
  const { a, m, bytes } = value as { a: unknown; m: Map<string, object>; bytes: Uint8Array };
  expect(isDeepFrozen(raw)).toBe(true);
  expect(Object.isFrozen(value)).toBe(true);
  expect(isDeepFrozen(a)).toBe(true);
  m.set('more', {});
  bytes[0] = 1;
  expect(Object.isFrozen(m.get('k'))).toBe(false);
});

it('checkInput returns the input itself for plain JSON Schema, without defaults', () => {
  const { raw, value } = accepted(FIELDS, { path: 'x', more: [1] });
  expect(value).toBe(raw);
  expect(raw).toEqual({ path: 'x', more: [1] });
  expect(isDeepFrozen(raw)).toBe(true);
});

it('checkInput turns a missing input into {}', () => {
  expect(accepted(z.object({}), undefined).raw).toEqual({});
  expect(accepted({ type: 'object', properties: {} }, undefined).raw).toEqual({});
  expect(refused(FIELDS, undefined).message).toBe(
    'Invalid input for sample:\n  path: Expected a value (it is required), got nothing.',
  );
});

it.each([
  ['text that contains JSON', '{"path":"x"}'],
  ['a list', [{ path: 'x' }]],
])("checkInput refuses %s, because it isn't an object of parameters", (_, input) => {
  // Without a type, the JSON Schema itself would accept values that aren't objects.
  for (const schema of [
    FIELDS,
    { properties: {}, required: ['path'] },
    z.object({ path: z.string() }),
    foreign((value) => ({ value })),
  ]) {
    const error = refused(schema, input);
    expect(error.code).toBe('INVALID_INPUT');
    expect(error.message).toMatch(/Expected an object of named parameters, got /);
  }
});

it('checkInput treats null as {}, which is refused if the tool requires parameters', () => {
  for (const schema of [{ properties: {}, required: ['path'] }, z.object({ path: z.string() })])
    expect(refused(schema, null).message).toContain('path');
});

it('checkInput reports the path, expectation, and value of zod issues', () => {
  const schema = z.strictObject({
    path: z.string().min(3),
    limit: z.int(),
    mode: z.enum(['r', 'w']),
    list: z.array(z.object({ a: z.number() })),
    who: z.union([z.string(), z.object({ id: z.number() })]),
    need: z.boolean(),
  });
  const error = refused(schema, {
    path: 'x',
    limit: 1.5,
    mode: 'q',
    list: [{ a: 1 }, { a: 'b' }],
    who: true,
    'extra key': 1,
  });
  expect(error.code).toBe('INVALID_INPUT');
  expect(error.message.split('\n')).toEqual([
    'Invalid input for sample:',
    '  path: Expected at least 3 characters, got "x".',
    '  limit: Expected a whole number, got 1.5.',
    '  mode: Expected one of "r", "w", got "q".',
    '  list[1].a: Expected a number, got "b".',
    '  who: Expected a string, or an object, got true.',
    '  need: Expected a value (it is required), got nothing.',
    '  Expected only known parameters, got "extra key". Remove them.',
  ]);
  expect(issuesOf(error)[3]).toEqual({
    path: ['list', 1, 'a'],
    message: 'Expected a number, got "b".',
  });
  expect(error.details['toolName']).toBe('sample');
});

it.each<[z.ZodType, unknown, string]>([
  [z.number().positive(), 0, 'more than 0, got 0.'],
  [z.email(), 'no', 'a valid email address, got "no".'],
  [
    z.number().refine((n) => n % 2 === 0, 'must be even'),
    3,
    'a value that the schema accepts, got 3. must be even.',
  ],
  [z.number().min(3, 'Three are needed!'), 1, 'at least 3, got 1. Three are needed!'],
  [
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a') }),
      z.object({ kind: z.literal('b') }),
    ]),
    { kind: 'c' },
    'one of "a", "b", got "c".',
  ],
])(
  "a failed zod check (%#) is described like a JSON Schema issue, followed by the author's message",
  (field, value, expected) => {
    expect(
      refused(z.object({ field }), { field: value }).message.replace(
        /^.*\n {2}field(\.kind)?: /,
        '',
      ),
    ).toBe(`Expected ${expected}`);
  },
);

it.each([
  'password',
  'apiKey',
  'API_KEY',
  'accesstoken',
  'tokens',
  'clientSecret',
  'Authorization',
])("checkInput shows only the type of a secret field's value: %s", (name) => {
  const hidden = 'hunter2';
  const number = { type: 'object', properties: { [name]: { type: 'number' } } };
  const schemas = [
    number,
    { properties: { [name]: { enum: [1] } } },
    { properties: { [name]: { anyOf: [{ type: 'number' }, { type: 'null' }] } } },
    z.object({ [name]: z.number() }),
    z.object({ [name]: z.union([z.number(), z.boolean()]) }),
    foreign((value) => ({
      issues: [
        { message: `expected a number but received ${JSON.stringify(value)}`, path: [name] },
      ],
    })),
  ];
  for (const schema of schemas)
    expect(refused(schema, { [name]: hidden }).message).toMatch(/: Expected .*, got a string\./);
  expect(
    refused(z.object({ [name]: z.object({ value: z.number() }) }), {
      [name]: { value: hidden },
    }).message,
  ).toMatch(/, got a string\.$/);
  expect(
    refused({ properties: { [name]: { items: { type: 'boolean' } } } }, { [name]: [12_345] })
      .message,
  ).toMatch(/Expected true or false, got a number\.$/);
  expect(refused(number, { [name]: 98_765n }).message).toMatch(/got a number\.$/);
});

it("checkInput omits the author's message about a secret", () => {
  expect(
    refused(
      z.object({
        token: z.string().refine(() => false, { error: ({ input }) => `not ${String(input)}` }),
      }),
      { token: 'hunter2' },
    ).message,
  ).toMatch(/accepts, got a string\.$/);
});

it("checkInput doesn't show a string that is passed instead of parameters", () => {
  expect(refused(FIELDS, '{"password":"hunter2"}').message).toMatch(
    /named parameters, got a string\. Parse the JSON text first\.$/,
  );
});

it.each(['monkey', 'path'])('checkInput shows the value of the field %s', (name) => {
  expect(refused({ properties: { [name]: { type: 'number' } } }, { [name]: 'x' }).message).toMatch(
    /Expected a number, got "x"\.$/,
  );
});

it('checkInput lists at most 20 issues and the number of other issues', () => {
  const input = { list: Array.from({ length: 50 }, () => 'x') };
  for (const schema of [
    z.object({ list: z.array(z.number()) }),
    foreign(() => ({
      issues: input.list.map((_, index) => ({
        message: 'expected a number',
        path: ['list', { key: index }],
      })),
    })),
  ]) {
    const error = refused(schema, input);
    expect(issuesOf(error)).toHaveLength(20);
    expect(issuesOf(error)[19]?.path).toEqual(['list', 19]);
    expect(error.message).toMatch(/got "x"\.(?: expected a number\.)?\n {2}and 30 more$/);
  }
  const many = {
    type: 'object',
    required: Array.from({ length: 50 }, (_, index) => `p${index}`),
  };
  expect(issuesOf(refused(many, {}))).toHaveLength(20);
});

it("checkInput returns a promise only if the schema's validation returns a promise", async () => {
  const schema = z.object({ a: z.string() }).refine(async ({ a }) => a === 'good', 'expected good');
  const entry = sampleEntry({ inputSchema: schema });
  const good = checkInput(entry, { a: 'good' });
  expect(good).toBeInstanceOf(Promise);
  expect(await good).toMatchObject({ ok: true, value: { a: 'good' } });
  expect(await checkInput(entry, { a: 'bad' })).toMatchObject({
    ok: false,
    error: { code: 'INVALID_INPUT' },
  });
});

const boom = () => {
  throw new Error('secret of the schema');
};
it.each([
  ['throws', foreign(boom)],
  ['has a refinement that throws', z.object({ a: z.number() }).refine(boom)],
])(
  'checkInput refuses the input without showing the thrown message if the schema %s',
  async (_, inputSchema) => {
    const answer = await checkInput(sampleEntry({ inputSchema }), { a: 1 });
    const error = answer.ok ? undefined : answer.error;
    expect(isToolError(error, 'INVALID_INPUT')).toBe(true);
    expect(error?.message).toBe(
      'Invalid input for sample:\n  The schema threw while checking this input. Change the input.',
    );
  },
);

it('checkInput fails with LIMIT_EXCEEDED if validation takes too many steps', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      `d${index}`,
      index === 29
        ? false
        : { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
    ]),
  );
  expect(refused({ type: 'object', $ref: '#/$defs/d0', $defs }, {}).code).toBe('LIMIT_EXCEEDED');
});
