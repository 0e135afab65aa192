import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CodePointSet } from '../../../src/tool/input/pattern/code-point-set.js';
import { parsePattern, type PatternItem, type PatternSequence } from '../../../src/tool/input/pattern/parse-pattern.js';
import { safePatternCost, stepsOf } from '../../../src/tool/input/pattern/safe-pattern.js';

const LINEAR = ['^[a-z0-9-]+$', '^[a-z]+(-[a-z]+)*$', '^(https?|ftp)://.+$', '^-?\\d+(\\.\\d+)?$', '^\\S+$', '^\\p{L}+$', '^(.|\\n)*$', '^(?:ab|c)*$', '\\.md$', '^(?<year>\\d{4})-\\d{2}$', '^#([0-9a-f]{3}|[0-9a-f]{6})$', '^(\\d{1,3}\\.){3}\\d{1,3}$', '^[\\w.-]+\\/[\\w.-]+$', ''];
const QUADRATIC = ['^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$', '[A-Z]+$', 'a*b', '^.*foo.*$', '^\\s*\\S+.*$'];
const CATASTROPHIC = ['^(a+)+$', '^(a|a)*$', '^(a|ab)*$', '^(a*)*$', '^(a?){30}a{30}$', '^(.*,)*x$', '^([a-z]+)*$', '^(\\w+\\s?)*$', '^a*a*a*a*a*b$', '(x+x+)+y', '^(([a-z])+.)+[A-Z]([a-z])+$', '(?:a{0,100}){0,100}', '^(?:(?:a?)?)*b'];
const OUTSIDE = ['^(?=a)b', '^(?!a)b', '(?<=a)b', '(?<!a)b', '(a)\\1', '(?<n>a)\\k<n>', '[', '(', ')', 'a{', 'a{2,1}', '*', '\\-', '\\q', '[b-a]', '[\\d-z]', '(?i:a)', '\\ud83d\\ude00', '\\', `^${'a'.repeat(128)}$`, '('.repeat(20) + ')'.repeat(20)];

describe('safePatternCost', () => {
  it.each(LINEAR)('finds that %s takes time in proportion to the text', (pattern) => {
    expect(safePatternCost(pattern)?.degree).toBeLessThanOrEqual(1);
  });

  it.each(QUADRATIC)('finds that %s takes quadratic time', (pattern) => {
    expect(safePatternCost(pattern)?.degree).toBe(2);
  });

  it.each(CATASTROPHIC)('does not take %s for safe', (pattern) => {
    expect(safePatternCost(pattern)).toBeUndefined();
  });

  it.each(OUTSIDE)('does not judge %s', (pattern) => {
    expect(safePatternCost(pattern)).toBeUndefined();
  });

  it('calls no pattern safe that the engine refuses', () => {
    const piece = fc.constantFrom('a', '-', '\\', '[', ']', '(', ')', '{', '}', '1', ',', '*', '+', '?', '|', '^', '$', '.', 'd', 'b', 'u', 'x', 'p', 'L', ':', '<', '>', '/', '=', '😀', '\ud800');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const pattern = pieces.join('');
        // eslint-disable-next-line no-restricted-syntax -- a dozen characters of the test's own.
        if (safePatternCost(pattern) !== undefined) expect(() => new RegExp(pattern, 'u')).not.toThrow();
      }),
      { numRuns: 20_000 },
    );
  });

  it('promises no fewer steps than a backtracking matcher takes, for all patterns and texts', () => {
    const atom = fc.constantFrom('a', 'b', '-', '[ab]', '[^a]', '.', '\\b');
    const count = fc.constantFrom('', '', '*', '+', '?', '{2}', '{0,3}', '{2,}', '*?');
    const pattern = fc.letrec<{ choices: string; sequence: string; item: string }>((tie) => ({
      choices: fc.array(tie('sequence'), { minLength: 1, maxLength: 2 }).map((all) => all.join('|')),
      sequence: fc.array(tie('item'), { maxLength: 4 }).map((all) => all.join('')),
      item: fc.oneof({ depthSize: 'small', withCrossShrink: true }, fc.tuple(atom, count).map(([a, c]) => (a === '\\b' ? a : a + c)), fc.tuple(tie('choices'), count).map(([g, c]) => `(${g})${c}`)),
    })).choices;
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 16 }),
      fc.tuple(fc.constantFrom('a', 'ab', 'a-', 'aab'), fc.integer({ min: 1, max: 12 }), fc.constantFrom('', 'b', 'c', '-')).map(([part, times, end]) => part.repeat(times) + end),
    );
    let safe = 0;
    fc.assert(
      fc.property(pattern, fc.boolean(), fc.constantFrom('$', 'c', ''), text, (inner, anchored, end, subject) => {
        const whole = `${anchored ? '^' : ''}(${inner})${end}`;
        const cost = safePatternCost(whole);
        if (cost === undefined) return;
        safe++;
        // Starts of attempts count too: one for each character.
        expect(stepsTaken(parsePattern(whole)!, subject)).toBeLessThanOrEqual(stepsOf(cost, subject.length) * 4 + subject.length + 1);
      }),
      { numRuns: 20_000 },
    );
    expect(safe).toBeGreaterThan(5_000);
  });
});

