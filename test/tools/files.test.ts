import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import {
  DangerLevel,
  isToolError,
  ToolExecutor,
  type Policy,
  ToolMetadataRegistry,
} from '../../src/index.js';
import { runTool } from '../../src/testing.js';
import { findDefinitions } from '../../src/tool/find-definitions.js';
import {
  DeleteFile,
  EditFile,
  FileInfo,
  FindFiles,
  ListDirectory,
  MoveFile,
  ReadFile,
  WriteFile,
} from '../../tools/files/index.js';
import { FileWall } from '../../tools/walls/file-wall.js';
import { globMatcher } from '../../tools/walls/glob-matcher.js';
import { folderWith } from '../folder-with.js';

let root: string;
let wall: FileWall;
const put = (path: string, text: string | Buffer): void => writeFileSync(join(root, path), text);
const get = (path: string): string => readFileSync(join(root, path), 'utf8');
const failed = (message: string): unknown =>
  expect.objectContaining({ status: 'error', message: expect.stringContaining(message) });
const refused = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'went through',
    (error: unknown) => (isToolError(error) ? error.code : String(error)),
  );

beforeEach(() => {
  root = folderWith({ 'src/a.ts': 'one\ntwo\nthree\n' });
  wall = new FileWall(root);
  symlinkSync('/etc', join(root, 'link-out'));
});
it('the file tools throw if FileWall refuses a path', async () => {
  const calls = [
    () => new ListDirectory(wall).execute({ path: 'link-out' }),
    () => new ReadFile(wall).execute({ path: 'link-out/passwd', offset: 1, limit: 10 }),
    () => new WriteFile(wall).execute({ path: '../x', content: '', overwrite: true }, {}),
    () =>
      new EditFile(wall).execute(
        { path: 'link-out/passwd', find: 'root', replace: 'toor', replaceAll: false },
        {},
      ),
    () => new FileInfo(wall).execute({ path: '/etc/passwd' }),
    () =>
      new MoveFile(wall).execute({ from: 'src/a.ts', to: 'link-out/a.ts', overwrite: false }, {}),
    () => new DeleteFile(wall).execute({ path: 'link-out/passwd' }, {}),
    () => new FindFiles(wall).execute({ glob: '*', path: 'link-out', limit: 10 }, {}),
  ];
  for (const call of calls) expect(await refused(call())).toBe('FORBIDDEN_PATH');
});

it('the file tools change nothing if the call is aborted', async () => {
  const context = { signal: AbortSignal.abort() };
  const calls = [
    () => new WriteFile(wall).execute({ path: 'new', content: '', overwrite: false }, context),
    () =>
      new EditFile(wall).execute(
        { path: 'src/a.ts', find: 'one', replace: '1', replaceAll: false },
        context,
      ),
    () => new MoveFile(wall).execute({ from: 'src/a.ts', to: 'b', overwrite: false }, context),
    () => new DeleteFile(wall).execute({ path: 'src/a.ts' }, context),
  ];
  for (const call of calls) await expect(call()).rejects.toThrow('aborted');
  expect(readdirSync(root).sort()).toEqual(['link-out', 'src']);
  expect(get('src/a.ts')).toBe('one\ntwo\nthree\n');
});

it('the file tools rate replacing a file as more dangerous, and use one conflict key per file', () => {
  const byName = new Map(
    [new ReadFile(wall), new WriteFile(wall), new EditFile(wall), new MoveFile(wall)]
      .flatMap((one) => findDefinitions(one))
      .map((definition) => [definition.name, definition]),
  );
  for (const name of ['write_file', 'move_file']) {
    const { dangerFor } = byName.get(name)!;
    expect([dangerFor?.({ overwrite: false }), dangerFor?.({ overwrite: true })]).toEqual([
      DangerLevel.MEDIUM,
      DangerLevel.HIGH,
    ]);
  }
  const key = ['file:src/a.ts'];
  for (const path of [
    'src/a.ts',
    './src/../src//a.ts',
    'src/a.ts/',
    'src/a.ts/.',
    join(root, 'src/a.ts'),
    'src\\a.ts',
  ]) {
    expect(byName.get('read_file')?.conflictKeys?.({ path })).toEqual({ reads: key });
    expect(byName.get('write_file')?.conflictKeys?.({ path })).toEqual({ writes: key });
    expect(byName.get('edit_file')?.conflictKeys?.({ path })).toEqual(key);
  }
});

