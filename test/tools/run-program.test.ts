import { readFileSync } from 'node:fs';
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DEADLINE_MS } from '../programs.js';
import { ProgramWall } from '../../tools/walls/program-wall.js';
import { folderWith } from '../folder-with.js';

let root: string;
let wall: ProgramWall;

beforeEach(async () => {
  root = folderWith();
  wall = new ProgramWall({ root, allowedPrograms: ['node', 'git', 'sh'] });
  await writeFile(
    join(root, 'echo.mjs'),
    'process.stdout.write(JSON.stringify(process.argv.slice(2)));',
  );
});

afterEach(() => void vi.unstubAllEnvs());

const exists = (name: string) =>
  stat(join(root, name)).then(
    () => true,
    () => false,
  );
const node = (code: string, options = {}) => wall.run('node', ['-e', code], options);

/**
 * Words that attackers pass as arguments. If anything interpreted one of them, a file named MARKER would
 * appear.
 */
const INJECTIONS: readonly (readonly [string, string])[] = [
  ['command separator', '; touch MARKER'],
  ['pipe', '| touch MARKER'],
  ['background', '& touch MARKER'],
  ['and', '&& touch MARKER'],
  ['or', '|| touch MARKER'],
  ['line break', '\ntouch MARKER'],
  ['substitution', '$(touch MARKER)'],
  ['substitution in double quotes', '"$(touch MARKER)"'],
  ['backticks', '`touch MARKER`'],
  ['closing a single quote', "'; touch MARKER; '"],
  ['closing a double quote', '"; touch MARKER; "'],
  ['process substitution in', '<(touch MARKER)'],
  ['redirection', '> MARKER'],
  ['variable default with a substitution', '${X:-$(touch MARKER)}'],
  ['Windows command separator', '& type nul > MARKER'],
  ['Windows caret', '^& touch MARKER'],
  ['Windows variable', '%COMSPEC% /c type nul > MARKER'],
  ['PowerShell', '; New-Item MARKER'],
];

it('ProgramWall passes shell syntax as plain arguments', async () => {
  const words = INJECTIONS.flatMap(([, payload]) => [payload, `x${payload}`]);
  const { stdout } = await wall.run('node', ['echo.mjs', ...words]);
  expect(JSON.parse(stdout)).toEqual(words);
  expect(await exists('MARKER')).toBe(false);
});

it.each([
  ["a program that isn't on the list", 'touch'],
  ['an absolute path', '/bin/sh'],
  ['a relative path', './node'],
  ['a path below the root', 'bin/node'],
  ['a path with backslashes', 'bin\\node'],
  ['an option', '-node'],
  ['another case', 'NODE'],
  ['a trailing space', 'node '],
  ['a NUL character', 'node\0'],
  ['an empty name', ''],
  ['the parent folder', '..'],
])('ProgramWall refuses a program name (%s)', async (_class, program) => {
  await expect(wall.run(program, [])).rejects.toMatchObject({ code: 'FORBIDDEN_PROGRAM' });
});

it('ProgramWall refuses a path even if the allowlist contains it', async () => {
  await expect(wall.withPrograms(['./evil', '/bin/sh']).run('./evil', [])).rejects.toMatchObject({
    code: 'FORBIDDEN_PROGRAM',
  });
  await expect(wall.withPrograms(['./evil', '/bin/sh']).run('/bin/sh', [])).rejects.toMatchObject({
    code: 'FORBIDDEN_PROGRAM',
  });
});

it("ProgramWall doesn't run a program from the root, even if PATH includes the root", async () => {
  await mkdir(join(root, 'bin'));
  await writeFile(join(root, 'bin', 'node'), '#!/bin/sh\ntouch MARKER\n', { mode: 0o755 });
  await writeFile(join(root, 'node'), '#!/bin/sh\ntouch MARKER\n', { mode: 0o755 });
  vi.stubEnv('PATH', `${join(root, 'bin')}:.:bin::${process.env['PATH']}`);
  expect((await wall.run('node', ['echo.mjs', 'a'])).stdout).toBe('["a"]');
  const path = (await node('console.log(process.env.PATH)')).stdout.trim().split(':');
  expect(path.every((entry) => entry.startsWith('/') && !entry.startsWith(root))).toBe(true);
  expect(await exists('MARKER')).toBe(false);
});

it('ProgramWall refuses too many arguments, and arguments or input that are too long', async () => {
  await expect(
    wall.run(
      'node',
      Array.from({ length: 1_001 }, () => 'a'),
    ),
  ).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
  await expect(wall.run('node', ['a'.repeat(200_000)])).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
  });
  await expect(wall.run('node', [], { input: 'a'.repeat(2_000_000) })).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
  });
});

it.each(['..', '../..', '/', '/etc', 'sub/../..', 'link', 'link/deeper'])(
  'ProgramWall refuses to run in %s',
  async (cwd) => {
    await symlink(tmpdir(), join(root, 'link'));
    await expect(wall.run('node', ['--version'], { cwd })).rejects.toMatchObject({
      code: expect.stringMatching(/^(FORBIDDEN_PATH|INVALID_INPUT)$/),
    });
  },
);

