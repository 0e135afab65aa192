import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeywordIndex, keywordForm } from '../../src/search/keyword-index.js';
import { splitWords, stem } from '../../src/search/words.js';
import { propertyRuns } from '../property-runs.js';

/** Finds the same keywords by comparing each keyword with every position in the text. */
function findNaively(keywords: readonly string[], text: string): ReadonlySet<string> {
  const forms = new Set(keywords.map((keyword) => keywordForm(keyword).join(' ')));
  const words = splitWords(text);
  const asWritten = words.map(({ whole }) => stem(whole));
  const inParts = words.flatMap(({ whole, parts }) =>
    forms.has(stem(whole)) ? [stem(whole)] : parts.map(stem),
  );
  const occurs = (form: readonly string[], stems: readonly string[]) =>
    stems.some((_, start) => form.every((each, offset) => stems[start + offset] === each));
  return new Set(
    keywords.filter((keyword) => {
      const form = keywordForm(keyword);
      return form.length > 0 && (occurs(form, asWritten) || occurs(form, inParts));
    }),
  );
}

const word = fc.constantFrom(
  'git',
  'diff',
  'gitdiff',
  'test',
  'tests',
  'testing',
  'latest',
  'show',
  'run',
  'c',
  'c++',
  'ls',
  'hub',
  'github',
  '🔥',
  'é',
  '__proto__',
);
const keyword = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' '));
const keywords = fc.uniqueArray(keyword, { maxLength: 20 });
const written = fc.constantFrom(
  'git',
  'Git',
  'gitDiff',
  'git_diff',
  'GitHub',
  'github',
  'test',
  'Tests',
  'TESTED',
  'latest',
  'show',
  'Run',
  'running',
  'C++',
  'c',
  'ls',
  'é',
  '🔥',
  'runTests',
  'showGitDiff',
  '__proto__',
);
const text = fc
  .array(fc.tuple(written, fc.constantFrom(' ', ', ', '-', '. ', '\n')))
  .map((words) => words.flat().join(''));

describe('KeywordIndex', () => {
  it('finds the same keywords as a naive comparison with every position in the text', () => {
    fc.assert(
      fc.property(keywords, text, (declared, request) => {
        const index = new KeywordIndex();
        for (const each of declared) index.add(each);
        expect(new Set(index.find(request))).toEqual(findNaively(declared, request));
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });

  it('returns keywords in the order in which they appear in the text', () => {
    const index = new KeywordIndex();
    for (const each of ['diff', 'show', 'show diff', 'git']) index.add(each);
    expect([...index.find('git: show diff, git')]).toEqual(['git', 'show', 'show diff', 'diff']);
  });

  it.each(['🔥', '!!!', '❤️', '+', '#'])('never finds %s, which has no letter or digit', (each) => {
    const index = new KeywordIndex();
    index.add(each);
    expect([...index.find(`${each} ☁️ and ${each}`)]).toEqual([]);
  });
});
