import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isToolError } from '../../src/index.js';
import { FileWall } from '../../tools/walls/file-wall.js';

const SECRET = 'the secret outside';
let base: string;
let root: string;
let outside: string;
let wall: FileWall;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'tooldex-'));
  root = join(base, 'root');
  outside = join(base, 'root-evil');
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret.txt'), SECRET);
  wall = new FileWall(root);
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

/** Swaps a name between what is inside and what is outside, as often as asked; in a thread of its own. */
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
/** Milliseconds: the count of swaps bounds a test; a machine at its limits may take long for them. */
const PATIENCE_MS = 60_000;

async function whileSwapping(data: object, work: () => Promise<unknown>): Promise<void> {
  const worker = new Worker(SWAPPER, { eval: true, workerData: { times: SWAPS, ...data } });
  let running = true;
  let failure: unknown;
  worker.once('error', (error) => (failure = error));
  worker.once('exit', () => (running = false));
  while (running) {
    await work().catch((error: unknown) => {
      if (!isToolError(error)) throw error;
    });
  }
  expect(failure).toBeUndefined();
}

describe('FileWall while links are swapped', () => {
  it.each(['link', 'file', 'folder'])('never reads outside (%s)', async (kind) => {
    mkdirSync(join(root, 'real'));
    for (const folder of ['real', '../root-evil']) writeFileSync(join(root, folder, 'data.txt'), folder === 'real' ? 'inside' : SECRET);
    const place = join(root, 'swapped');
    if (kind === 'folder') {
      mkdirSync(place);
      writeFileSync(join(place, 'data.txt'), 'inside');
      rmSync(join(root, 'real'), { recursive: true });
    } else symlinkSync(join(root, 'real'), place);
    const outer = kind === 'file' ? join(outside, 'data.txt') : outside;
    const escapes: string[] = [];
    await whileSwapping({ kind, place, inner: join(root, 'real'), outer }, async () => {
      const text = await wall.readText(kind === 'file' ? 'swapped' : 'swapped/data.txt');
      if (text !== 'inside') escapes.push(text);
    });
    expect(escapes).toEqual([]);
  }, PATIENCE_MS);

  it.each(['link', 'folder'])('never writes, lists, moves or removes outside (%s)', async (kind) => {
    const place = join(root, 'swapped');
    if (kind === 'folder') mkdirSync(place);
    else {
      mkdirSync(join(root, 'real'));
      symlinkSync(join(root, 'real'), place);
    }
    let round = 0;
    const escapes: string[] = [];
    await whileSwapping({ kind, place, inner: join(root, 'real'), outer: outside }, async () => {
      round++;
      if (round % 4 === 0) await wall.remove('swapped/secret.txt');
      else if (round % 4 === 1) await wall.writeText('swapped/new/secret.txt', 'x');
      else if (round % 4 === 2) await wall.move('swapped/secret.txt', 'taken.txt', { overwrite: true });
      else escapes.push(...(await wall.list('swapped')).entries.filter(({ name }) => name === 'secret.txt').map(({ name }) => name));
    });
    expect(escapes).toEqual([]);
    expect(readdirSync(outside)).toEqual(['secret.txt']);
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe(SECRET);
  }, PATIENCE_MS);
});
