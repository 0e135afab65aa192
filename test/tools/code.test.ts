import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findDefinitions } from '../../src/tool/find-definitions.js';
import { CountLines, OutlineFile, SearchText } from '../../tools/code/index.js';
import { FileWall } from '../../tools/walls/file-wall.js';

let root: string;
let wall: FileWall;
const put = (path: string, text: string | Buffer): void => writeFileSync(join(root, path), text);
const failed = (message: string): unknown =>
  expect.objectContaining({ status: 'error', message: expect.stringContaining(message) });

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tooldex-'));
  wall = new FileWall(root);
  mkdirSync(join(root, 'src'));
  put('src/a.ts', 'const Port = 1;\n\nlisten(port);\n');
  put('b.md', 'The port.\r\nNothing.\r\n');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('search_text', () => {
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

  it('returns path, line and text, ignoring case', async () => {
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

  it('respects caseSensitive, include and contextLines', async () => {
    expect(await search({ caseSensitive: true, include: '*.ts', contextLines: 1 })).toMatchObject({
      matches: [{ line: 3, before: [''], after: [] }],
      filesRead: 1,
    });
    expect(await search({ path: 'src/a.ts' })).toMatchObject({ filesRead: 1 });
  });

  it('takes the query literally', async () => {
    put('c.txt', 'a.*b\naxxb\n');
    expect(await search({ query: '.*' })).toMatchObject({ matches: [{ path: 'c.txt', line: 1 }] });
    expect(await search({ query: '(a+)+$' })).toMatchObject({ matches: [] });
  });

  it('stops at maxResults and reports it', async () => {
    expect(await search({ maxResults: 2 })).toMatchObject({ matches: [{}, {}], truncated: true });
    expect(await search({ maxResults: 3 })).toMatchObject({
      matches: [{}, {}, {}],
      truncated: false,
    });
  });

  it('cuts long lines around the match', async () => {
    put('min.js', `${'x'.repeat(5_000)}needle${'y'.repeat(5_000)}`);
    const found = await search({ query: 'NEEDLE' });
    const [match] = 'matches' in found ? found.matches : [];
    expect(match?.text).toContain('needle');
    expect(match?.text.length).toBe(302);
  });

  it('skips binary files, secrets and links', async () => {
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

  it('fails on a missing path, and stops when aborted', async () => {
    expect(await search({ path: 'missing' })).toEqual(failed('got nothing'));
    await expect(search({ include: '{a' })).rejects.toThrow('braces that are closed');
    await expect(search({}, { signal: AbortSignal.abort() })).rejects.toThrow('aborted');
  });

  it('refuses a query of several lines', () => {
    const [definition] = findDefinitions(SearchText);
    const schema = definition?.inputSchema as unknown as {
      safeParse: (value: unknown) => { success: boolean };
    };
    expect(schema.safeParse({ query: 'a\nb' }).success).toBe(false);
    expect(schema.safeParse({ query: 'a' }).success).toBe(true);
  });
});

describe('outline_file', () => {
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

  it('lists the declarations of TypeScript', async () => {
    const text = [
      "import { x } from './x.js';",
      '/** class Not */',
      '// function not() {',
      'export default class Server<T> extends Base {',
      '  private readonly port = 1;',
      '  constructor(a: string) {',
      '  static async listen(port: number): Promise<void> {',
      '    if (port) {',
      '    for (const a of b) {',
      '    const inner = 1;',
      '  get #hidden() {',
      '}',
      'export async function* walk(a: string) {',
      'function helper<T>(a: T) {',
      'export interface Options {',
      'export type Name = string;',
      'type A = 1;',
      'export const enum Kind {',
      'declare namespace N {',
      'export const VALUE = 1;',
      'let count = 0;',
      'export default function () {',
      "export { a, b as c } from './a.js';",
      "export * from './b.js';",
      "export type { T } from './c.js';",
      'export default 42;',
      'classify(1);',
      'abstract class Shape {',
    ].join('\n');
    expect(await outline('server.ts', text)).toEqual([
      '4 export class Server',
      '6 method constructor',
      '7 method listen',
      '11 method #hidden',
      '13 export function walk',
      '14 function helper',
      '15 export interface Options',
      '16 export type Name',
      '17 type A',
      '18 export enum Kind',
      '19 namespace N',
      '20 export const VALUE',
      '21 let count',
      '22 export function default',
      "23 export export { a, b as c } from './a.js';",
      "24 export export * from './b.js';",
      "25 export export type { T } from './c.js';",
      '26 export export default',
      '28 class Shape',
    ]);
  });

  it('lists the declarations of Python', async () => {
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

  it('reports truncation, and is quick on very long lines', async () => {
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

  it('fails for other languages and missing files', async () => {
    expect(await new OutlineFile(wall).execute({ path: 'b.md' })).toEqual(failed('got ".md"'));
    expect(await new OutlineFile(wall).execute({ path: 'no.ts' })).toEqual(failed('got nothing'));
  });
});

describe('count_lines', () => {
  it('counts by extension, most lines first', async () => {
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

  it('counts the files that it skips because of their size', async () => {
    put('big.txt', 'x'.repeat(1_048_577));
    expect(await new CountLines(wall).execute({ path: '.', include: '*.txt' }, {})).toMatchObject({
      lines: 0,
      filesSkipped: 1,
    });
  });
});
