import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeywordIndex, keywordForm } from '../../src/search/keyword-index.js';
import { splitWords, stem } from '../../src/search/words.js';
import { propertyRuns } from '../property-runs.js';

/** What the index must answer, by comparing every keyword with every place of the text. */
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
  it('finds what comparing every keyword with every place of the text finds', () => {
    fc.assert(
      fc.property(keywords, text, (declared, request) => {
        const index = new KeywordIndex();
        for (const each of declared) index.add(each);
        expect(new Set(index.find(request))).toEqual(findNaively(declared, request));
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });

  it('forgets a removed keyword completely, whatever else was added, removed and asked between', () => {
    const step = fc.record({ keyword, remove: fc.boolean(), ask: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), text, (steps, request) => {
        const index = new KeywordIndex();
        const known = new Set<string>();
        for (const { keyword: each, remove, ask } of steps) {
          if (remove && known.delete(each)) index.remove(each);
          else if (!remove && !known.has(each)) {
            known.add(each);
            index.add(each);
          }
          if (ask) expect(new Set(index.find(request))).toEqual(findNaively([...known], request));
        }
        expect(new Set(index.find(request))).toEqual(findNaively([...known], request));
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('survives the removal of what was never added', () => {
    const index = new KeywordIndex();
    index.add('git diff');
    for (const each of ['git', 'diff', 'git diffs', 'other', '🔥', '']) index.remove(each);
    expect([...index.find('git diff')]).toEqual(['git diff']);
  });

  it('names keywords in the order in which they appear', () => {
    const index = new KeywordIndex();
    for (const each of ['diff', 'show', 'show diff', 'git']) index.add(each);
    expect([...index.find('git: show diff, git')]).toEqual(['git', 'show', 'show diff', 'diff']);
  });

  it('gives a keyword by the stems of its words', () => {
    expect(keywordForm('Running Tests')).toEqual(['run', 'test']);
    expect(keywordForm('ci/cd')).toEqual(['ci', 'cd']);
    expect(keywordForm('c++')).toEqual(['c++']);
    expect(keywordForm('🔥!?')).toEqual([]);
  });

  it.each(['🔥', '!!!', '❤️', '+', '#'])(
    'never finds %s, which has neither letter nor digit',
    (each) => {
      const index = new KeywordIndex();
      index.add(each);
      expect([...index.find(`${each} ☁️ and ${each}`)]).toEqual([]);
    },
  );
});
