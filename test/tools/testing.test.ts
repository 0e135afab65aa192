import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { ListTests, RunTests } from '../../tools/testing/index.js';
import { FileWall } from '../../tools/walls/file-wall.js';
import { ProgramWall } from '../../tools/walls/program-wall.js';
import { folderWith } from '../folder-with.js';

let root: string;

beforeEach(() => void (root = folderWith()));

const put = async (path: string, text = '') => {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
};
const run = (input = {}) =>
  new RunTests(new ProgramWall({ root })).execute({ lines: 60, ...input }, {});
const list = (input = {}) =>
  new ListTests(new FileWall(root)).execute({ contains: '', limit: 500, ...input }, {});

const PASSING = "require('node:test')('adds', () => {});";
const FAILING = "require('node:test')('adds', () => { throw new Error('one is not two'); });";

it('run_tests runs the test script in package.json with the filter', async () => {
  await put('package.json', JSON.stringify({ scripts: { test: 'node show.js' } }));
  await put('show.js', 'console.log("args", JSON.stringify(process.argv.slice(2)))');
  expect(await run()).toMatchObject({
    passed: true,
    exitCode: 0,
    command: 'npm test',
    timedOut: false,
  });
  const filtered = await run({ filter: 'src/a b.test.js' });
  expect(filtered).toMatchObject({ passed: true, command: 'npm test -- src/a b.test.js' });
  expect(filtered.lastLines).toContain('args ["src/a b.test.js"]');
});

it('run_tests reports failed tests with the last lines of output', async () => {
  await put('package.json', JSON.stringify({ scripts: { test: 'node show.js' } }));
  await put(
    'show.js',
    'for (let i = 0; i < 500; i++) console.log("line", i); console.log("1 failed"); process.exitCode = 1;',
  );
  const result = await run({ lines: 3 });
  expect(result).toMatchObject({ passed: false, exitCode: 1, truncated: true });
  expect(result.lastLines).toHaveLength(3);
});

it('run_tests runs node --test if package.json has no test script', async () => {
  await put('good.test.cjs', PASSING);
  expect(await run()).toMatchObject({ passed: true, command: 'node --test' });
  await put('bad.test.cjs', FAILING);
  const result = await run();
  expect(result.passed).toBe(false);
  expect(result.lastLines.join('\n')).toContain('one is not two');
  expect(await run({ filter: 'good.test.cjs' })).toMatchObject({ passed: true });
});

it.each([
  ['an option that loads code', '--require=./evil.js'],
  ['a short option', '-c'],
  ['a separator', 'a; touch MARKER'],
  ['a substitution', '$(touch MARKER)'],
  ['backticks', '`touch MARKER`'],
  ['quotes', '"; touch MARKER; "'],
  ['a redirection', '> MARKER'],
  ['a pipe', 'a | touch MARKER'],
  ['a line break', 'a\ntouch MARKER'],
  ['a NUL', 'a\0b'],
  ['an absolute path', '/etc/passwd'],
  ['a path outside the root', '../other/a.test.js'],
  ['a path that leaves the root midway', 'a/../../other'],
  ['empty', ''],
])('run_tests refuses a filter (%s)', async (_class, filter) => {
  await put('package.json', JSON.stringify({ scripts: { test: 'node -e 0' } }));
  await expect(run({ filter })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect(existsSync(join(root, 'MARKER'))).toBe(false);
});

it('run_tests follows package.json as a link only inside the root', async () => {
  const elsewhere = folderWith({ 'package.json': { scripts: { test: 'node -e 0' } } });
  await symlink(join(elsewhere, 'package.json'), join(root, 'package.json'));
  await expect(run()).rejects.toMatchObject({ code: 'FORBIDDEN_PATH' });
  await rm(join(root, 'package.json'));
  await put('own.json', JSON.stringify({ scripts: { test: 'node -e 0' } }));
  await symlink('own.json', join(root, 'package.json'));
  expect(await run()).toMatchObject({ command: 'npm test' });
});

it('run_tests stops if the call is aborted', async () => {
  await expect(
    new RunTests(new ProgramWall({ root })).execute({ lines: 1 }, { signal: AbortSignal.abort() }),
  ).rejects.toMatchObject({ code: 'ABORTED' });
});

it('list_tests finds test files of many languages by their name, and skips dependencies', async () => {
  const tests = [
    'a.test.ts',
    'deep/er/b.spec.jsx',
    'go/c_test.go',
    'py/test_d.py',
    'py/e_test.py',
    'x/FTest.java',
  ];
  const others = [
    'a.ts',
    'test.md',
    'node_modules/p/a.test.js',
    'deep/node_modules/q/b.test.js',
    '.git/x.test.js',
    'latest.ts',
    'test_x.txt',
  ];
  for (const path of [...tests, ...others]) await put(path);
  expect(await list()).toEqual({ tests: [...tests].sort(), truncated: false });
  expect(await list({ contains: 'PY/' })).toEqual({
    tests: ['py/e_test.py', 'py/test_d.py'],
    truncated: false,
  });
  expect(await list({ limit: 2 })).toMatchObject({ truncated: true });
});
