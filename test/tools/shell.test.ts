import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { RunProgram, RunShell } from '../../tools/shell/index.js';
import { ProgramWall } from '../../tools/walls/program-wall.js';
import { folderWith } from '../folder-with.js';

let root: string;
let wall: ProgramWall;

beforeEach(async () => {
  root = folderWith();
  wall = new ProgramWall({ root });
});

afterEach(() => void vi.unstubAllEnvs());

const program = (name: string, argv: string[] = [], more = {}) =>
  new RunProgram(wall).execute({ program: name, arguments: argv, cwd: '.', ...more }, {});
const shell = (command: string, more = {}) =>
  new RunShell(wall).execute({ command, cwd: '.', ...more }, {});

it('run_program runs an allowed program with its arguments, input, and working directory', async () => {
  await mkdir(join(root, 'sub'));
  const code =
    'console.log(process.argv.slice(1).join("|"), process.cwd()); process.stdin.pipe(process.stdout)';
  expect(
    await program('node', ['-e', code, '$HOME', '*', 'a b'], { cwd: 'sub', input: 'in' }),
  ).toEqual({
    exitCode: 0,
    stdout: `$HOME|*|a b ${join(root, 'sub')}\nin`,
    stderr: '',
    truncated: false,
    timedOut: false,
  });
});

it.each(['sh', 'git', '/bin/sh'])("run_program refuses %s, which isn't allowed", async (name) => {
  await expect(program(name, ['-c', 'touch MARKER'])).rejects.toMatchObject({
    code: 'FORBIDDEN_PROGRAM',
  });
  expect(existsSync(join(root, 'MARKER'))).toBe(false);
});

it('run_shell needs approval for every call, because the executor refuses grants for this tool', async () => {
  const registry = new ToolMetadataRegistry();
  registry.register(new RunShell(wall));
  const executor = new ToolExecutor({ registry });
  const call = { id: '1', name: 'run_shell', input: { command: 'echo once' } };
  const held = await executor.execute(call);
  if (held.status !== 'approval_required') throw new Error(held.status);
  expect(executor.grantChoices(held.pending)).toEqual([]);
  await expect(executor.grant(held.pending, { uses: 5 })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
  await executor.approve(held.pending);
  expect(await executor.execute(call)).toMatchObject({ status: 'ok' });
  expect(await executor.execute({ ...call, id: '2' })).toMatchObject({
    status: 'approval_required',
  });
  await executor.close();
});

it('run_shell supports pipes, variables, and redirections below the root', async () => {
  expect(
    await shell('X=b; printf "a\\n$X\\n" > out.txt; cat out.txt | wc -l; exit 3'),
  ).toMatchObject({ exitCode: 3, stdout: expect.stringContaining('2') });
});

it("run_shell doesn't pass secrets in the process's environment to the command", async () => {
  vi.stubEnv('MY_API_KEY', 'sk-secret');
  expect((await shell('env')).stdout).not.toContain('sk-secret');
});

it('run_shell stops after its timeout and returns the output so far', async () => {
  expect(await shell('echo first; sleep 300', { timeoutMs: 1_000 })).toMatchObject({
    timedOut: true,
    stdout: 'first\n',
  });
});