it('the file tools pass a canonical path to the policy, and leave paths outside the root unchanged', async () => {
  const registry = new ToolMetadataRegistry();
  registry.register(new ReadFile(wall));
  const pathOf = async (path: string) => {
    let judged: string | undefined;
    const policy: Policy = {
      decide: ({ input }) => {
        judged = (input as { readonly path: string }).path;
        return { verdict: 'allow', reason: 'r', rule: 'x', danger: 'low' };
      },
    };
    const executor = new ToolExecutor({ registry, policy });
    const { refused } = await executor.decide({ id: '1', name: 'read_file', input: { path } });
    return refused === undefined ? judged : undefined;
  };
  const paths = async (...given: readonly string[]) => Promise.all(given.map(pathOf));
  expect(
    await paths('./a//b/../c.txt/', 'a/.', '.', 'a', join(root, 'a'), `${root}//a/./b`, root),
  ).toEqual(['a/c.txt', 'a', '.', 'a', 'a', 'a/b', '.']);
  expect(await paths('../a/./b', '/etc//passwd', 'a\\b', `${root}-evil/a`)).toEqual([
    '../a/./b',
    '/etc//passwd',
    'a\\b',
    `${root}-evil/a`,
  ]);
});

it('the file tools detect whether the file system ignores case', () => {
  expect(wall.keys.of('SRC/A.ts')).toEqual(
    existsSync(join(root, 'SRC')) ? ['file:src/a.ts'] : ['file:SRC/A.ts'],
  );
  expect(new FileWall(root, { ignoresCase: true }).keys.of('SRC/A.ts')).toEqual(['file:src/a.ts']);
  expect(new FileWall(root, { ignoresCase: false }).keys.below('SRC')).toEqual(['file:SRC/']);
  expect(new FileWall(join(root, 'missing')).keys.of('a')).toEqual(['file:a']);
});

it('list_directory lists entries in order, with their kind and size', async () => {
  put('b.txt', 'four');
  expect(await new ListDirectory(wall).execute({ path: '.' })).toEqual({
    path: '.',
    entries: [
      { name: 'b.txt', kind: 'file', bytes: 4 },
      { name: 'link-out', kind: 'symlink' },
      { name: 'src', kind: 'directory' },
    ],
    truncated: false,
  });
});

it.each(['missing', 'src/a.ts'])(
  "list_directory fails if the path isn't a folder: %s",
  async (path) => {
    expect(await new ListDirectory(wall).execute({ path })).toEqual(failed('Expected'));
  },
);

const read = (path: string, offset = 1, limit = 2_000) =>
  new ReadFile(wall).execute({ path, offset, limit });

it.each([
  ['image/png', 'image', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]],
  ['application/pdf', 'file', [...Buffer.from('%PDF-1.7\n')]],
])(
  "read_file recognizes %s from the file's bytes, not its name",
  async (mediaType, type, bytes) => {
    writeFileSync(join(root, 'page.txt'), Buffer.from(bytes));
    const { outcome } = await runTool(new ReadFile(wall), { path: 'page.txt', offset: 7 });
    expect(outcome).toMatchObject({
      status: 'ok',
      value: { path: 'page.txt', mediaType, bytes: bytes.length },
      content: [{ type, mediaType, name: 'page.txt', data: Buffer.from(bytes).toString('base64') }],
    });
  },
);

