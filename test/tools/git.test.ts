import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { DangerLevel } from '../../src/index.js';
import { entryOf } from '../../src/tool/tool-definition.js';
import { findDefinitions } from '../../src/tool/find-definitions.js';
import { createGitTools, GitBlame, GitBranches, GitCommit, GitDiff, GitLog, GitPush, GitRepository, GitShow, GitStatus, GitSwitch } from '../../tools/git/index.js';
import { DEFAULT_ENVIRONMENT, ProgramWall } from '../../tools/walls/program-wall.js';

const IDENTITY = { GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.org', GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.org' };

let template: string;
let outside: string;
let root: string;
let repository: GitRepository;

/** A repository of two commits, made once and copied for every test. */
beforeAll(async () => {
  template = await realpath(await mkdtemp(join(tmpdir(), 'tooldex-')));
  const inTemplate = (...argv: string[]) => execFileSync('git', argv, { cwd: template, env: { ...process.env, ...IDENTITY, HOME: template }, stdio: 'ignore' });
  inTemplate('init', '--quiet', '--initial-branch=main');
  await writeFile(join(template, 'a.txt'), 'one\ntwo\n');
  await writeFile(join(template, 'b c.txt'), 'x\n');
  inTemplate('add', '.');
  inTemplate('commit', '--quiet', '-m', 'First\n\nBody of it');
  await writeFile(join(template, 'a.txt'), 'one\nTWO\n');
  inTemplate('commit', '--quiet', '-am', 'Second');
});

afterAll(() => rm(template, { recursive: true, force: true }));

beforeEach(async () => {
  outside = await realpath(await mkdtemp(join(tmpdir(), 'tooldex-')));
  root = join(outside, 'work');
  await cp(template, root, { recursive: true, preserveTimestamps: true });
  git('update-index', '--refresh');
  vi.stubEnv('HOME', outside); // No settings of whoever runs the tests.
  for (const [name, value] of Object.entries(IDENTITY)) vi.stubEnv(name, value);
  repository = new GitRepository(new ProgramWall({ root, env: [...DEFAULT_ENVIRONMENT, ...Object.keys(IDENTITY)] }));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(outside, { recursive: true, force: true });
});

const git = (...argv: string[]) => execFileSync('git', argv, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const put = (path: string, text: string) => writeFile(join(root, path), text);
const marker = () => existsSync(join(outside, 'MARKER')) || existsSync(join(root, 'MARKER'));

const status = (input = {}) => new GitStatus(repository).execute({ untracked: true, ...input }, {});
const diff = (input = {}) => new GitDiff(repository).execute({ staged: false, paths: [], ...input }, {});
const log = (input = {}) => new GitLog(repository).execute({ revision: 'HEAD', paths: [], maxCount: 20, skip: 0, ...input }, {});
const show = (input = {}) => new GitShow(repository).execute({ revision: 'HEAD', paths: [], ...input }, {});
const blame = (input = {}) => new GitBlame(repository).execute({ path: 'a.txt', revision: 'HEAD', startLine: 1, lineCount: 100, ...input }, {});
const branches = (input = {}) => new GitBranches(repository).execute({ remote: false, ...input }, {});
const change = (input: { branch: string; create?: boolean; startPoint?: string }) => new GitSwitch(repository).execute({ create: false, ...input }, {});
const commit = (input: { message: string; paths?: string[] }) => new GitCommit(repository).execute({ paths: [], ...input }, {});
const push = (input = {}) => new GitPush(repository).execute({ remote: 'origin', force: false, setUpstream: false, ...input }, {});

const READS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['git_status', () => status()],
  ['git_diff', () => diff()],
  ['git_diff of what is staged', () => diff({ staged: true })],
  ['git_diff with a revision', () => diff({ revision: 'HEAD~1' })],
  ['git_log', () => log()],
  ['git_show', () => show()],
  ['git_blame', () => blame()],
  ['git_branches', () => branches({ remote: true })],
];

/** One hash over every name, kind, mode, time of change and byte below a folder. */
async function digest(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const entry of (await readdir(folder, { recursive: true, withFileTypes: true })).sort((a, b) => (join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1))) {
    const path = join(entry.parentPath, entry.name);
    hash.update(path);
    if (entry.isSymbolicLink()) hash.update(await readlink(path));
    else hash.update(String((await stat(path)).mode)).update(String((await stat(path)).mtimeMs));
    if (entry.isFile()) hash.update(await readFile(path));
  }
  return hash.digest('hex');
}

