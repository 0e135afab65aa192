import type NodePath from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { personaOfPath } from '../src/capability/manifest/manifest-files.js';
import { shownPath, withSlashes } from '../src/host/shown-path.js';
import { defineTool, ToolMetadataRegistry } from '../src/index.js';
import { touchesOf } from '../src/tool/touches.js';
import { containedSegments, segmentsOf } from '../tools/walls/path-rules.js';

// The rules of Windows for paths. Its file system isn't tested here.
vi.mock('node:path', async (original) => {
  const { win32, posix } = await original<typeof NodePath>();
  return { ...win32, default: win32, win32, posix };
});

const APP = 'C:\\work\\app';

describe('on Windows', () => {
  it.each([
    ['a path below the folder', `${APP}\\tools\\a.ts`, 'tools/a.ts'],
    ['the folder in another case', 'c:\\WORK\\App\\a.ts', 'a.ts'],
    ['a path beside the folder', 'C:\\work\\b.ts', '../b.ts'],
    ['a path on another drive', 'D:\\data\\b.ts', 'data/b.ts'],
    ['a path on a server', '\\\\server\\share\\team\\b.ts', 'team/b.ts'],
  ])('messages show %s with slashes and without the drive', (_, path, shown) =>
    expect(shownPath(path, undefined, APP)).toBe(shown),
  );

  it('globs typed with backslashes match folders', () =>
    expect(withSlashes('src\\tools\\*.ts')).toBe('src/tools/*.ts'));

  it.each([
    ['C:\\work\\app\\a\\b', ['a', 'b']],
    ['c:\\WORK\\APP\\a', ['a']],
    ['C:\\work\\app', []],
    ['C:\\work\\app-evil\\a', undefined],
    ['C:\\work\\app\\..\\a', undefined],
    ['D:\\work\\app\\a', undefined],
    ['\\\\server\\C$\\work\\app\\a', undefined],
  ])('%s lies %j below a folder', (path, segments) =>
    expect(containedSegments(APP, path)).toEqual(segments),
  );

  it.each([
    'C:\\work\\app\\a',
    'C:a',
    'c:/work/app/a',
    '\\\\server\\share',
    '//server/share',
    'a\\b',
  ])('file tools refuse %s, whose meaning differs between systems', (path) =>
    expect(() => segmentsOf(path, [APP])).toThrow(
      expect.objectContaining({ code: 'FORBIDDEN_PATH' }),
    ),
  );

  it('a persona owns the manifest in its folder', () =>
    expect(personaOfPath('C:\\m\\personas\\ada\\functions.json')).toBe('ada'));

  it('calls conflict over a file, whichever way its path is written', () => {
    const registry = new ToolMetadataRegistry();
    registry.register(
      defineTool({
        name: 'save',
        description: 'Saves a file',
        inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
        accessMode: 'write',
        conflictKeys: ({ path }: { path: string }) => [`file:${path}`],
        execute: () => null,
      }),
    );
    const keysOf = (path: string) => touchesOf(registry.get('save')!, { path })!.writes;
    expect(keysOf('src\\a.ts')).toEqual(keysOf('./src//a.ts'));
  });
});
