import { execFileSync } from 'node:child_process';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  blame,
  branches,
  change,
  commit,
  diff,
  git,
  log,
  marker,
  outside,
  push,
  put,
  root,
  show,
  status,
  useRepository,
  withRemote,
} from './git-fixture.js';

useRepository();

it('git_status reports the branch, changes, and untracked files, even with unusual names', async () => {
  await put('a.txt', 'changed\n');
  git('mv', 'b c.txt', 'ü "d".txt');
  await put('new\nline.txt', 'new\n');
  const files = [
    { path: 'a.txt', staged: null, unstaged: 'modified' },
    { path: 'ü "d".txt', staged: 'renamed', unstaged: null, from: 'b c.txt' },
    { path: 'new\nline.txt', staged: null, unstaged: 'untracked' },
  ];
  expect(await status()).toEqual({
    branch: 'main',
    commit: git('rev-parse', 'HEAD').trim(),
    upstream: null,
    ahead: 0,
    behind: 0,
    clean: false,
    files,
    truncated: false,
  });
  expect(await status({ untracked: false })).toMatchObject({
    files: [{ path: 'a.txt' }, { path: 'ü "d".txt' }],
  });
});

it('git_diff shows unstaged, staged, and committed changes', async () => {
  await put('a.txt', 'staged\n');
  git('add', '.');
  await put('a.txt', 'unstaged\n');
  expect(await diff()).toMatchObject({ diff: expect.stringContaining('-staged\n+unstaged') });
  expect(await diff({ staged: true })).toMatchObject({
    diff: expect.stringContaining('+staged'),
  });
  expect(await diff({ revision: 'HEAD~1..HEAD' })).toMatchObject({
    diff: expect.stringContaining('-two\n+TWO'),
    identical: false,
    truncated: false,
  });
  expect(await diff({ revision: 'HEAD', paths: ['b c.txt'] })).toEqual({
    diff: '',
    identical: true,
    truncated: false,
  });
});

it('git_diff truncates a long diff and reports truncation', async () => {
  await put('a.txt', 'line of text\n'.repeat(40_000));
  expect(await diff()).toMatchObject({ truncated: true });
});

it("git_diff fails for an unknown revision with git's message, but without local paths", async () => {
  const answer = await diff({ revision: 'nowhere' });
  expect(answer).toMatchObject({ status: 'error', message: expect.stringContaining('nowhere') });
  expect(JSON.stringify(answer)).not.toContain(outside);
});

it('git_log lists commits, newest first, and reports if there are more', async () => {
  expect(await log()).toMatchObject({
    truncated: false,
    commits: [
      { subject: 'Second', author: 'Ada' },
      { subject: 'First', parents: [] },
    ],
  });
  expect(await log({ maxCount: 1 })).toMatchObject({
    truncated: true,
    commits: [{ subject: 'Second' }],
  });
  expect(await log({ maxCount: 1, skip: 1 })).toMatchObject({
    truncated: false,
    commits: [{ subject: 'First' }],
  });
  expect(await log({ revision: 'HEAD~1..HEAD' })).toMatchObject({
    commits: [{ subject: 'Second' }],
  });
  expect(await log({ paths: ['b c.txt'] })).toMatchObject({ commits: [{ subject: 'First' }] });
});

it('git_show shows one commit with its whole message and changes', async () => {
  expect(await show({ revision: 'HEAD~1' })).toMatchObject({
    message: 'First\n\nBody of it',
    author: 'Ada',
    diff: expect.stringContaining('+two'),
    truncated: false,
  });
  expect(await show({ revision: 'HEAD~1', paths: ['b c.txt'] })).toMatchObject({
    diff: expect.not.stringContaining('two'),
  });
});

it('git_blame returns the commit of each line', async () => {
  expect(await blame()).toMatchObject({
    lines: [
      { line: 1, text: 'one', summary: 'First', author: 'Ada' },
      { line: 2, text: 'TWO', summary: 'Second' },
    ],
  });
  expect(await blame({ startLine: 2, lineCount: 1 })).toMatchObject({ lines: [{ line: 2 }] });
  expect(await blame({ revision: 'HEAD~1', startLine: 2 })).toMatchObject({
    lines: [{ text: 'two' }],
  });
});

it.each(['blame.ignoreRevsFile', 'mailmap.file'])(
  "git_blame doesn't read a file outside the root that the repository sets as %s",
  async (setting) => {
    const email = git('log', '-1', '--format=%ae').toString().trim();
    await writeFile(join(outside, 'config'), `LEAKED <${email}>\n`);
    git('config', setting, join(outside, 'config'));
    const blamed = await blame();
    expect(blamed).toMatchObject({ lines: [{ author: 'Ada' }, {}] });
    expect(JSON.stringify(blamed)).not.toContain('LEAKED');
  },
);

it("git_blame doesn't follow a link out of the root", async () => {
  await writeFile(join(outside, 'secret'), 'secret\n');
  await symlink(join(outside, 'secret'), join(root, 'link'));
  git('add', 'link');
  git('commit', '--quiet', '-m', 'link');
  expect(JSON.stringify(await blame({ path: 'link' }))).not.toContain('"secret\\n');
});

it('git_branches lists branches and marks the current one', async () => {
  git('branch', 'old/x', 'HEAD~1');
  expect(await branches()).toMatchObject({
    truncated: false,
    branches: [
      { name: 'main', current: true, remote: false, upstream: null },
      { name: 'old/x', current: false },
    ],
  });
});