it('read_file returns the requested lines and reports where it stopped', async () => {
  expect(await read('src/a.ts')).toEqual({
    path: 'src/a.ts',
    text: 'one\ntwo\nthree',
    firstLine: 1,
    lastLine: 3,
    totalLines: 3,
    truncated: false,
  });
  expect(await read('./src/a.ts', 2, 1)).toEqual({
    path: 'src/a.ts',
    text: 'two',
    firstLine: 2,
    lastLine: 2,
    totalLines: 3,
    truncated: true,
  });
});

it('read_file truncates at the end of a line, or within a line only if that line is too long', async () => {
  put('wide', `${'x'.repeat(60_000)}\n${'y'.repeat(60_000)}\n`);
  expect(await read('wide')).toMatchObject({
    text: 'x'.repeat(60_000),
    lastLine: 1,
    truncated: true,
  });
  put('wider', 'z'.repeat(150_000));
  expect(await read('wider')).toMatchObject({
    text: 'z'.repeat(100_000),
    lastLine: 1,
    totalLines: 1,
    truncated: true,
  });
});

it('read_file fails for a missing file, a folder, a binary file, or lines beyond the end', async () => {
  put('image', Buffer.from([0, 1, 2]));
  expect(await read('missing')).toEqual(failed('got nothing'));
  expect(await read('src')).toEqual(failed('a folder'));
  expect(await read('image')).toEqual(failed('UTF-8'));
  expect(await read('src/a.ts', 4)).toEqual(failed('has 3 lines'));
});

const write = (path: string, content: string, overwrite = false) =>
  new WriteFile(wall).execute({ path, content, overwrite }, {});

it('write_file creates a file and its parent folders', async () => {
  expect(await write('docs/new/é.md', 'é')).toEqual({
    path: 'docs/new/é.md',
    bytes: 2,
    created: true,
  });
  expect(get('docs/new/é.md')).toBe('é');
});

it('write_file replaces a file only on request', async () => {
  expect(await write('src/a.ts', 'new')).toEqual(failed('allow overwriting'));
  expect(get('src/a.ts')).toBe('one\ntwo\nthree\n');
  expect(await write('src/a.ts', 'new', true)).toMatchObject({ created: false });
  expect(get('src/a.ts')).toBe('new');
});

const edit = (find: string, replace: string, replaceAll = false) =>
  new EditFile(wall).execute({ path: 'src/a.ts', find, replace, replaceAll }, {});

it('edit_file replaces the only occurrence, and inserts the replacement text literally', async () => {
  expect(await edit('two', "$& $1 $' $$")).toEqual({
    path: 'src/a.ts',
    replacements: 1,
    firstLine: 2,
    bytes: 22,
  });
  expect(get('src/a.ts')).toBe("one\n$& $1 $' $$\nthree\n");
});

it('edit_file replaces every occurrence on request', async () => {
  expect(await edit('e', '$&', true)).toMatchObject({ replacements: 3, firstLine: 1 });
  expect(get('src/a.ts')).toBe('on$&\ntwo\nthr$&$&\n');
});

it.each([
  ['o', 'on line 1, 2'],
  ['zero', "doesn't contain the text"],
  ['one', 'the same text', 'one'],
  ['two ', 'Without leading and trailing whitespace'],
])(
  'edit_file changes nothing and fails for the search text %j',
  async (find, message, replace = 'x') => {
    expect(await edit(find, replace)).toEqual(failed(message));
    expect(get('src/a.ts')).toBe('one\ntwo\nthree\n');
  },
);

it('edit_file keeps line endings and the byte order mark, and reports if they prevent a match', async () => {
  put('src/a.ts', '\uFEFFone\r\ntwo\r\n');
  expect(await edit('one\ntwo', 'x')).toEqual(failed('CRLF'));
  await edit('two', '2');
  expect(get('src/a.ts')).toBe('\uFEFFone\r\n2\r\n');
});

