import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/core/limits.js';
import { registryOf } from '../tool/sample-tools.js';
import { propertyRuns } from '../property-runs.js';

const registry = registryOf(
  {
    name: 'git',
    description: 'Shows changes',
    keywords: ['git', 'git diff'],
    mandatoryKeywords: ['show'],
    category: 'vcs',
  },
  { name: 'emoji', keywords: ['❤️', '🔥', 'fire'], mandatoryKeywords: ['☁️'] },
);

const ask = (text: string) => [
  registry.getToolsMatchingTextScored(text).map(({ toolName }) => toolName),
  [...registry.getToolsMatchingMandatoryKeywords(text)],
  [...registry.detectCategoriesFromText(text)],
  registry.search(text).map(({ toolName }) => toolName),
];
const NOTHING = [[], [], [], []];

const HOSTILE: readonly (readonly [what: string, text: string])[] = [
  ['only emoji', '🔥🚀🙂'.repeat(1_000)],
  ['lone surrogates', '\ud800\udfff '.repeat(2_000)],
  ['right-to-left overrides', '\u202e\u2066\u2069'.repeat(2_000)],
  ['characters that grow when normalized', '\ufdfa'.repeat(8_192)],
  ['one letter', 'a'.repeat(1 << 20)],
  ['plus signs', 'x++++'.repeat(200_000)],
  ['regular expressions', '(a+)+$|[^'.repeat(10_000)],
];

describe('malicious query texts', () => {
  it.each(HOSTILE)('a text of %s matches nothing, and the next search still works', (_, text) => {
    expect(ask(text)).toEqual(NOTHING);
    expect(ask('show git')).toEqual([['git'], ['git'], ['vcs'], ['git']]);
  });

  it('any text can be searched for', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 500 }),
        (text) => void expect(ask(text)).toHaveLength(4),
      ),
      { numRuns: propertyRuns(300) },
    );
  });

  it('words between right-to-left marks are found', () => {
    expect(ask('\u202bgit\u202c عرض')[0]).toEqual(['git']);
  });
});

describe('long query texts', () => {
  const filler = (length: number) => 'x '.repeat(length / 2);

  it('are cut off after 8,192 characters', () => {
    expect(LIMITS.queryLength).toBe(8_192);
    expect(ask(`${filler(8_192 - 8)}show git`)).toEqual([['git'], ['git'], ['vcs'], ['git']]);
    expect(ask(`${filler(8_192)}show git`)).toEqual(NOTHING);
  });
});