it.each([
  'GIT_EXTERNAL_DIFF',
  'GIT_SSH_COMMAND',
  'GIT_CONFIG_PARAMETERS',
  'NODE_OPTIONS',
  'LD_PRELOAD',
  'BASH_ENV',
  'ENV',
  'API_KEY',
  'AWS_SECRET_ACCESS_KEY',
  'PYTHONSTARTUP',
  'PAGER',
])("ProgramWall doesn't pass the environment variable %s to the program", async (name) => {
  // LD_PRELOAD would affect this process's own children, so it gets a harmless value.
  vi.stubEnv(name, name === 'NODE_OPTIONS' ? '--no-warnings' : '');
  expect(
    JSON.parse((await node('console.log(JSON.stringify(Object.keys(process.env)))')).stdout),
  ).not.toContain(name);
});

it('ProgramWall keeps only the beginning or end of a long output and reports truncation', async () => {
  const small = new ProgramWall({ root, maxOutputBytes: 10 });
  const code = 'for (let i = 0; i < 100000; i++) process.stdout.write(String(i % 10))';
  expect(await small.run('node', ['-e', code])).toMatchObject({
    stdout: '0123456789',
    truncated: true,
  });
  expect(
    await small.run('node', ['-e', `${code}; process.stdout.write('END')`], { keep: 'tail' }),
  ).toMatchObject({ stdout: '3456789END', truncated: true });
  expect(await small.run('node', ['-e', 'process.stdout.write("0123456789")'])).toMatchObject({
    stdout: '0123456789',
    truncated: false,
  });
});

it('ProgramWall kills a slow program with its descendants, and returns their output', async () => {
  await writeFile(
    join(root, 'parent.mjs'),
    "import { spawn } from 'node:child_process'; const c = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']); console.log(process.pid, c.pid); setInterval(() => {}, 1000);",
  );
  const killAfter = (timeoutMs: number) => wall.run('node', ['parent.mjs'], { timeoutMs });
  let result = await killAfter(1_500);
  // On a busy machine, the program may not have started by then.
  for (let timeoutMs = 3_000; result.stdout === ''; timeoutMs *= 2)
    result = await killAfter(timeoutMs);
  expect(result).toMatchObject({ timedOut: true, exitCode: null });
  const pids = result.stdout.trim().split(' ').map(Number);
  expect(pids).toHaveLength(2);
  await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]), DEADLINE_MS);
});

it('ProgramWall leaves no background processes behind when the program ends', async () => {
  const { stdout, timedOut } = await wall.run('sh', ['-c', 'sleep 300 & echo $!']);
  expect(timedOut).toBe(false);
  await vi.waitFor(() => expect(isRunning(Number(stdout))).toBe(false), DEADLINE_MS);
});

it("ProgramWall doesn't wait for a descendant that detached itself", async () => {
  await writeFile(
    join(root, 'escape.mjs'),
    "import { spawn } from 'node:child_process'; const c = spawn('sleep', ['300'], { detached: true, stdio: 'inherit' }); console.log(c.pid); c.unref();",
  );
  // If the wall waited for the pipes, the test would reach its time limit.
  const result = await wall.run('node', ['escape.mjs'], { timeoutMs: 600_000 });
  expect(result).toMatchObject({
    timedOut: false,
    exitCode: 0,
    stdout: expect.stringMatching(/^\d+\n$/),
  });
  expect(isRunning(Number(result.stdout))).toBe(true);
  process.kill(Number(result.stdout), 'SIGKILL');
});

it('ProgramWall kills the program if the call is aborted', async () => {
  const controller = new AbortController();
  await writeFile(
    join(root, 'wait.mjs'),
    "import { writeFileSync, renameSync } from 'node:fs'; writeFileSync('tmp', String(process.pid)); renameSync('tmp', 'pid'); setInterval(() => {}, 1000);",
  );
  const running = wall.run('node', ['wait.mjs'], { signal: controller.signal });
  await vi.waitFor(async () => expect(await exists('pid')).toBe(true), DEADLINE_MS);
  controller.abort();
  await expect(running).rejects.toMatchObject({ code: 'ABORTED' });
  const pid = Number(await readFile(join(root, 'pid'), 'utf8'));
  await vi.waitFor(() => expect(isRunning(pid)).toBe(false), DEADLINE_MS);
});

it('ProgramWall never shows a local path in an error', async () => {
  const errors = await Promise.all(
    [
      wall.run('/bin/sh', []),
      wall.run('node', [], { cwd: '/etc' }),
      wall.withPrograms(['nothing-here']).run('nothing-here', []),
    ].map((each) => each.catch((error: Error) => error.message)),
  );
  for (const message of errors) expect(message).not.toContain(root);
});

/** Returns true if a process is still running. A zombie process doesn't count. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !isZombie(pid);
}

function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/\(.*\)/, ''));
  } catch {
    return false;
  }
}
