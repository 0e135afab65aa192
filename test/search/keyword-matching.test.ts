import { describe, expect, it } from 'vitest';
import { Priority, type ToolMetadataRegistry } from '../../src/index.js';
import { refusal, registryOf } from '../tool/sample-tools.js';

const found = (registry: ToolMetadataRegistry, text: string) =>
  registry.getToolsMatchingTextScored(text).map(({ toolName }) => toolName);
/** Returns true if a keyword is found in a text. */
const finds = (keyword: string, text: string, others: readonly string[] = []) =>
  found(
    registryOf(
      { name: 'one', keywords: [keyword] },
      ...others.map((other, index) => ({ name: `other${index}`, keywords: [other] })),
    ),
    text,
  ).includes('one');

describe('keyword matching', () => {
  it.each([
    ['ls', 'run ls -la'],
    ['c++', 'port this to C++, please'],
    ['c#', 'a C# class'],
    ['r', 'plot it in R'],
    ['git diff', 'show the git diff'],
    ['git diff', 'call git_diff now'],
    ['git diff', 'call gitDiff now'],
    ['git diff', 'GIT-DIFF'],
    ['git', 'gitDiff'],
    ['gitDiff', 'gitDiff'],
    ['run tests', 'running the test... no: running tests'],
    ['dependencies', 'one dependency'],
    ['ci/cd', 'our CI/CD is down'],
    ['read_file', 'use read file'],
    ['github', 'open GitHub'],
    ['naïve', 'naïve'.normalize('NFD')],
    ['constructor', 'the constructor is broken'],
    ['__proto__', 'about __proto__ in JavaScript'],
  ])('finds the keyword %j in %j', (keyword, text) => {
    expect(finds(keyword, text)).toBe(true);
  });

  it.each([
    ['test', 'the latest contest'],
    ['cat', 'authenticate'],
    ['c++', 'plain c'],
    ['git diff', 'diff of git'],
    ['git diff', 'git and diff'],
    ['ls', 'false'],
    ['🔥', '🔥'],
  ])("doesn't find the keyword %j in %j", (keyword, text) => {
    expect(finds(keyword, text)).toBe(false);
  });

  it('lists the keywords in the order in which they appear in the text', () => {
    const [result] = registryOf({
      keywords: ['diff', 'show', 'show diff', 'git', '🔥'],
    }).getToolsMatchingTextScored('git: show 🔥 diff, show diff, git');
    expect(result!.matchedKeywords).toEqual(['git', 'show', 'show diff', 'diff']);
  });

  it("if a whole identifier is a keyword, its parts don't match", () => {
    expect(finds('git', 'open GitHub')).toBe(true);
    expect(finds('git', 'open GitHub', ['github'])).toBe(false);
    expect(finds('github', 'open GitHub', ['git', 'hub'])).toBe(true);
    expect(finds('git', 'open GitHub with git', ['github'])).toBe(true);
  });
});

describe('keyword scores', () => {
  it.each(Object.entries(Priority))(
    'with priority %s, the score for one of two keywords is the sum of base, specificity, and priority boost',
    (name, priority) => {
      const boost = { CRITICAL: 0.3, HIGH: 0.2, MEDIUM: 0.1, LOW: 0.05 }[name]!;
      expect(
        registryOf({ name: 'one', priority, keywords: ['git', 'diff'] }).getToolsMatchingTextScored(
          'git',
        ),
      ).toEqual([
        {
          toolName: 'one',
          score: 0.5 + 0.2 + boost,
          base: 0.5,
          specificity: 0.2,
          priorityBoost: boost,
          matchedKeywords: ['git'],
        },
      ]);
    },
  );
});

describe('scored results', () => {
  it('are ordered by score, then priority, then name', () => {
    const registry = registryOf(
      { name: 'z', keywords: ['git'], priority: 2 },
      { name: 'a', keywords: ['git'], priority: 2 },
      { name: 'B', keywords: ['git'], priority: 2 },
      { name: 'most', keywords: ['git'], priority: 0 },
      { name: 'half', keywords: ['git', 'hub'], priority: 0 },
    );
    expect(found(registry, 'git')).toEqual(['most', 'B', 'a', 'z', 'half']);
  });

  it('are limited by minScore and maxResults', () => {
    const registry = registryOf(
      { name: 'a', keywords: ['x'] },
      { name: 'b', keywords: ['x', 'y'] },
      { name: 'c', keywords: ['x', 'y', 'z', 'w'] },
    );
    const scores = registry.getToolsMatchingTextScored('x').map(({ score }) => score);
    const limited = (options: object) =>
      registry.getToolsMatchingTextScored('x', options).map(({ toolName }) => toolName);
    expect(limited({ minScore: scores[1] })).toEqual(['a', 'b']);
    expect(limited({ minScore: scores[1]! + 1e-9 })).toEqual(['a']);
    expect(limited({ minScore: 99 })).toEqual([]);
    expect(limited({ minScore: -1 })).toEqual(['a', 'b', 'c']);
    expect(limited({ maxResults: 2 })).toEqual(['a', 'b']);
    expect(limited({ maxResults: 0 })).toEqual([]);
    expect(limited({ maxResults: -2 })).toEqual([]);
    expect(limited({ maxResults: Infinity })).toEqual(['a', 'b', 'c']);
  });

  it('are empty for a text without keywords', () => {
    const registry = registryOf({ name: 'read', priority: 0, keywords: ['read'] });
    for (const text of ['', '   ', 'xyz abc 123'])
      expect(registry.getToolsMatchingTextScored(text)).toEqual([]);
  });
});

describe('mandatory keywords', () => {
  it('select their tools regardless of the score', () => {
    const registry = registryOf(
      { name: 'z', mandatoryKeywords: ['show diff'] },
      { name: 'a', mandatoryKeywords: ['diff', 'ls'] },
      { name: 'm', keywords: ['diff'] },
    );
    expect([...registry.getToolsMatchingMandatoryKeywords('show diff')]).toEqual(['a', 'z']);
    expect([...registry.getToolsMatchingMandatoryKeywords('showing diffs')]).toEqual(['a', 'z']);
    expect([...registry.getToolsMatchingMandatoryKeywords('ls')]).toEqual(['a']);
    expect([...registry.getToolsMatchingMandatoryKeywords('difficult')]).toEqual([]);
    expect(found(registry, 'show diff')).toEqual(['m']);
  });
});

describe('detectCategoriesFromText', () => {
  it('returns the categories of tools that have a keyword in the text, sorted', () => {
    const registry = registryOf(
      { name: 'a', category: 'VCS', keywords: ['git'] },
      { name: 'b', category: 'vcs', keywords: ['commit'] },
      { name: 'c', category: 'files', keywords: ['read'] },
      { name: 'd', keywords: ['git'] },
    );
    expect([...registry.detectCategoriesFromText('git commit and read')]).toEqual(['files', 'vcs']);
    expect([...registry.detectCategoriesFromText('legit')]).toEqual([]);
  });
});

describe("queries that aren't strings", () => {
  it.each([undefined, null, 5, {}, ['git'], Symbol('git')])(
    'a query given as %s is rejected',
    (text) => {
      const registry = registryOf({ keywords: ['git'] });
      for (const query of [
        'getToolsMatchingTextScored',
        'getToolsMatchingMandatoryKeywords',
        'detectCategoriesFromText',
        'search',
      ] as const) {
        expect(refusal(() => registry[query](text as never)).code).toBe('INVALID_ARGUMENT');
      }
      expect(registry.metrics.queries).toBe(0);
    },
  );
});
