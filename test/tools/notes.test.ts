import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { isToolError } from '../../src/index.js';
import { NoteAdd, NoteDelete, NoteList, NoteSearch } from '../../tools/notes/index.js';
import { NoteStore } from '../../tools/notes/note-store.js';
import { FileWall } from '../../tools/walls/file-wall.js';
import { folderWith } from '../folder-with.js';

let root: string;
let file: string;
let time: number;
let store: NoteStore;
const failed = (message: string): unknown =>
  expect.objectContaining({ status: 'error', message: expect.stringContaining(message) });
const add = (text: string, tags: string[] = []) => new NoteAdd(store).execute({ text, tags }, {});
const list = (tag?: string, limit = 50) => new NoteList(store).execute({ tag, limit });
const search = (query: string, limit = 20) => new NoteSearch(store).execute({ query, limit });
const remove = (id: string) => new NoteDelete(store).execute({ id }, {});

beforeEach(() => {
  root = folderWith();
  file = join(root, '.tooldex/notes.json');
  time = Date.UTC(2025, 0, 1);
  store = new NoteStore(new FileWall(root), { now: () => (time += 1_000) });
});
it("the note tools don't create a file when they only read", async () => {
  expect(await list()).toEqual({ notes: [], total: 0, truncated: false });
  expect(await search('x')).toMatchObject({ total: 0 });
  expect(await remove('note-1')).toEqual(failed('List the notes'));
  expect(readdirSync(root)).toEqual([]);
});

it.each(['not json', '{"version":2,"nextId":1,"notes":[]}'])(
  'the note tools leave a damaged file unchanged: %j',
  async (text) => {
    mkdirSync(join(root, '.tooldex'));
    writeFileSync(file, text);
    for (const call of [add('x'), list(), search('x'), remove('note-1')])
      expect(await call).toEqual(failed('Repair it or move it away'));
    expect(readFileSync(file, 'utf8')).toBe(text);
  },
);

it('the note tools refuse a notes folder outside the root', async () => {
  const outside = folderWith();
  symlinkSync(outside, join(root, '.tooldex'));
  const code = await Promise.resolve(add('x')).catch((error: unknown) =>
    isToolError(error) ? error.code : error,
  );
  expect(code).toBe('FORBIDDEN_PATH');
  expect(readdirSync(outside)).toEqual([]);
});

it('note_add stores a note with an id, tags, and the time', async () => {
  expect(await add('The release is on Friday', ['release', 'release', 'plan'])).toEqual({
    id: 'note-1',
    text: 'The release is on Friday',
    tags: ['release', 'plan'],
    created: '2025-01-01T00:00:01.000Z',
  });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    version: 1,
    nextId: 2,
    notes: [{ id: 'note-1' }],
  });
});

it('note_add keeps all notes that are added concurrently', async () => {
  await Promise.all(Array.from({ length: 30 }, (_, index) => add(`n${index}`)));
  const listed = await list();
  expect('notes' in listed && listed.notes.map(({ id }) => id)).toEqual(
    Array.from({ length: 30 }, (_, index) => `note-${30 - index}`),
  );
});

it('note_list lists the newest notes first, filtered by tag and up to a limit', async () => {
  await add('a', ['x']);
  await add('b');
  await add('c', ['x']);
  expect(await list('x')).toMatchObject({
    notes: [{ text: 'c' }, { text: 'a' }],
    total: 2,
    truncated: false,
  });
  expect(await list(undefined, 1)).toMatchObject({
    notes: [{ text: 'c' }],
    total: 3,
    truncated: true,
  });
});

it('note_search finds notes that contain every word in their text or tags, case-insensitively', async () => {
  await add('The API limit is 100', ['Backend']);
  await add('The limit of patience');
  expect(await search('  LIMIT  backend ')).toMatchObject({
    notes: [{ id: 'note-1' }],
    total: 1,
  });
  expect(await search('limit', 1)).toMatchObject({
    notes: [{ id: 'note-2' }],
    total: 2,
    truncated: true,
  });
  expect(await search('.*')).toMatchObject({ total: 0 });
});

it('note_delete deletes one note and never reuses its id', async () => {
  await add('a');
  await add('b');
  expect(await remove('note-2')).toMatchObject({ deleted: { text: 'b' } });
  expect(await add('c')).toMatchObject({ id: 'note-3' });
  expect(await list()).toMatchObject({ notes: [{ text: 'c' }, { text: 'a' }] });
});
