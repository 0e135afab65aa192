import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ToolMetadataRegistry } from '../../src/index.js';
import { planExecution, type PlannableCall } from '../../src/execution/plan-execution.js';
import { registryOf } from '../tool/sample-tools.js';
import { createDefaultTools } from '../../tools/index.js';

const conflictKeys = (input: unknown): readonly string[] => (input as { keys: string[] }).keys;
const registry = registryOf(
  { name: 'read', aliases: ['view'], accessMode: 'readonly', conflictKeys },
  { name: 'fetch', accessMode: 'readonly', executionCategory: 'network' },
  { name: 'add', accessMode: 'readonly', executionCategory: 'compute' },
  { name: 'write', accessMode: 'write', allowParallel: true, conflictKeys },
  {
    name: 'push',
    aliases: ['publish', 'ship'],
    accessMode: 'write',
    allowParallel: false,
    conflictKeys,
  },
  { name: 'look', aliases: ['peek'], accessMode: 'readonly', allowParallel: false },
  { name: 'run', accessMode: 'execute', allowParallel: true },
  { name: 'anything' },
);
const call = (name: string, ...keys: string[]): PlannableCall => ({ name, input: { keys } });
const batchesOf = (...calls: PlannableCall[]) => planExecution(registry, calls).batches;
const reasonsOf = (...calls: PlannableCall[]) =>
  planExecution(registry, calls).calls.map(({ after }) => after?.reason);

it('calls that read, compute, or use the network run in parallel', () => {
  expect(batchesOf(call('read', 'a'), call('fetch'), call('add'), call('read', 'a'))).toEqual([
    [0, 1, 2, 3],
  ]);
});

it('a read and a write of the same key run in the order of the calls', () => {
  expect(
    batchesOf(call('write', 'a'), call('read', 'a'), call('write', 'a'), call('read', 'b')),
  ).toEqual([[0, 3], [1], [2]]);
  expect(
    batchesOf(call('write', 'a'), call('read', 'a'), call('read', 'b'), call('run')),
    'the latest batch counts, not the last call',
  ).toEqual([[0, 2], [1], [3]]);
});

it('a key that ends in a slash covers everything below it, and a key with only a kind covers everything of that kind', () => {
  expect(
    batchesOf(
      call('write', 'dir/'),
      call('read', 'dir/a'),
      call('read', 'dir'),
      call('read', 'dira'),
      call('read', 'd'),
    ),
  ).toEqual([
    [0, 3, 4],
    [1, 2],
  ]);
  expect(
    batchesOf(
      call('write', 'dir/a/b'),
      call('read', 'dir/'),
      call('read', 'dir/a'),
      call('read', 'dir/a/b/'),
    ),
  ).toEqual([
    [0, 2],
    [1, 3],
  ]);
  expect(
    batchesOf(
      call('write', 'git:'),
      call('read', 'git:HEAD'),
      call('read', 'file:git:'),
      call('read', 'git'),
    ),
  ).toEqual([[0, 2, 3], [1]]);
});

