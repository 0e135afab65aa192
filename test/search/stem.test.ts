import { describe, expect, it } from 'vitest';
import { stem } from '../../src/search/words.js';

/** Forms of the same word. */
const ALIKE: readonly (readonly string[])[] = [
  ['test', 'tests', 'tested', 'testing'],
  ['commit', 'commits', 'committed', 'committing'],
  ['run', 'runs', 'running'],
  ['query', 'queries', 'queried', 'querying'],
  ['analyze', 'analyzes', 'analyzed', 'analyzing'],
  ['use', 'uses', 'used', 'using'],
  ['cache', 'caches', 'cached', 'caching'],
  ['debug', 'debugs', 'debugged', 'debugging'],
  ['process', 'processes', 'processed', 'processing'],
  ['push', 'pushes', 'pushed', 'pushing'],
  ['fix', 'fixes', 'fixed', 'fixing'],
  ['dependency', 'dependencies'],
  ['branch', 'branches', 'branching'],
  ['patch', 'patches', 'patched'],
  ['delete', 'deletes', 'deleted', 'deleting'],
  ['database', 'databases'],
  ['status', 'statuses'],
  ['size', 'sizes', 'sized', 'sizing'],
  ['agree', 'agrees', 'agreed', 'agreeing'],
  ['install', 'installs', 'installed', 'installing'],
  ['class', 'classes'],
  ['copy', 'copies', 'copied', 'copying'],
];

/** Words that aren't forms of each other. */
const DIFFERENT: readonly (readonly [string, string])[] = [
  ['test', 'latest'],
  ['universe', 'university'],
  ['bring', 'br'],
  ['status', 'statu'],
  ['analysis', 'analysi'],
  ['class', 'clas'],
  ['general', 'generate'],
  ['rate', 'rat'],
  ['read', 'ready'],
];

describe('stem', () => {
  it.each(ALIKE.map((words) => [words.join(', '), words] as const))(
    'returns the same stem for %s',
    (_, words) => {
      expect(new Set(words.map(stem)).size).toBe(1);
    },
  );

  it.each(DIFFERENT)('returns different stems for %s and %s', (a, b) => {
    expect(stem(a)).not.toBe(stem(b));
  });

  it.each(['ls', 'db', 'ci', 'is', 'as', 'c++', 'c#', 'sha256', 'naïves', 'файлы', '文件', ''])(
    'returns the word %j unchanged',
    (word) => {
      expect(stem(word)).toBe(word);
    },
  );

  it('accepts words of any length', () => {
    expect(stem('a'.repeat(100_000))).toHaveLength(100_000);
    expect(stem(`${'y'.repeat(3_000)}s`).length).toBeGreaterThan(0);
  });
});
