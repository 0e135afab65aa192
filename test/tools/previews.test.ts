import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { ToolExecutor, ToolMetadataRegistry, type PendingApproval } from '../../src/index.js';
import { createDefaultTools } from '../../tools/index.js';
import { folderWith } from '../folder-with.js';

let root: string;
let executor: ToolExecutor;
beforeEach(() => {
  root = folderWith();
  const registry = new ToolMetadataRegistry();
  registry.registerAll(createDefaultTools({ root }));
  executor = new ToolExecutor({ registry });
});
const call = (name: string, input: object) => ({ id: name, name, input });
async function pendingOf(name: string, input: object): Promise<PendingApproval> {
  const outcome = await executor.execute(call(name, input));
  if (outcome.status !== 'approval_required') throw new Error(JSON.stringify(outcome));
  return outcome.pending;
}
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'pipe' });
const shownOf = async (name: string, input: object) => (await pendingOf(name, input)).preview;

it('previews of calls to the bundled tools exist for all tools that can change something', () => {
  const registry = executor.registry;
  expect(
    [...registry.getWriteTools()].filter((name) => registry.require(name).preview === undefined),
  ).toEqual([]);
  expect(registry.getWriteTools().size).toBeGreaterThan(8);
});

it('previews of calls to the bundled tools show file changes as a diff, and deletions and moves', async () => {
  writeFileSync(join(root, 'a.txt'), 'one\ntwo\n');
  expect(
    await shownOf('edit_file', { path: 'a.txt', find: 'two', replace: 'three' }),
  ).toMatchObject({
    summary: expect.stringMatching(/^Changes a\.txt \(SHA-256 [0-9a-f]{12}…\), 8 to 10 bytes$/),
    diff: expect.stringContaining('-two\n+three\n'),
    reversible: false,
  });
  expect(await shownOf('edit_file', { path: 'a.txt', find: 'four', replace: 'three' })).toEqual({
    summary: "Changes nothing: a.txt doesn't contain the text",
  });
  expect(await shownOf('write_file', { path: 'b.txt', content: 'new\n' })).toMatchObject({
    summary: 'Creates b.txt (4 bytes)',
    diff: expect.stringContaining('+new\n'),
  });
  expect(
    await shownOf('write_file', { path: 'a.txt', content: 'new\n', overwrite: true }),
  ).toMatchObject({ diff: expect.stringContaining('-one\n-two\n+new\n') });
  expect(await shownOf('delete_file', { path: 'a.txt' })).toMatchObject({
    summary: expect.stringMatching(/^Deletes a\.txt \(file, 8 bytes, modified 20/),
    reversible: false,
  });
  expect(await shownOf('move_file', { from: 'a.txt', to: 'c.txt' })).toMatchObject({
    summary: expect.stringMatching(/^Moves a\.txt \(file, 8 bytes, modified 20[^)]*\) to c\.txt$/),
    reversible: true,
  });
});

it("previews of calls to the bundled tools don't show files that the tools may not read", async () => {
  writeFileSync(join(root, '.env'), 'KEY=secret-value');
  const pending = await pendingOf('write_file', {
    path: '.env',
    content: 'KEY=1',
    overwrite: true,
  });
  expect(JSON.stringify(pending)).not.toContain('secret-value');
  expect(pending.noPreview).toBe('its preview failed');
});

it('previews of calls to the bundled tools show the program, the HTTP request, or the note', async () => {
  expect(await shownOf('run_shell', { command: 'echo hi' })).toMatchObject({
    summary: 'Runs in .: sh -c "echo hi"',
  });
  expect(
    await shownOf('http_request', {
      url: 'https://api.example.org/x',
      method: 'POST',
      body: 'abc',
    }),
  ).toEqual({
    summary: 'POST https://api.example.org/x with 3 bytes',
    recipients: ['api.example.org'],
    reversible: false,
  });
  expect(await shownOf('note_add', { text: 'Buy milk' })).toMatchObject({ diff: 'Buy milk' });
});

it("previews of calls to the bundled tools show a commit's files and changes", async () => {
  git('init', '-q', '-b', 'main');
  writeFileSync(join(root, 'a.txt'), 'one');
  expect(await shownOf('git_commit', { message: 'Add a\n\nlong text' })).toEqual({
    summary: expect.stringMatching(
      /^Commits 1 files in their current state \([0-9a-f]{12}…\) as "Add a"$/,
    ),
    diff: 'A a.txt',
    reversible: true,
  });
  writeFileSync(join(root, 'b.txt'), 'two');
  expect((await shownOf('git_commit', { message: 'x', paths: ['b.txt'] }))!.diff).toBe('A b.txt');
});

it("previews of calls to the bundled tools require another approval if a commit's changes differ, even for the same files", async () => {
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Ada');
  git('config', 'user.email', 'ada@example.org');
  writeFileSync(join(root, 'a.txt'), 'one');
  const commit = { message: 'Add a' };
  await executor.approve(await pendingOf('git_commit', commit));
  writeFileSync(join(root, 'a.txt'), 'two');
  const again = await executor.execute(call('git_commit', commit));
  expect(again).toMatchObject({
    status: 'approval_required',
    pending: { preview: { diff: 'A a.txt' } },
  });
  await executor.approve((again as { readonly pending: PendingApproval }).pending);
  expect(await executor.execute(call('git_commit', commit))).toMatchObject({ status: 'ok' });
});

it('previews of calls to the bundled tools show the URL of a push, and require another approval if the URL has changed', async () => {
  git('init', '-q', '-b', 'main');
  git('remote', 'add', 'origin', 'https://ada:secret@git.example.org/ada/project.git');
  const pending = await pendingOf('git_push', {});
  expect(pending.preview).toMatchObject({
    recipients: ['origin (https://git.example.org/ada/project.git)'],
  });
  await executor.approve(pending);
  git('remote', 'set-url', '--push', 'origin', 'https://git.evil.example/project.git');
  expect(await executor.execute(call('git_push', {}))).toMatchObject({
    status: 'approval_required',
    pending: { preview: { recipients: ['origin (https://git.evil.example/project.git)'] } },
  });
});

it('previews of calls to the bundled tools require another approval if the file has changed since the first approval', async () => {
  writeFileSync(join(root, 'a.txt'), 'one\n');
  const edit = { path: 'a.txt', find: 'one', replace: 'two' };
  await executor.approve(await pendingOf('edit_file', edit));
  writeFileSync(join(root, 'a.txt'), 'one\nsecret plan\n');
  const again = await executor.execute(call('edit_file', edit));
  expect(again).toMatchObject({
    status: 'approval_required',
    pending: { preview: { diff: expect.stringContaining(' secret plan') } },
  });
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\nsecret plan\n');
  const { pending } = again as { readonly pending: PendingApproval };
  await executor.approve(pending);
  expect(await executor.execute(call('edit_file', edit))).toMatchObject({ status: 'ok' });
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('two\nsecret plan\n');
});