it('file_info returns the kind, size, and modification time', async () => {
  expect(await new FileInfo(wall).execute({ path: 'src/a.ts' })).toEqual({
    path: 'src/a.ts',
    kind: 'file',
    bytes: 14,
    modified: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
  });
  expect(await new FileInfo(wall).execute({ path: 'src' })).toMatchObject({ kind: 'directory' });
});

const move = (from: string, to: string, overwrite = false) =>
  new MoveFile(wall).execute({ from, to, overwrite }, {});

it('move_file moves files and folders, and creates missing parent folders', async () => {
  expect(await move('src/a.ts', 'lib/deep/b.ts')).toEqual({
    from: 'src/a.ts',
    to: 'lib/deep/b.ts',
    overwritten: false,
  });
  expect(await move('lib', 'moved')).toMatchObject({ to: 'moved' });
  expect(get('moved/deep/b.ts')).toContain('one');
  expect(existsSync(join(root, 'lib'))).toBe(false);
});

it('move_file replaces a file only on request, and never a folder', async () => {
  put('b.txt', 'b');
  expect(await move('b.txt', 'src/a.ts')).toEqual(failed('allow overwriting'));
  expect(await move('b.txt', 'src', true)).toEqual(failed('a folder'));
  expect(await move('b.txt', 'src/a.ts', true)).toMatchObject({ overwritten: true });
  expect(get('src/a.ts')).toBe('b');
});

it('delete_file deletes one file, or a link but not its target', async () => {
  expect(await new DeleteFile(wall).execute({ path: 'src/a.ts' }, {})).toEqual({
    path: 'src/a.ts',
    bytes: 14,
    deleted: true,
  });
  await new DeleteFile(wall).execute({ path: 'link-out' }, {});
  expect(readdirSync(root)).toEqual(['src']);
  expect(existsSync('/etc')).toBe(true);
});

it.each(['src', 'missing'])("delete_file fails if the path isn't a file: %s", async (path) => {
  expect(await new DeleteFile(wall).execute({ path }, {})).toEqual(failed('Expected'));
  expect(existsSync(join(root, 'src'))).toBe(true);
});

it('find_files returns matching files in order, and the number of omitted files', async () => {
  mkdirSync(join(root, 'src/deep'));
  for (const name of ['src/deep/c.ts', 'src/b.ts', 'b.js']) put(name, '');
  const find = (glob: string, path = '.', limit = 200) =>
    new FindFiles(wall).execute({ glob, path, limit }, {});
  expect(await find('src/**/*.ts')).toEqual({
    files: ['src/a.ts', 'src/b.ts', 'src/deep/c.ts'],
    found: 3,
    truncated: false,
  });
  expect(await find('*.{js,ts}', '.', 2)).toEqual({
    files: ['b.js', 'src/a.ts'],
    found: 4,
    truncated: true,
  });
  expect(await find('*.ts', 'src/deep')).toMatchObject({ files: ['src/deep/c.ts'] });
  expect(await find('*', 'missing')).toEqual(failed('got nothing'));
});

it.each([
  ['*.ts', 'src/b.ts', true],
  ['src/*.ts', 'src/b.ts', true],
  ['src/*.ts', 'src/deep/b.ts', false],
  ['src/**/*.ts', 'src/b.ts', true],
  ['src/**/*.ts', 'src/deep/er/b.ts', true],
  ['src/?.ts', 'src/b.ts', true],
  ['*.{ts,tsx}', 'src/b.tsx', true],
  ['{src,test}/*.ts', 'test/b.ts', true],
  ['[id].ts', 'app/[id].ts', true],
])('globMatcher matches %s against %s: %s', (pattern, path, expected) => {
  expect(globMatcher(pattern)(path)).toBe(expected);
});

it.each(['', '{a,{b,c}}', '{a', 'a}', 'x'.repeat(501), '{a,b}'.repeat(7)])(
  'globMatcher refuses %j',
  (pattern) => {
    expect(() => globMatcher(pattern)).toThrow('Expected a file pattern');
  },
);