describe('parsePattern', () => {
  it('reads classes as the engine does', () => {
    const piece = fc.constantFrom('a', 'c-k', 'A-Z', '0', '\\d', '\\D', '\\w', '\\W', '\\s', '\\S', '\\-', '\\]', '\\n', '\\b', '.', '\\x41', '\\u00e9', '\\u{1f600}', '😀', '-');
    const character = fc.oneof(fc.constantFrom(...'aekzAZ09_-].\n\r\b\v \u00a0\u2028\ufeffé😀😁'), fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 4 }), fc.constantFrom('[', '[^', ''), character, (pieces, open, subject) => {
        const pattern = open === '' ? (pieces[0]?.replace(/^(?:\w-\w|\\-|\\b)$/, '.') ?? '.') : `${open}${pieces.join('')}]`;
        const atom = parsePattern(pattern)?.[0]?.[0]?.atom;
        if (atom === undefined) return;
        // eslint-disable-next-line no-restricted-syntax -- a few characters of the test's own.
        const matches = new RegExp(`^(?:${pattern})$`, 'u').test(subject);
        expect('set' in atom && includes(atom.set, subject.codePointAt(0)!)).toBe(matches);
      }),
      { numRuns: 5_000 },
    );
  });
});

/** How many characters and assertions a backtracking matcher looks at until it knows whether the text matches. */
function stepsTaken(choices: readonly PatternSequence[], text: string): number {
  let steps = 0;
  type Next = (at: number) => boolean;
  const choicesAt = (all: readonly PatternSequence[], at: number, next: Next): boolean => all.some((sequence) => sequenceAt(sequence, 0, at, next));
  const sequenceAt = (sequence: PatternSequence, index: number, at: number, next: Next): boolean => {
    const item = sequence[index];
    return item === undefined ? next(at) : repeatAt(item, 0, at, (end) => sequenceAt(sequence, index + 1, end, next));
  };
  const repeatAt = (item: PatternItem, times: number, at: number, next: Next): boolean => {
    const again = () => times < item.max && onceAt(item, at, (end) => (end === at && times >= item.min ? false : repeatAt(item, times + 1, end, next)));
    return again() || (times >= item.min && next(at));
  };
  const onceAt = ({ atom }: PatternItem, at: number, next: Next): boolean => {
    steps++;
    if ('choices' in atom) return choicesAt(atom.choices, at, next);
    if ('set' in atom) return at < text.length && includes(atom.set, text.charCodeAt(at)) && next(at + 1);
    const isWord = (index: number) => /^[a-z]$/.test(text[index] ?? '');
    const holds = atom.assertion === 'start' ? at === 0 : atom.assertion === 'end' ? at === text.length : isWord(at - 1) !== isWord(at);
    return holds && next(at);
  };
  for (let start = 0; start <= text.length; start++) if (choicesAt(choices, start, () => true)) break;
  return steps;
}

function includes(set: CodePointSet, code: number): boolean {
  return set.some(([from, to]) => from <= code && code <= to);
}