it('git_switch creates branches and switches between them', async () => {
  expect(await change({ branch: 'feature/x', create: true, startPoint: 'HEAD~1' })).toEqual({
    branch: 'feature/x',
    created: true,
  });
  expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
  expect(await change({ branch: 'main' })).toEqual({ branch: 'main', created: false });
  expect(git('branch', '--show-current').trim()).toBe('main');
});

it('git_switch refuses to discard changes', async () => {
  git('branch', 'old', 'HEAD~1');
  await put('a.txt', 'precious\n');
  expect(await change({ branch: 'old' })).toMatchObject({ status: 'error' });
  expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('precious\n');
});

it('git_commit commits all changes, including new and deleted files', async () => {
  await put('new.txt', 'new\n');
  await rm(join(root, 'b c.txt'));
  expect(await commit({ message: '# Third\n\n--amend $(touch MARKER)' })).toMatchObject({
    subject: '# Third',
    commit: git('rev-parse', 'HEAD').trim(),
  });
  expect(git('log', '-1', '--format=%B').trim()).toBe('# Third\n\n--amend $(touch MARKER)');
  expect(git('status', '--porcelain')).toBe('');
  expect(marker()).toBe(false);
});

it('git_commit commits only the given paths and leaves other staged changes staged', async () => {
  await put('a.txt', 'changed\n');
  await put('b c.txt', 'changed\n');
  git('add', 'a.txt');
  await put('-n', 'an option by name\n');
  expect(await commit({ message: 'Some', paths: ['b c.txt', '-n'] })).toMatchObject({
    subject: 'Some',
  });
  expect(git('show', '--name-only', '--format=').trim().split('\n').sort()).toEqual([
    '-n',
    'b c.txt',
  ]);
  expect(git('status', '--porcelain')).toBe('M  a.txt\n');
});

it('git_commit fails and changes nothing without changes, without a message, or for an unknown path', async () => {
  const before = git('rev-parse', 'HEAD');
  expect(await commit({ message: 'Nothing' })).toMatchObject({ status: 'error' });
  await put('a.txt', 'changed\n');
  for (const message of [' \n ', 'a\0b'])
    expect(await commit({ message })).toMatchObject({ status: 'error' });
  expect(await commit({ message: 'x', paths: ['a.txt', 'none.txt'] })).toMatchObject({
    status: 'error',
  });
  expect(git('rev-parse', 'HEAD')).toBe(before);
  expect(git('status', '--porcelain')).toBe(' M a.txt\n');
});

it("git_commit doesn't commit unresolved conflicts", async () => {
  git('switch', '--quiet', '-c', 'other', 'HEAD~1');
  await put('a.txt', 'one\nother\n');
  git('commit', '--quiet', '-am', 'Other');
  expect(() => git('merge', 'main')).toThrow();
  expect(await commit({ message: 'x' })).toMatchObject({
    status: 'error',
    message: expect.stringContaining('conflict'),
  });
});

const tip = (remote: string, branch: string) =>
  execFileSync('git', ['rev-parse', branch], { cwd: remote, encoding: 'utf8' });

it('git_push pushes the current branch or the given branch to a configured remote', async () => {
  const remote = await withRemote();
  expect(await push()).toEqual({ remote: 'origin', branch: 'main', forced: false });
  expect(tip(remote, 'main')).toBe(git('rev-parse', 'main'));
  git('branch', 'feature/x', 'HEAD~1');
  expect(await push({ branch: 'feature/x' })).toMatchObject({ branch: 'feature/x' });
  expect(tip(remote, 'feature/x')).toBe(git('rev-parse', 'HEAD~1'));
});

it('git_push overwrites the remote branch only with force', async () => {
  const remote = await withRemote();
  await push();
  git('reset', '--quiet', '--hard', 'HEAD~1');
  await put('a.txt', 'another way\n');
  await commit({ message: 'Another' });
  expect(await push()).toMatchObject({
    status: 'error',
    message: expect.not.stringContaining(outside),
  });
  expect(await push({ force: true })).toMatchObject({ forced: true });
  expect(tip(remote, 'main')).toBe(git('rev-parse', 'main'));
});

it('git_push refuses unconfigured remotes, unknown branches, and a detached HEAD', async () => {
  expect(await push()).toMatchObject({
    status: 'error',
    message: expect.stringContaining('Its remotes: none'),
  });
  await withRemote();
  expect(await push({ remote: 'elsewhere' })).toMatchObject({
    status: 'error',
    message: expect.stringContaining('origin'),
  });
  expect(await push({ branch: 'nowhere' })).toMatchObject({ status: 'error' });
  git('switch', '--quiet', '--detach');
  expect(await push()).toMatchObject({ status: 'error' });
});

it("git_push doesn't show the password in a remote's URL", async () => {
  git('remote', 'add', 'origin', 'git://user:hunter2@127.0.0.1:1/x.git');
  for (const scheme of ['git', 'https']) {
    git('remote', 'set-url', 'origin', `${scheme}://user:hunter2@127.0.0.1:1/x.git`);
    const answer = await push();
    expect(answer).toMatchObject({
      status: 'error',
      message: expect.stringContaining('127.0.0.1'),
    });
    expect(JSON.stringify(answer)).not.toContain('hunter2');
  }
});
