import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { CountLines, OutlineFile, SearchText } from '../../tools/code/index.js';
import { FileWall } from '../../tools/walls/file-wall.js';
import { folderWith } from '../folder-with.js';

let root: string;
let wall: FileWall;
const put = (path: string, text: string | Buffer): void => writeFileSync(join(root, path), text);
const failed = (message: string): unknown =>
  expect.objectContaining({ status: 'error', message: expect.stringContaining(message) });

beforeEach(() => {
  root = folderWith({
    'src/a.ts': 'const Port = 1;\n\nlisten(port);\n',
    'b.md': 'The port.\r\nNothing.\r\n',
  });
  wall = new FileWall(root);
});
const defaults = {
  query: 'port',
  path: '.',
  include: undefined as string | undefined,
  caseSensitive: false,
  contextLines: 0,
  maxResults: 100,
};
const search = (input: Partial<typeof defaults> = {}, context = {}) =>
  new SearchText(wall).execute({ ...defaults, ...input }, context);

it('search_text returns the path, line number, and text of each match, and ignores case', async () => {
  expect(await search()).toEqual({
    matches: [
      { path: 'b.md', line: 1, text: 'The port.' },
      { path: 'src/a.ts', line: 1, text: 'const Port = 1;' },
      { path: 'src/a.ts', line: 3, text: 'listen(port);' },
    ],
    filesRead: 2,
    filesSkipped: 0,
    truncated: false,
  });
});

it('search_text respects caseSensitive, include, and contextLines', async () => {
  expect(await search({ caseSensitive: true, include: '*.ts', contextLines: 1 })).toMatchObject({
    matches: [{ line: 3, before: [''], after: [] }],
    filesRead: 1,
  });
  expect(await search({ path: 'src/a.ts' })).toMatchObject({ filesRead: 1 });
});

it('search_text searches for the query literally, not as a pattern', async () => {
  put('c.txt', 'a.*b\naxxb\n');
  expect(await search({ query: '.*' })).toMatchObject({ matches: [{ path: 'c.txt', line: 1 }] });
  expect(await search({ query: '(a+)+$' })).toMatchObject({ matches: [] });
});

it('search_text stops at maxResults and reports truncation', async () => {
  expect(await search({ maxResults: 2 })).toMatchObject({ matches: [{}, {}], truncated: true });
  expect(await search({ maxResults: 3 })).toMatchObject({
    matches: [{}, {}, {}],
    truncated: false,
  });
});

it('search_text skips binary files, secrets, and links', async () => {
  put('image', Buffer.from('port\0'));
  put('.env', 'port=1');
  symlinkSync('b.md', join(root, 'again.md'));
  expect(await search({ include: '{image,.env,again.md}' })).toEqual({
    matches: [],
    filesRead: 0,
    filesSkipped: 1,
    truncated: false,
  });
});

it('search_text fails on a missing path, and stops when aborted', async () => {
  expect(await search({ path: 'missing' })).toEqual(failed('got nothing'));
  await expect(search({ include: '{a' })).rejects.toThrow('braces that are closed');
  await expect(search({}, { signal: AbortSignal.abort() })).rejects.toThrow('aborted');
});

const outline = async (name: string, text: string) => {
  put(name, text);
  const result = await new OutlineFile(wall).execute({ path: name });
  return 'entries' in result
    ? result.entries.map(
        ({ line, kind, name: called, exported }) =>
          `${line} ${exported ? 'export ' : ''}${kind} ${called}`,
      )
    : result;
};

it('outline_file lists the declarations in a TypeScript file', async () => {
  const text = [
    "import { x } from './x.js';",
    '// function not() {',
    'export default class Server<T> extends Base {',
    '  private readonly port = 1;',
    '  constructor(a: string) {',
    '  static async listen(port: number): Promise<void> {',
    '    if (port) {',
    '  get #hidden() {',
    '}',
    'function helper<T>(a: T) {',
    'export interface Options {',
    'export type Name = string;',
    'export const enum Kind {',
    'declare namespace N {',
    'export const VALUE = 1;',
    "export { a, b as c } from './a.js';",
    'classify(1);',
  ].join('\n');
  expect(await outline('server.ts', text)).toEqual([
    '3 export class Server',
    '5 method constructor',
    '6 method listen',
    '8 method #hidden',
    '10 function helper',
    '11 export interface Options',
    '12 export type Name',
    '13 export enum Kind',
    '14 namespace N',
    '15 export const VALUE',
    "16 export export { a, b as c } from './a.js';",
  ]);
});

it('outline_file lists the declarations in a Python file', async () => {
  expect(
    await outline(
      'app.py',
      '# def no():\nclass App(Base):\n    def run(self):\n        pass\n\nasync def main():\ndef _private(): pass\ndefault = 1\n',
    ),
  ).toEqual([
    '2 export class App',
    '3 method run',
    '6 export function main',
    '7 function _private',
  ]);
});

it('outline_file reports truncation, and is fast on very long lines', async () => {
  put('many.js', 'function f() {}\n'.repeat(600));
  expect(await new OutlineFile(wall).execute({ path: 'many.js' })).toMatchObject({
    truncated: true,
    totalLines: 600,
  });
  expect(
    await outline(
      'wide.js',
      `${'export '.repeat(100_000)}\n${' '.repeat(200_000)}x(${'('.repeat(100_000)}{`,
    ),
  ).toEqual([]);
});

it('count_lines counts lines by file extension, largest count first', async () => {
  put('Makefile', 'all:');
  expect(await new CountLines(wall).execute({ path: '.', include: undefined }, {})).toEqual({
    lines: 6,
    byExtension: [
      { extension: '.ts', files: 1, lines: 3, blankLines: 1 },
      { extension: '.md', files: 1, lines: 2, blankLines: 0 },
      { extension: '(none)', files: 1, lines: 1, blankLines: 0 },
    ],
    filesRead: 3,
    filesSkipped: 0,
    truncated: false,
  });
  expect(await new CountLines(wall).execute({ path: '.', include: '*.md' }, {})).toMatchObject({
    lines: 2,
  });
});
