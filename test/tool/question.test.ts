import fc from 'fast-check';
import { expect, it } from 'vitest';
import { askUser, type AskUserOptions } from '../../src/index.js';
import { choiceWords, readAnswer, type Question } from '../../src/tool/question.js';

const question = (options?: AskUserOptions | readonly string[]) =>
  askUser('Which?', options) as unknown as Question;
const several = {
  form: { type: 'array', minItems: 1, uniqueItems: true, items: { enum: ['red', 'blue'] } },
};
const valueOf = (asked: Question, answer: unknown) => {
  const read = readAnswer(asked, answer);
  return read.ok ? read.value : 'refused';
};

it.each([
  [
    'free text',
    undefined,
    [
      ['x', 'x'],
      [5, 'refused'],
    ],
  ],
  [
    'one of a list of strings',
    ['a', 'b'],
    [
      ['a', 'a'],
      ['c', 'refused'],
    ],
  ],
  [
    'several choices',
    several,
    [
      [
        ['blue', 'red'],
        ['blue', 'red'],
      ],
      ['["red"]', ['red']],
      [['red', 'pink'], 'refused'],
      [[], 'refused'],
    ],
  ],
] as const)('an answer to a question for %s is matched or refused', (_, options, cases) => {
  for (const [answer, expected] of cases)
    expect([answer, valueOf(question(options), answer)]).toEqual([answer, expected]);
});

it('an accepted answer is always one of the choices', () => {
  const values = fc.uniqueArray(
    fc.string({ minLength: 1 }).filter((each) => each.trim() !== ''),
    { minLength: 1, maxLength: 5 },
  );
  fc.assert(
    fc.property(values, fc.oneof(fc.anything(), fc.string()), (offered, answer) => {
      const read = readAnswer(question({ choices: offered }), answer);
      return !read.ok || offered.includes(read.value as string);
    }),
  );
});

it('an answer to a form can be an object or JSON text, and missing fields get their defaults', () => {
  const form = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      age: { type: 'integer', default: 30 },
      tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    },
    required: ['name'],
  } as const;
  const asked = question({ form });
  for (const answer of [{ name: 'Ada' }, '{"name":"Ada"}'])
    expect(valueOf(asked, answer)).toEqual({ name: 'Ada', age: 30 });
  expect(valueOf(asked, { name: 'Ada', age: 5, tags: ['a'] })).toEqual({
    name: 'Ada',
    age: 5,
    tags: ['a'],
  });
  for (const answer of [{}, { name: 5 }, { name: 'Ada', tags: ['c'] }, ['Ada']])
    expect(valueOf(asked, answer)).toBe('refused');
  expect(readAnswer(asked, 'Ada')).toEqual({
    ok: false,
    message: 'Expected JSON with the fields name, age, tags as the answer, got "Ada".',
  });
  expect(choiceWords(asked)).toBe(' (JSON with the fields name, age, tags)');
});

it('an answer to a form must match its JSON Schema, as a value or as JSON text', () => {
  const number = question({ form: { type: 'integer', minimum: 1 } });
  expect([5, '5', 0, 'five'].map((each) => valueOf(number, each))).toEqual([
    5,
    5,
    'refused',
    'refused',
  ]);
  const nested = question({
    form: {
      type: 'object',
      properties: { guest: { type: 'object', properties: { name: { type: 'string' } } } },
    },
  });
  expect(valueOf(nested, '{"guest":{"name":"Ada"}}')).toEqual({ guest: { name: 'Ada' } });
  expect(valueOf(question({ form: { type: 'string' } }), '5')).toBe('5');
  expect(choiceWords(number)).toBe(' (JSON that matches {"type":"integer","minimum":1})');
});

it("question throws if the form's schema is invalid, or if there are choices as well", () => {
  for (const form of [5, { type: 'object', properties: { a: { pattern: '(' } } }])
    expect(() => question({ form: form as never })).toThrow(/form/);
  expect(() => question({ form: { type: 'object', properties: {} }, choices: ['a'] })).toThrow(
    /either choices or a form/,
  );
});

it('a question keeps unknown options as hints', () => {
  expect(question({ choices: ['a'], mask: '####', style: { danger: true } })).toMatchObject({
    options: ['a'],
    hints: { mask: '####', style: { danger: true } },
  });
  expect(question({ timeoutMs: 5 })).not.toHaveProperty('hints');
});

it.each(['multiple', 'options', 'schema'])(
  'question throws for %s, which would be ignored as a hint, and names the right option',
  (misnomer) =>
    expect(() => question({ choices: ['a'], [misnomer]: true })).toThrow(/Did you mean/),
);

it("a question's text lists the choices", () => {
  expect(choiceWords(question(['a', 'b']))).toBe(' (one of "a", "b")');
  expect(choiceWords(question({ timeoutMs: 5 }))).toBe('');
});
