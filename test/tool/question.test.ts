import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { askUser, type AskUserOptions } from '../../src/index.js';
import { choiceWords, readAnswer, type Question } from '../../src/tool/question.js';

const question = (options?: AskUserOptions | readonly string[]) => askUser('Which?', options) as unknown as Question;
const choices = ['red', { value: 'b', label: 'Blue' }];
const valueOf = (asked: Question, answer: unknown) => {
  const read = readAnswer(asked, answer);
  return read.ok ? read.value : 'refused';
};

describe('an answer', () => {
  it.each([
    ['free text', undefined, [['x', 'x'], ['', ''], [5, 'refused'], [['x'], 'refused']]],
    ['one of a list of texts', ['a', 'b'], [['a', 'a'], ['c', 'refused'], ['', 'refused'], [' a', 'refused'], [['a'], 'refused']]],
    ['one choice by value or label', { choices }, [['red', 'red'], ['b', 'b'], ['Blue', 'b'], ['blue', 'refused'], [undefined, 'refused']]],
    ['one choice or another', { choices, allowOther: true }, [['Blue', 'b'], ['pink', 'pink'], [' ', 'refused'], [5, 'refused']]],
    ['several choices', { choices, multiple: true }, [[['b', 'red'], ['b', 'red']], ['red, Blue', ['red', 'b']], ['red', ['red']], [['red', 'red'], ['red']], [[], 'refused'], [['red', 'pink'], 'refused'], ['', 'refused'], [[5], 'refused']]],
    ['several choices or others', { choices, multiple: true, allowOther: true }, [['red, pink', ['red', 'pink']], [['x, y'], ['x, y']], [[''], 'refused']]],
    ['a choice with a comma', { choices: ['a, b', 'a'], multiple: true }, [['a, b', ['a, b']], [['a, b', 'a'], ['a, b', 'a']]]],
  ] as const)('to a question for %s is read by what it offers', (_, options, cases) => {
    for (const [answer, expected] of cases) expect([answer, valueOf(question(options), answer)]).toEqual([answer, expected]);
  });

  it('is only ever made of offered values where no others are allowed', () => {
    const values = fc.uniqueArray(fc.string({ minLength: 1 }).filter((each) => each.trim() !== ''), { minLength: 1, maxLength: 5 });
    fc.assert(fc.property(values, fc.boolean(), fc.oneof(fc.anything(), fc.string(), fc.array(fc.string())), (offered, multiple, answer) => {
      const read = readAnswer(question({ choices: offered, multiple }), answer);
      return !read.ok || [read.value].flat().every((each) => offered.includes(each));
    }));
  });

  it('that is refused is told what is taken', () => {
    expect(readAnswer(question({ choices, multiple: true, allowOther: true }), 5)).toEqual({ ok: false, message: 'Expected one or more of "red", "b" (Blue), or another text, as the answer, got 5.' });
  });
});

describe('the choices of a question', () => {
  it('stand behind it with their labels, and how many may be taken', () => {
    expect(choiceWords(question(['a', 'b']))).toBe(' (one of: a, b)');
    expect(choiceWords(question({ choices, multiple: true, allowOther: true }))).toBe(' (one or more of: red, b (Blue); or another answer)');
    expect(choiceWords(question({ timeoutMs: 5 }))).toBe('');
  });
});
