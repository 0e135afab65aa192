import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitWords } from '../../src/search/words.js';

const wholes = (text: string) => splitWords(text).map(({ whole }) => whole);
const parts = (text: string) => splitWords(text).map((word) => word.parts);

describe('splitWords', () => {
  it.each([
    ['', []],
    ['run the tests', ['run', 'the', 'tests']],
    [
      'git_diff git-diff git.diff git/diff',
      ['git', 'diff', 'git', 'diff', 'git', 'diff', 'git', 'diff'],
    ],
    ['c++ and C# (not c)', ['c++', 'and', 'c#', 'not', 'c']],
    ['ci/cd', ['ci', 'cd']],
    ['.NET', ['net']],
    ['utf8 sha256', ['utf8', 'sha256']],
    ['Ｇｉｔ ﬁle', ['git', 'file']],
    ['naïve Ünïcode', ['naïve', 'ünïcode']],
    ['naïve'.normalize('NFD'), ['naïve']],
    ['إظهار الملف', ['إظهار', 'الملف']],
    ['搜索 文件iPhone', ['搜', '索', '文', '件', 'iphone']],
    ['メール', ['メ', 'ー', 'ル']],
    ['ที่นี่', ['ที่', 'นี่']],
    ['\ud800 broken \udfff', ['broken']],
    ['run🔥tests', ['run', 'tests']],
  ])('splits %j into the words %j', (text, expected) => {
    expect(wholes(text)).toEqual(expected);
  });

  it.each(['❤️', '☁️ ⚠️', '🏳️‍🌈', '✔︎'])('finds no words in the emoji %s', (text) => {
    expect(wholes(text)).toEqual([]);
  });

  it.each([
    ['gitDiff', ['git', 'diff']],
    ['GitHub', ['git', 'hub']],
    ['HTTPServer', ['http', 'server']],
    ['utf8Decoder', ['utf8', 'decoder']],
    ['README', ['readme']],
  ])('splits the identifier %s into the parts %j', (identifier, expected) => {
    expect(parts(identifier)).toEqual([expected]);
  });

  it('returns the same words no matter which separators are used', () => {
    const separator = fc.constantFrom(' ', '_', '-', '.', ', ', '\n', ' / ', '…');
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1 }),
        separator,
        separator,
        (words, a, b) => {
          expect(wholes(words.join(a))).toEqual(wholes(words.join(b)));
        },
      ),
    );
  });
});