describe('reading git tools', () => {
  it.each(READS)('%s changes not a byte of the root, .git included', async (_name, read) => {
    await put('a.txt', 'changed\n');
    await put('new.txt', 'new\n');
    git('add', 'new.txt');
    // A file of the same content and another time makes git want to refresh its index.
    await utimes(join(root, 'b c.txt'), new Date(1), new Date(1));
    const before = await digest(root);
    expect(await read()).not.toMatchObject({ status: 'error' });
    expect(await digest(root)).toBe(before);
  });

  it.each(READS)('%s starts no program of a hostile configuration', async (_name, read) => {
    const evil = join(outside, 'evil.sh');
    await writeFile(evil, `#!/bin/sh\ntouch '${join(outside, 'MARKER')}'\ncat\n`);
    await chmod(evil, 0o755);
    const hooks = ['pre-commit', 'post-checkout', 'post-index-change', 'reference-transaction', 'fsmonitor-watchman'];
    for (const hook of hooks) await writeFile(join(root, '.git', 'hooks', hook), `#!/bin/sh\n${evil}\n`, { mode: 0o755 });
    await put('.gitattributes', '* filter=evil diff=evil merge=evil\n');
    await put('a.txt', 'changed\n');
    for (const key of ['core.fsmonitor', 'core.pager', 'pager.log', 'core.editor', 'core.sshCommand', 'core.askPass', 'diff.external', 'diff.evil.command', 'diff.evil.textconv', 'filter.evil.clean', 'filter.evil.smudge', 'filter.evil.process', 'filter.e=v.clean', 'gpg.program', 'credential.helper', 'core.gitProxy', 'interactive.diffFilter']) git('config', key, evil);
    git('config', 'core.hooksPath', join(root, '.git', 'hooks'));
    for (const alias of ['status', 'diff', 'log', 'show', 'blame', 'rev-parse', 'x']) git('config', `alias.${alias}`, `!${evil}`);
    git('config', 'log.showSignature', 'true');
    git('config', 'filter.evil.required', 'true');
    await rm(join(outside, 'MARKER'), { force: true }); // `git config` itself starts nothing, but let nothing be inherited.
    expect(await read()).not.toMatchObject({ status: 'error' });
    expect(marker()).toBe(false);
  });

  it.each(READS)('%s starts no program of a hostile submodule', async (_name, read) => {
    const sub = join(root, 'sub');
    await mkdir(sub);
    const inSub = (...argv: string[]) => execFileSync('git', argv, { cwd: sub, stdio: 'ignore' });
    inSub('init', '--quiet');
    await put('sub/f', 'f\n');
    inSub('add', '.');
    inSub('commit', '--quiet', '-m', 'sub');
    git('-c', 'advice.addEmbeddedRepo=false', 'add', 'sub');
    git('commit', '--quiet', '-m', 'with sub');
    await hostileSubmodule(sub, inSub);
    git('config', 'diff.submodule', 'diff');
    git('config', 'status.submoduleSummary', 'true');
    expect(await read()).not.toMatchObject({ status: 'error' });
    expect(marker()).toBe(false);
  });

  it.each(READS)('%s fetches nothing for a partial clone', async (_name, read) => {
    for (const [key, value] of [['core.repositoryformatversion', '1'], ['extensions.partialClone', 'evil'], ['remote.evil.url', `ext::sh -c touch% ${join(outside, 'MARKER')}`], ['remote.evil.promisor', 'true'], ['remote.evil.uploadpack', `touch ${join(outside, 'MARKER')};`], ['protocol.ext.allow', 'always']] as const) git('config', key, value);
    const blob = git('rev-parse', 'HEAD:a.txt').trim();
    await rm(join(root, '.git', 'objects', blob.slice(0, 2), blob.slice(2)));
    for (const url of [`ext::sh -c touch% ${join(outside, 'MARKER')}`, outside, `ssh://x/y`]) {
      git('config', 'remote.evil.url', url);
      await read();
    }
    expect(marker()).toBe(false);
  });

  it.each([
    ['a repository above the root', async () => rm(join(root, '.git'), { recursive: true }).then(() => void execFileSync('git', ['init', '--quiet'], { cwd: outside }))],
    ['no repository', async () => rm(join(root, '.git'), { recursive: true })],
    ['a work tree elsewhere', async () => void git('config', 'core.worktree', outside)],
    ['a .git file that leads out', async () => elsewhere().then((folder) => put('.git', `gitdir: ${folder}\n`))],
    ['a .git link that leads out', async () => elsewhere().then((folder) => symlink(folder, join(root, '.git')))],
    ['a bare repository', async () => void git('config', 'core.bare', 'true')],
  ])('refuse %s', async (_case, arrange) => {
    await arrange();
    for (const [, read] of READS) await expect(read()).rejects.toMatchObject({ code: expect.stringMatching(/^(FORBIDDEN_PATH|EXECUTION_FAILED)$/) });
    await expect(commit({ message: 'x' })).rejects.toMatchObject({ name: 'ToolError' });
  });

  it('take no settings from the environment of the process', async () => {
    vi.stubEnv('GIT_EXTERNAL_DIFF', `touch ${join(outside, 'MARKER')};`);
    vi.stubEnv('GIT_DIR', outside);
    vi.stubEnv('GIT_PAGER', `touch ${join(outside, 'MARKER')};`);
    await put('a.txt', 'changed\n');
    expect(await diff()).toMatchObject({ identical: false });
    expect(marker()).toBe(false);
  });

  it('stop when the call is aborted', async () => {
    await expect(new GitStatus(repository).execute({ untracked: true }, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORTED' });
  });
});

const elsewhere = async () => {
  execFileSync('git', ['init', '--quiet', 'other'], { cwd: outside });
  await rm(join(root, '.git'), { recursive: true });
  return join(outside, 'other', '.git');
};

async function hostileSubmodule(sub: string, inSub: (...argv: string[]) => unknown): Promise<void> {
  const evil = join(outside, 'evil.sh');
  await writeFile(evil, `#!/bin/sh\ntouch '${join(outside, 'MARKER')}'\ncat\n`, { mode: 0o755 });
  await writeFile(join(sub, '.gitattributes'), '* filter=evil\n');
  await writeFile(join(sub, 'f'), 'g\n');
  for (const key of ['core.fsmonitor', 'filter.evil.clean', 'filter.evil.process']) inSub('config', key, evil);
}

/** What a model, or whoever speaks through it, could write for a revision, branch or remote. */
const HOSTILE_NAMES: readonly (readonly [string, string])[] = [
  ['short option', '-p'],
  ['option that writes a file', '--output=MARKER'],
  ['option that writes a file, abbreviated', '--outp=MARKER'],
  ['option that starts a differ', '--ext-diff'],
  ['option that starts converters', '--textconv'],
  ['option that starts a program on the other side', '--upload-pack=touch MARKER'],
  ['option that receives', '--receive-pack=touch MARKER'],
  ['option that executes', '--exec=touch MARKER'],
  ['configuration', '-ccore.pager=touch MARKER'],
  ['configuration with a blank', '-c core.pager=touch MARKER'],
  ['files compared outside a repository', '--no-index'],
  ['a repository elsewhere', '--git-dir=/tmp'],
  ['end of options, then one', '-- --output=MARKER'],
  ['pager', '-Otouch MARKER'],
  ['contents', '--contents=/etc/passwd'],
  ['revisions from standard input', '--stdin'],
  ['all', '--all'],
  ['range', 'main...main..main'],
  ['a file of a commit', 'HEAD:a.txt'],
  ['search through messages', ':/First'],
  ['search from a commit', 'HEAD^{/(a+)+$}'],
  ['transport that starts programs', 'ext::sh -c touch% MARKER'],
  ['address', 'https://evil.example/x.git'],
  ['address of ssh', 'git@evil.example:x'],
  ['ssh host that is an option', 'ssh://-oProxyCommand=touch MARKER/x'],
  ['substitution', '$(touch MARKER)'],
  ['backticks', '`touch MARKER`'],
  ['separator', 'main;touch MARKER'],
  ['line break', 'main\n--output=MARKER'],
  ['NUL', 'main\0--output=MARKER'],
  ['blank', 'main --output=MARKER'],
  ['refspec', '+main:main'],
  ['deleting refspec', ':main'],
  ['nothing', ''],
  ['far too long', 'a'.repeat(300)],
];

describe('names given to git tools', () => {
  it.each(HOSTILE_NAMES)('refuses as a revision, branch or remote: %s', async (_class, name) => {
    git('remote', 'add', 'origin', outside);
    const before = await digest(root);
    const calls = [() => diff({ revision: name }), () => log({ revision: name }), () => show({ revision: name }), () => blame({ revision: name }), () => change({ branch: name }), () => change({ branch: name, create: true }), () => change({ branch: 'new', create: true, startPoint: name }), () => push({ remote: name }), () => push({ branch: name })];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(await digest(root)).toBe(before);
    expect(marker()).toBe(false);
  });

  it.each(['/etc/passwd', '../work/a.txt', 'x/../../y', '..', '', 'a\0b', '.git/config', '.GIT/config', '\\..\\..\\x', 'a'.repeat(5_000)])('refuses the path %j', async (path) => {
    for (const call of [() => diff({ paths: [path] }), () => log({ paths: [path] }), () => show({ paths: [path] }), () => blame({ path }), () => commit({ message: 'x', paths: ['a.txt', path] })]) {
      await expect(call()).rejects.toMatchObject({ code: 'FORBIDDEN_PATH' });
    }
  });

  it.each(['--output=MARKER', '-p', ':(exclude)a.txt', ':/', '*', '$(touch MARKER)', ':!a.txt'])('takes the path %j literally', async (path) => {
    await put('a.txt', 'changed\n');
    expect(await diff({ paths: [path] })).toMatchObject({ identical: true });
    expect(await log({ paths: [path] })).toMatchObject({ commits: [] });
    expect(await commit({ message: 'x', paths: [path] })).toMatchObject({ status: 'error' });
    expect(marker()).toBe(false);
  });

  it.each(['main', 'HEAD', 'HEAD~1', 'HEAD^', '@', 'HEAD@{0}', 'main^{commit}', 'v1.0'])('accepts the revision %s', async (revision) => {
    git('tag', '-a', 'v1.0', '-m', 'tag');
    expect(await show({ revision })).toMatchObject({ author: 'Ada' });
  });
});

describe('git_status', () => {
  it('tells branch, changes and untracked files, with unusual names', async () => {
    await put('a.txt', 'changed\n');
    git('mv', 'b c.txt', 'ü "d".txt');
    await put('new\nline.txt', 'new\n');
    const files = [
      { path: 'a.txt', staged: null, unstaged: 'modified' },
      { path: 'ü "d".txt', staged: 'renamed', unstaged: null, from: 'b c.txt' },
      { path: 'new\nline.txt', staged: null, unstaged: 'untracked' },
    ];
    expect(await status()).toEqual({ branch: 'main', commit: git('rev-parse', 'HEAD').trim(), upstream: null, ahead: 0, behind: 0, clean: false, files, truncated: false });
    expect(await status({ untracked: false })).toMatchObject({ files: [{ path: 'a.txt' }, { path: 'ü "d".txt' }] });
  });

  it('knows a clean tree, a detached head, conflicts and a repository without commits', async () => {
    expect(await status()).toMatchObject({ clean: true, files: [] });
    git('switch', '--quiet', '-c', 'other', 'HEAD~1');
    await put('a.txt', 'one\nother\n');
    git('commit', '--quiet', '-am', 'Other');
    expect(() => git('merge', 'main')).toThrow();
    expect(await status()).toMatchObject({ files: [{ path: 'a.txt', staged: 'conflicted', unstaged: 'conflicted' }] });
    git('merge', '--abort');
    git('switch', '--quiet', '--detach');
    expect(await status()).toMatchObject({ branch: null });
    await rm(join(root, '.git'), { recursive: true });
    git('init', '--quiet', '--initial-branch=main');
    expect(await status()).toMatchObject({ branch: 'main', commit: null, clean: false });
  });

  it('counts commits ahead of the upstream', async () => {
    await withRemote();
    await push({ setUpstream: true });
    await put('a.txt', 'more\n');
    await commit({ message: 'More' });
    expect(await status()).toMatchObject({ upstream: 'origin/main', ahead: 1, behind: 0 });
  });
});

describe('git_diff', () => {
  it('shows unstaged, staged and committed changes', async () => {
    await put('a.txt', 'staged\n');
    git('add', '.');
    await put('a.txt', 'unstaged\n');
    expect(await diff()).toMatchObject({ diff: expect.stringContaining('-staged\n+unstaged') });
    expect(await diff({ staged: true })).toMatchObject({ diff: expect.stringContaining('+staged') });
    expect(await diff({ revision: 'HEAD~1..HEAD' })).toMatchObject({ diff: expect.stringContaining('-two\n+TWO'), identical: false, truncated: false });
    expect(await diff({ revision: 'HEAD', paths: ['b c.txt'] })).toEqual({ diff: '', identical: true, truncated: false });
  });

  it('says nothing of a file whose time alone changed', async () => {
    await utimes(join(root, 'a.txt'), new Date(1), new Date(1));
    await utimes(join(root, 'b c.txt'), new Date(1), new Date(1));
    expect(await diff()).toEqual({ diff: '', identical: true, truncated: false });
    await put('a.txt', 'changed\n');
    expect(await diff()).toMatchObject({ identical: false, diff: expect.not.stringContaining('b c.txt') });
  });

  it('cuts a long diff and says so', async () => {
    await put('a.txt', 'line of text\n'.repeat(40_000));
    expect(await diff()).toMatchObject({ truncated: true });
  });

  it('fails with what git said when the revision is unknown, without places of the machine', async () => {
    const answer = await diff({ revision: 'nowhere' });
    expect(answer).toMatchObject({ status: 'error', message: expect.stringContaining('nowhere') });
    expect(JSON.stringify(answer)).not.toContain(outside);
  });
});

describe('git_log', () => {
  it('lists commits, newest first, and says when there are more', async () => {
    expect(await log()).toMatchObject({ truncated: false, commits: [{ subject: 'Second', author: 'Ada' }, { subject: 'First', parents: [] }] });
    expect(await log({ maxCount: 1 })).toMatchObject({ truncated: true, commits: [{ subject: 'Second' }] });
    expect(await log({ maxCount: 1, skip: 1 })).toMatchObject({ truncated: false, commits: [{ subject: 'First' }] });
    expect(await log({ revision: 'HEAD~1..HEAD' })).toMatchObject({ commits: [{ subject: 'Second' }] });
    expect(await log({ paths: ['b c.txt'] })).toMatchObject({ commits: [{ subject: 'First' }] });
  });

  it('fails in a repository without commits', async () => {
    await rm(join(root, '.git'), { recursive: true });
    git('init', '--quiet');
    expect(await log()).toMatchObject({ status: 'error' });
  });
});

describe('git_show', () => {
  it('shows one commit with its whole message and changes', async () => {
    expect(await show({ revision: 'HEAD~1' })).toMatchObject({ message: 'First\n\nBody of it', author: 'Ada', diff: expect.stringContaining('+two'), truncated: false });
    expect(await show({ revision: 'HEAD~1', paths: ['b c.txt'] })).toMatchObject({ diff: expect.not.stringContaining('two') });
  });

  it('fails for a commit that does not exist', async () => {
    expect(await show({ revision: 'HEAD~9' })).toMatchObject({ status: 'error', message: expect.stringContaining('HEAD~9') });
  });
});

describe('git_blame', () => {
  it('tells which commit wrote each line', async () => {
    expect(await blame()).toMatchObject({ lines: [{ line: 1, text: 'one', summary: 'First', author: 'Ada' }, { line: 2, text: 'TWO', summary: 'Second' }] });
    expect(await blame({ startLine: 2, lineCount: 1 })).toMatchObject({ lines: [{ line: 2 }] });
    expect(await blame({ revision: 'HEAD~1', startLine: 2 })).toMatchObject({ lines: [{ text: 'two' }] });
  });

  it('fails beyond the end, for unknown files and for unknown commits', async () => {
    expect(await blame({ startLine: 99 })).toMatchObject({ status: 'error', message: expect.stringContaining('only 2 lines') });
    expect(await blame({ path: 'none.txt' })).toMatchObject({ status: 'error' });
    expect(await blame({ revision: 'nowhere' })).toMatchObject({ status: 'error' });
  });

  it('does not follow a link out of the root', async () => {
    await writeFile(join(outside, 'secret'), 'secret\n');
    await symlink(join(outside, 'secret'), join(root, 'link'));
    git('add', 'link');
    git('commit', '--quiet', '-m', 'link');
    expect(JSON.stringify(await blame({ path: 'link' }))).not.toContain('"secret\\n');
  });
});

describe('git_branches', () => {
  it('lists branches and marks the current one', async () => {
    git('branch', 'old/x', 'HEAD~1');
    expect(await branches()).toMatchObject({ truncated: false, branches: [{ name: 'main', current: true, remote: false, upstream: null }, { name: 'old/x', current: false }] });
  });

  it('lists branches of remotes when asked', async () => {
    await withRemote();
    await push();
    expect(await branches()).toMatchObject({ branches: [{ name: 'main' }] });
    expect(await branches({ remote: true })).toMatchObject({ branches: expect.arrayContaining([expect.objectContaining({ name: 'origin/main', remote: true })]) });
  });
});

describe('git_switch', () => {
  it('creates branches and switches between them', async () => {
    expect(await change({ branch: 'feature/x', create: true, startPoint: 'HEAD~1' })).toEqual({ branch: 'feature/x', created: true });
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
    expect(await change({ branch: 'main' })).toEqual({ branch: 'main', created: false });
    expect(git('branch', '--show-current').trim()).toBe('main');
  });

  it('refuses unknown branches, existing ones to create, a needless start point, and losing changes', async () => {
    expect(await change({ branch: 'nowhere' })).toMatchObject({ status: 'error' });
    expect(await change({ branch: 'main', create: true })).toMatchObject({ status: 'error' });
    expect(await change({ branch: 'main', startPoint: 'HEAD~1' })).toMatchObject({ status: 'error' });
    git('branch', 'old', 'HEAD~1');
    await put('a.txt', 'precious\n');
    expect(await change({ branch: 'old' })).toMatchObject({ status: 'error' });
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('precious\n');
  });
});

describe('git_commit', () => {
  it('commits everything, new and deleted files included', async () => {
    await put('new.txt', 'new\n');
    await rm(join(root, 'b c.txt'));
    expect(await commit({ message: '# Third\n\n--amend $(touch MARKER)' })).toMatchObject({ subject: '# Third', commit: git('rev-parse', 'HEAD').trim() });
    expect(git('log', '-1', '--format=%B').trim()).toBe('# Third\n\n--amend $(touch MARKER)');
    expect(git('status', '--porcelain')).toBe('');
    expect(marker()).toBe(false);
  });

  it('commits only the given paths and leaves the rest staged as it was', async () => {
    await put('a.txt', 'changed\n');
    await put('b c.txt', 'changed\n');
    git('add', 'a.txt');
    await put('-n', 'an option by name\n');
    expect(await commit({ message: 'Some', paths: ['b c.txt', '-n'] })).toMatchObject({ subject: 'Some' });
    expect(git('show', '--name-only', '--format=').trim().split('\n').sort()).toEqual(['-n', 'b c.txt']);
    expect(git('status', '--porcelain')).toBe('M  a.txt\n');
  });

  it('changes nothing when there is nothing to commit, no text, or a path is unknown', async () => {
    const before = git('rev-parse', 'HEAD');
    expect(await commit({ message: 'Nothing' })).toMatchObject({ status: 'error' });
    await put('a.txt', 'changed\n');
    for (const message of [' \n ', 'a\0b']) expect(await commit({ message })).toMatchObject({ status: 'error' });
    expect(await commit({ message: 'x', paths: ['a.txt', 'none.txt'] })).toMatchObject({ status: 'error' });
    expect(git('rev-parse', 'HEAD')).toBe(before);
    expect(git('status', '--porcelain')).toBe(' M a.txt\n');
  });

  it('commits a folder, and a deletion that is already staged', async () => {
    await mkdir(join(root, 'd', 'e'), { recursive: true });
    await put('d/e/f.txt', 'new\n');
    git('rm', '--quiet', '--cached', 'b c.txt');
    await rm(join(root, 'b c.txt'));
    expect(await commit({ message: 'x', paths: ['./d/', 'b c.txt'] })).toMatchObject({ subject: 'x' });
    expect(git('ls-files').trim().split('\n')).toEqual(['a.txt', 'd/e/f.txt']);
  });

  it('makes no submodule of a repository below the root, and commits no conflict', async () => {
    execFileSync('git', ['init', '--quiet', 'nested'], { cwd: root });
    await put('nested/f', 'f\n');
    execFileSync('git', ['add', '.'], { cwd: join(root, 'nested') });
    execFileSync('git', ['commit', '--quiet', '-m', 'n'], { cwd: join(root, 'nested') });
    expect(await commit({ message: 'x' })).toMatchObject({ status: 'error' });
    git('switch', '--quiet', '-c', 'other', 'HEAD~1');
    await put('a.txt', 'one\nother\n');
    git('commit', '--quiet', '-am', 'Other');
    expect(() => git('merge', 'main')).toThrow();
    expect(await commit({ message: 'x' })).toMatchObject({ status: 'error', message: expect.stringContaining('conflict') });
  });

  it('asks for an identity before it stages anything', async () => {
    await put('a.txt', 'changed\n');
    const anonymous = new GitRepository(new ProgramWall({ root }));
    expect(await new GitCommit(anonymous).execute({ message: 'x', paths: [] }, {})).toMatchObject({ status: 'error', message: expect.stringContaining('user.email') });
    expect(git('status', '--porcelain')).toBe(' M a.txt\n');
  });

  it('runs no hooks, no signing program and no monitor', async () => {
    const evil = `#!/bin/sh\ntouch '${join(outside, 'MARKER')}'\n`;
    for (const hook of ['pre-commit', 'commit-msg', 'prepare-commit-msg', 'post-commit', 'post-index-change', 'reference-transaction', 'post-checkout']) await writeFile(join(root, '.git', 'hooks', hook), evil, { mode: 0o755 });
    await writeFile(join(outside, 'evil.sh'), evil, { mode: 0o755 });
    for (const key of ['core.fsmonitor', 'core.editor', 'gpg.ssh.defaultKeyCommand']) git('config', key, join(outside, 'evil.sh'));
    git('config', 'commit.gpgSign', 'true');
    await rm(join(outside, 'MARKER'), { force: true });
    await put('a.txt', 'changed\n');
    expect(await commit({ message: 'x' })).toMatchObject({ subject: 'x' });
    expect(await change({ branch: 'new', create: true })).toMatchObject({ created: true });
    expect(marker()).toBe(false);
  });

  it.each(['filter.evil.clean', 'filter.evil.process', 'core.sshCommand', 'credential.helper', 'credential.https://x.helper', 'remote.origin.receivepack', 'merge.evil.driver'])('refuses a repository that configures %s itself', async (key) => {
    await put('.gitattributes', '* filter=evil merge=evil\n');
    await put('a.txt', 'changed\n');
    git('config', key, `touch ${join(outside, 'MARKER')}`);
    await expect(commit({ message: 'x' })).rejects.toMatchObject({ code: 'FORBIDDEN_PROGRAM' });
    await expect(change({ branch: 'new', create: true })).rejects.toMatchObject({ code: 'FORBIDDEN_PROGRAM' });
    expect(marker()).toBe(false);
  });

  it('starts no program of a hostile submodule', async () => {
    const sub = join(root, 'sub');
    const inSub = (...argv: string[]) => execFileSync('git', argv, { cwd: sub, stdio: 'ignore' });
    await mkdir(sub);
    inSub('init', '--quiet');
    await put('sub/f', 'f\n');
    inSub('add', '.');
    inSub('commit', '--quiet', '-m', 'sub');
    git('-c', 'advice.addEmbeddedRepo=false', 'add', 'sub');
    await mkdir(join(root, 'folder'));
    git('mv', 'sub', 'folder/sub');
    git('commit', '--quiet', '-m', 'with sub');
    await hostileSubmodule(join(root, 'folder', 'sub'), (...argv) => execFileSync('git', argv, { cwd: join(root, 'folder', 'sub') }));
    await put('folder/b.txt', 'new\n');
    expect(await commit({ message: 'w', paths: ['folder'] })).toMatchObject({ subject: 'w' });
    await put('a.txt', 'changed\n');
    expect(await commit({ message: 'x' })).toMatchObject({ subject: 'x' });
    await put('a.txt', 'changed again\n');
    expect(await commit({ message: 'y', paths: ['a.txt'] })).toMatchObject({ subject: 'y' });
    expect(await change({ branch: 'new', create: true, startPoint: 'HEAD~4' })).toMatchObject({ created: true });
    expect(marker()).toBe(false);
  });
});

async function withRemote(): Promise<string> {
  const remote = join(outside, 'remote.git');
  execFileSync('git', ['init', '--quiet', '--bare', remote]);
  git('remote', 'add', 'origin', remote);
  return remote;
}

describe('git_push', () => {
  const tip = (remote: string, branch: string) => execFileSync('git', ['rev-parse', branch], { cwd: remote, encoding: 'utf8' });

  it('pushes the current or a named branch to a configured remote', async () => {
    const remote = await withRemote();
    expect(await push()).toEqual({ remote: 'origin', branch: 'main', forced: false });
    expect(tip(remote, 'main')).toBe(git('rev-parse', 'main'));
    git('branch', 'feature/x', 'HEAD~1');
    expect(await push({ branch: 'feature/x' })).toMatchObject({ branch: 'feature/x' });
    expect(tip(remote, 'feature/x')).toBe(git('rev-parse', 'HEAD~1'));
  });

  it('overwrites the remote branch only with force', async () => {
    const remote = await withRemote();
    await push();
    git('reset', '--quiet', '--hard', 'HEAD~1');
    await put('a.txt', 'another way\n');
    await commit({ message: 'Another' });
    expect(await push()).toMatchObject({ status: 'error', message: expect.not.stringContaining(root) });
    expect(await push({ force: true })).toMatchObject({ forced: true });
    expect(tip(remote, 'main')).toBe(git('rev-parse', 'main'));
  });

  it('is critical with force and high without', () => {
    const entry = entryOf(findDefinitions(GitPush)[0]!);
    const dangerFor = (force: boolean) => entry.definition.dangerFor?.({ remote: 'origin', force, setUpstream: false });
    expect([entry.dangerLevel, dangerFor(false), dangerFor(true)]).toEqual([DangerLevel.HIGH, DangerLevel.HIGH, DangerLevel.CRITICAL]);
  });

  it('refuses remotes that are not configured, unknown branches and a detached head', async () => {
    expect(await push()).toMatchObject({ status: 'error', message: expect.stringContaining('it has none') });
    await withRemote();
    expect(await push({ remote: 'elsewhere' })).toMatchObject({ status: 'error', message: expect.stringContaining('origin') });
    expect(await push({ branch: 'nowhere' })).toMatchObject({ status: 'error' });
    git('switch', '--quiet', '--detach');
    expect(await push()).toMatchObject({ status: 'error' });
  });

  it.each([
    ['a transport that starts programs', { 'remote.origin.pushurl': 'ext::sh -c touch% MARKER', 'protocol.ext.allow': 'always' }],
    ['an address rewritten to one that starts programs', { 'url.ext::sh -c touch% MARKER .pushInsteadOf': '/', 'protocol.ext.allow': 'always' }],
    ['a program of the repository on the other side', { 'remote.origin.receivepack': 'touch MARKER;' }],
    ['a helper of the remote', { 'remote.origin.vcs': 'evil' }],
    ['a program for ssh', { 'core.sshCommand': 'touch MARKER;', 'remote.origin.pushurl': 'ssh://host/x' }],
    ['an ssh host that is an option', { 'remote.origin.pushurl': 'ssh://-oProxyCommand=touch MARKER/x' }],
  ])('starts nothing through %s', async (_case, settings) => {
    await withRemote();
    for (const [key, value] of Object.entries(settings)) git('config', key, value.replaceAll('MARKER', join(outside, 'MARKER')));
    await push().catch((error: unknown) => expect(error).toMatchObject({ code: 'FORBIDDEN_PROGRAM' }));
    expect(marker()).toBe(false);
  });

  it('runs no hook of the repository', async () => {
    await withRemote();
    await writeFile(join(root, '.git', 'hooks', 'pre-push'), `#!/bin/sh\ntouch '${join(outside, 'MARKER')}'\n`, { mode: 0o755 });
    expect(await push()).toMatchObject({ branch: 'main' });
    expect(marker()).toBe(false);
  });

  it('shows no password of an address', async () => {
    git('remote', 'add', 'origin', 'http://user:hunter2@127.0.0.1:1/x.git');
    expect(JSON.stringify(await push())).not.toContain('hunter2');
  });
});

describe('createGitTools', () => {
  it('returns every tool once, in a fixed order, with honest axes', () => {
    const entries = createGitTools(new ProgramWall({ root })).flatMap((each) => findDefinitions(each)).map(entryOf);
    expect(entries.map(({ name }) => name)).toEqual(['git_status', 'git_diff', 'git_log', 'git_show', 'git_blame', 'git_branches', 'git_switch', 'git_commit', 'git_push']);
    expect(entries.map(({ accessMode }) => accessMode)).toEqual([...Array.from({ length: 6 }, () => 'readonly'), 'write', 'write', 'write']);
    for (const entry of entries) expect(entry.category).toBe('git');
  });
});
