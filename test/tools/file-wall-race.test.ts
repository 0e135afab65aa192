import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { beforeEach, expect, it } from 'vitest';
import { isToolError } from '../../src/index.js';
import { FileWall } from '../../tools/walls/file-wall.js';
import { folderWith } from '../folder-with.js';

const SECRET = 'the secret outside';
let base: string;
let root: string;
let outside: string;
let wall: FileWall;

beforeEach(() => {
  base = folderWith();
  root = join(base, 'root');
  outside = join(base, 'root-evil');
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret.txt'), SECRET);
  writeFileSync(join(outside, 'only-outside.txt'), SECRET);
  wall = new FileWall(root);
});

/** Repeatedly swaps a name between a file inside the root and a file outside, in its own thread. */
const SWAPPER = `
  const { workerData } = require('node:worker_threads');
  const { renameSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
  const { place, inner, outer, times, kind } = workerData;
  const remove = (path) => rmSync(path, { recursive: true, force: true });
  const link = (to) => { symlinkSync(to, place + '.swap'); renameSync(place + '.swap', place); };
  const swaps = {
    link: [() => link(outer), () => link(inner)],
    file: [() => link(outer), () => { writeFileSync(place + '.swap', 'inside'); renameSync(place + '.swap', place); }],
    folder: [() => { remove(inner); renameSync(place, inner); symlinkSync(outer, place); }, () => { remove(place); renameSync(inner, place); }],
  };
  for (let i = 0; i < times; i++) {
    // The wall may make the folder anew in between; the next swap goes on from there.
    try { swaps[kind][i % 2](); } catch (error) { if (kind !== 'folder') throw error; }
  }
`;
const SWAPS = 4_000;
/**
 * A time limit in milliseconds. The number of swaps normally ends a test, but a busy machine may be
 * slow.
 */
const PATIENCE_MS = 60_000;

/**
 * Calls the operations in turn while a thread swaps the name. Returns how often each operation
 * succeeded.
 */
async function whileSwapping(
  data: object,
  works: readonly (() => Promise<unknown>)[],
): Promise<readonly number[]> {
  const worker = new Worker(SWAPPER, { eval: true, workerData: { times: SWAPS, ...data } });
  let running = true;
  let failure: unknown;
  worker.once('error', (error) => (failure = error));
  worker.once('exit', () => (running = false));
  const successes = works.map(() => 0);
  while (running) {
    for (const [index, work] of works.entries()) {
      await work().then(
        () => successes[index]!++,
        (error: unknown) => {
          if (!isToolError(error)) throw error;
        },
      );
    }
  }
  expect(failure).toBeUndefined();
  return successes;
}

it.each(['link', 'file', 'folder'])(
  'FileWall while another process swaps links never reads outside the root (%s)',
  async (kind) => {
    mkdirSync(join(root, 'real'));
    for (const folder of ['real', '../root-evil'])
      writeFileSync(join(root, folder, 'data.txt'), folder === 'real' ? 'inside' : SECRET);
    const place = join(root, 'swapped');
    if (kind === 'folder') {
      mkdirSync(place);
      writeFileSync(join(place, 'data.txt'), 'inside');
      rmSync(join(root, 'real'), { recursive: true });
    } else symlinkSync(join(root, 'real'), place);
    const outer = kind === 'file' ? join(outside, 'data.txt') : outside;
    const escapes: string[] = [];
    const [reads] = await whileSwapping({ kind, place, inner: join(root, 'real'), outer }, [
      async () => {
        const text = await wall.readText(kind === 'file' ? 'swapped' : 'swapped/data.txt');
        if (text !== 'inside') escapes.push(text);
      },
    ]);
    expect(escapes).toEqual([]);
    // Some operations must succeed, because a wall that refuses everything would also pass.
    expect(reads).toBeGreaterThan(0);
  },
  PATIENCE_MS,
);

it(
  'FileWall while another process swaps links never writes, lists, moves, or removes anything outside the root',
  async () => {
    const place = join(root, 'swapped');
    mkdirSync(join(root, 'real'));
    symlinkSync(join(root, 'real'), place);
    const escapes: string[] = [];
    const successes = await whileSwapping(
      { kind: 'link', place, inner: join(root, 'real'), outer: outside },
      [
        () => wall.writeText('swapped/new/other.txt', 'x'),
        () => wall.writeText('swapped/secret.txt', 'x'),
        async () =>
          void escapes.push(
            ...(await wall.list('swapped')).entries
              .map(({ name }) => name)
              .filter((name) => name === 'only-outside.txt'),
          ),
        () => wall.move('swapped/secret.txt', 'taken.txt', { overwrite: true }),
        () => wall.writeText('swapped/secret.txt', 'x'),
        () => wall.remove('swapped/secret.txt'),
      ],
    );
    expect(escapes).toEqual([]);
    expect(
      successes.some((count) => count > 0),
      `successes of each: ${successes.join(', ')}`,
    ).toBe(true);
    expect(readdirSync(outside)).toEqual(['only-outside.txt', 'secret.txt']);
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe(SECRET);
  },
  PATIENCE_MS,
);