it("a call's reads and writes are distinguished", () => {
  const said = (name: string, reads: string[], writes: string[]) => ({
    name,
    input: { keys: { reads, writes } },
  });
  expect(
    batchesOf(
      said('write', ['a'], ['b']),
      said('write', ['a'], ['c']),
      call('read', 'a'),
      call('read', 'b'),
      said('write', [], ['a']),
    ),
  ).toEqual([
    [0, 1, 2],
    [3, 4],
  ]);
  expect(
    batchesOf(said('write', [], []), call('run'), said('write', ['a'], []), call('fetch')),
  ).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

it('a call without keys waits for every write, and every write waits for that call', () => {
  expect(
    batchesOf(
      call('write', 'a'),
      call('fetch'),
      call('write', 'b'),
      call('run'),
      call('read', 'c'),
    ),
  ).toEqual([[0], [1], [2], [3], [4]]);
});

it('unknown tools and tools that declare nothing run alone, even if they return keys', () => {
  expect(
    batchesOf(
      call('read', 'a'),
      call('anything', 'b'),
      call('anything', 'c'),
      call('nobody'),
      call('read', 'a'),
    ),
  ).toEqual([[0], [1], [2], [3], [4]]);
});

it('calls to a tool without allowParallel never run in parallel, even under different aliases', () => {
  expect(batchesOf(call('push', 'a'), call('ship', 'b'), call('publish', 'c'))).toEqual([
    [0],
    [1],
    [2],
  ]);
  expect(batchesOf(call('look'), call('peek'), call('read', 'a'))).toEqual([[0, 2], [1]]);
});

it('the reason why a call waits includes the key that both calls touch', () => {
  expect(reasonsOf(call('write', 'file:a.txt'), call('read', 'file:a.txt'))).toEqual([
    undefined,
    'after call 0, write: both touch file:a.txt',
  ]);
  expect(reasonsOf(call('read', 'a'), call('read', 'a'), call('write', 'a'))[2]).toBe(
    'after call 0, read: both touch a',
  );
});

it("the reason why a call waits includes the call that doesn't declare its keys", () => {
  expect(reasonsOf(call('write', 'a'), call('fetch'))[1]).toBe(
    "after call 0, write: write writes, and fetch doesn't declare what it touches",
  );
  expect(reasonsOf(call('run'), call('read', 'a'))[1]).toBe(
    "after call 0, run: run writes, and run doesn't declare what it touches",
  );
  expect(reasonsOf(call('fetch'), call('run'))[1]).toBe(
    "after call 0, fetch: run writes, and fetch doesn't declare what it touches",
  );
  expect(reasonsOf(call('run'), call('write', 'a'))[1]).toBe(
    "after call 0, run: run writes, and run doesn't declare what it touches",
  );
});

it("the reason why a call waits explains that the tool's calls run one at a time", () => {
  expect(reasonsOf(call('push', 'a'), call('ship', 'a'))[1]).toBe(
    'after call 0, push: calls to push run one at a time',
  );
  expect(reasonsOf(call('look'), call('peek'))[1]).toBe(
    'after call 0, look: calls to look run one at a time',
  );
});

it('the reason why a call waits includes the tool that runs alone', () => {
  expect(reasonsOf(call('read', 'a'), call('anything'), call('nobody'))).toEqual([
    undefined,
    'after call 0, read: anything runs alone, because it may read, write or run anything',
    'after call 1, anything: anything runs alone, because it may read, write or run anything',
  ]);
});

const answering = (answer: () => unknown) =>
  registryOf(
    { name: 'write', accessMode: 'write', allowParallel: true, conflictKeys: answer },
    { name: 'other', accessMode: 'write', conflictKeys: () => ['other'] },
  );
const wait = (answer: () => unknown) =>
  planExecution(answering(answer), [{ name: 'other' }, { name: 'write' }]).batches.length === 2;

it.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('no');
    },
  ],
  ['returns undefined', () => undefined],
  ['returns a string', () => 'a'],
  ['returns an empty list', () => []],
])('a call waits for every write if its conflictKeys function %s', (_, answer) =>
  expect(wait(answer)).toBe(true),
);

describe('execution plans for bundled tools', () => {
  const bundled = new ToolMetadataRegistry();
  bundled.registerAll(createDefaultTools());
  const planned = (...calls: readonly (readonly [name: string, input?: object])[]) =>
    planExecution(
      bundled,
      calls.map(([name, input]) => ({ name, input })),
    ).batches;
  const write = (path: string) => ['write_file', { path, content: '' }] as const;
  const read = (path: string) => ['read_file', { path }] as const;

  it('writes to different files run in parallel, and a read of a written file waits', () => {
    expect(planned(write('a.txt'), write('b.txt'), read('a.txt'), read('c.txt'))).toEqual([
      [0, 1, 3],
      [2],
    ]);
  });

  it.each(['./a.txt', 'src/../a.txt', join(process.cwd(), 'a.txt'), 'a.txt/', 'a.txt.'])(
    'the path %s is treated as the path a.txt',
    (path) => {
      expect(planned(write('a.txt'), read(path))).toEqual([[0], [1]]);
      expect(planned(['edit_file', { path }], write('a.txt'))).toEqual([[0], [1]]);
    },
  );

  it('programs run alone, and a commit runs before writes to the committed files', () => {
    const commit = ['git_commit', { message: 'x', paths: [] }] as const;
    expect(
      planned(
        read('a.txt'),
        ['run_shell', { command: 'make' }],
        read('a.txt'),
        commit,
        write('b.txt'),
        ['git_log', { paths: ['b.txt'] }],
      ),
    ).toEqual([[0], [1], [2, 3], [4, 5]]);
    expect(
      planned(
        ['git_commit', { message: 'x', paths: ['src'] }],
        write('lib/b.txt'),
        write('src/a.txt'),
      ),
    ).toEqual([[0, 1], [2]]);
  });

  it('moving or deleting a path waits for calls that use files below it', () => {
    expect(
      planned(['move_file', { from: 'src', to: 'lib' }], write('lib/a.txt'), read('src/b.txt')),
    ).toEqual([[0], [1, 2]]);
    expect(
      planned(['delete_file', { path: 'config' }], write('config/a.txt'), write('configs/a.txt')),
    ).toEqual([[0, 2], [1]]);
  });
});
