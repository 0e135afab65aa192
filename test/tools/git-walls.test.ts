import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { GitStatus } from '../../tools/git/index.js';
import {
  blame,
  branches,
  change,
  commit,
  configure,
  diff,
  git,
  hostileSubmodule,
  log,
  marker,
  outside,
  push,
  put,
  repository,
  root,
  show,
  status,
  useRepository,
  withRemote,
} from './git-fixture.js';

useRepository();

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

/** Runs all readonly tools, and checks that they succeed and start none of the hostile programs. */
async function expectNoPrograms(): Promise<void> {
  for (const [name, read] of READS) {
    expect(await read(), name).not.toMatchObject({ status: 'error' });
    expect(marker(), name).toBe(false);
  }
}

/** Returns one hash of every name, kind, mode, modification time, and byte below a folder. */
async function digest(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const entry of (await readdir(folder, { recursive: true, withFileTypes: true })).sort(
    (a, b) => (join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1),
  )) {
    const path = join(entry.parentPath, entry.name);
    hash.update(path);
    if (entry.isSymbolicLink()) hash.update(await readlink(path));
    else hash.update(String((await stat(path)).mode)).update(String((await stat(path)).mtimeMs));
    if (entry.isFile()) hash.update(await readFile(path));
  }
  return hash.digest('hex');
}

it("readonly git tools don't change a byte below the root, including .git", async () => {
  await put('a.txt', 'changed\n');
  await put('new.txt', 'new\n');
  git('add', 'new.txt');
  // If a file has the same content but a new modification time, git wants to refresh its index.
  await utimes(join(root, 'b c.txt'), new Date(1), new Date(1));
  const before = await digest(root);
  for (const [name, read] of READS) {
    expect(await read(), name).not.toMatchObject({ status: 'error' });
    expect(await digest(root), name).toBe(before);
  }
});

it("readonly git tools don't start programs from a hostile repository configuration", async () => {
  const evil = join(outside, 'evil.sh');
  await writeFile(evil, `#!/bin/sh\ntouch '${join(outside, 'MARKER')}'\ncat\n`);
  await chmod(evil, 0o755);
  const hooks = [
    'pre-commit',
    'post-checkout',
    'post-index-change',
    'reference-transaction',
    'fsmonitor-watchman',
  ];
  for (const hook of hooks)
    await writeFile(join(root, '.git', 'hooks', hook), `#!/bin/sh\n${evil}\n`, { mode: 0o755 });
  await put('.gitattributes', '* filter=evil diff=evil merge=evil\n');
  await put('a.txt', 'changed\n');
  const keys = [
    'core.fsmonitor',
    'core.pager',
    'pager.log',
    'core.editor',
    'core.sshCommand',
    'core.askPass',
    'diff.external',
    'diff.evil.command',
    'diff.evil.textconv',
    'filter.evil.clean',
    'filter.evil.smudge',
    'filter.evil.process',
    'filter.e=v.clean',
    'gpg.program',
    'credential.helper',
    'core.gitProxy',
    'interactive.diffFilter',
  ];
  const aliases = ['status', 'diff', 'log', 'show', 'blame', 'rev-parse', 'x'];
  await configure({
    ...Object.fromEntries(keys.map((key) => [key, evil])),
    ...Object.fromEntries(aliases.map((alias) => [`alias.${alias}`, `!${evil}`])),
    'core.hooksPath': join(root, '.git', 'hooks'),
    'log.showSignature': 'true',
    'filter.evil.required': 'true',
  });
  expect(git('config', 'filter.e=v.clean').trim()).toBe(evil);
  await expectNoPrograms();
});

it("readonly git tools don't start programs from a hostile submodule", async () => {
  await hostileSubmodule('sub');
  git('config', 'diff.submodule', 'diff');
  git('config', 'status.submoduleSummary', 'true');
  await expectNoPrograms();
});

it("readonly git tools don't fetch missing objects in a partial clone", async () => {
  await configure({
    'core.repositoryformatversion': '1',
    'extensions.partialClone': 'evil',
    'remote.evil.promisor': 'true',
    'remote.evil.uploadpack': `touch ${join(outside, 'MARKER')};`,
    'protocol.ext.allow': 'always',
  });
  const blob = git('rev-parse', 'HEAD:a.txt').trim();
  await rm(join(root, '.git', 'objects', blob.slice(0, 2), blob.slice(2)));
  for (const url of [`ext::sh -c touch% ${join(outside, 'MARKER')}`, outside, `ssh://x/y`]) {
    git('config', 'remote.evil.url', url);
    for (const [name, read] of READS) {
      await read();
      expect(marker(), `${name} from ${url}`).toBe(false);
    }
  }
});

it.each([
  [
    'a repository above the root',
    async () =>
      rm(join(root, '.git'), { recursive: true }).then(
        () => void execFileSync('git', ['init', '--quiet'], { cwd: outside }),
      ),
  ],
  ['a folder without a repository', async () => rm(join(root, '.git'), { recursive: true })],
  ['a work tree outside the root', async () => void git('config', 'core.worktree', outside)],
  [
    'a folder with a .git file that points outside the root',
    async () => elsewhere().then((folder) => put('.git', `gitdir: ${folder}\n`)),
  ],
  [
    'a folder with a .git link that points outside the root',
    async () => elsewhere().then((folder) => symlink(folder, join(root, '.git'))),
  ],
  ['a bare repository', async () => void git('config', 'core.bare', 'true')],
])('readonly git tools refuse to run in %s', async (_case, arrange) => {
  await arrange();
  for (const [, read] of READS)
    await expect(read()).rejects.toMatchObject({
      code: expect.stringMatching(/^(FORBIDDEN_PATH|EXECUTION_FAILED)$/),
    });
  await expect(commit({ message: 'x' })).rejects.toMatchObject({ name: 'ToolError' });
});

it("readonly git tools ignore git settings in the process's environment", async () => {
  vi.stubEnv('GIT_EXTERNAL_DIFF', `touch ${join(outside, 'MARKER')};`);
  vi.stubEnv('GIT_DIR', outside);
  vi.stubEnv('GIT_PAGER', `touch ${join(outside, 'MARKER')};`);
  await put('a.txt', 'changed\n');
  expect(await diff()).toMatchObject({ identical: false });
  expect(marker()).toBe(false);
});

it('readonly git tools stop when the call is aborted', async () => {
  await expect(
    new GitStatus(repository).execute({ untracked: true }, { signal: AbortSignal.abort() }),
  ).rejects.toMatchObject({ code: 'ABORTED' });
});

const elsewhere = async () => {
  execFileSync('git', ['init', '--quiet', 'other'], { cwd: outside });
  await rm(join(root, '.git'), { recursive: true });
  return join(outside, 'other', '.git');
};

/** Names that a model, or an attacker through the model, could pass as a revision, branch, or remote. */
const HOSTILE_NAMES = [
  '-p',
  '--output=MARKER',
  '--outp=MARKER',
  '--ext-diff',
  '--textconv',
  '--upload-pack=touch MARKER',
  '--receive-pack=touch MARKER',
  '--exec=touch MARKER',
  '-ccore.pager=touch MARKER',
  '-c core.pager=touch MARKER',
  '--no-index',
  '--git-dir=/tmp',
  '-- --output=MARKER',
  '-Otouch MARKER',
  '--contents=/etc/passwd',
  '--stdin',
  '--all',
  'main...main..main',
  'HEAD:a.txt',
  ':/First',
  'HEAD^{/(a+)+$}',
  'ext::sh -c touch% MARKER',
  'https://evil.example/x.git',
  'git@evil.example:x',
  'ssh://-oProxyCommand=touch MARKER/x',
  '$(touch MARKER)',
  '`touch MARKER`',
  'main;touch MARKER',
  'main\n--output=MARKER',
  'main\0--output=MARKER',
  'main --output=MARKER',
  '+main:main',
  ':main',
  '',
  'a'.repeat(300),
];

it('git tools refuse hostile names for a revision, branch, or remote', async () => {
  git('remote', 'add', 'origin', outside);
  const before = await digest(root);
  for (const name of HOSTILE_NAMES) {
    const calls = [
      () => diff({ revision: name }),
      () => log({ revision: name }),
      () => show({ revision: name }),
      () => blame({ revision: name }),
      () => change({ branch: name }),
      () => change({ branch: name, create: true }),
      () => change({ branch: 'new', create: true, startPoint: name }),
      () => push({ remote: name }),
      () => push({ branch: name }),
    ];
    for (const call of calls)
      await expect(call(), name).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(marker(), name).toBe(false);
  }
  expect(await digest(root)).toBe(before);
});

it('git tools refuse hostile paths', async () => {
  for (const path of [
    '/etc/passwd',
    '../work/a.txt',
    'x/../../y',
    '..',
    '',
    'a\0b',
    '.git/config',
    '.GIT/config',
    '\\..\\..\\x',
    'a'.repeat(5_000),
  ]) {
    for (const call of [
      () => diff({ paths: [path] }),
      () => log({ paths: [path] }),
      () => show({ paths: [path] }),
      () => blame({ path }),
      () => commit({ message: 'x', paths: ['a.txt', path] }),
    ]) {
      await expect(call(), path).rejects.toMatchObject({ code: 'FORBIDDEN_PATH' });
    }
  }
});

it.each(['--output=MARKER', '-p', ':(exclude)a.txt', ':/', '*', '$(touch MARKER)', ':!a.txt'])(
  'git tools treat the path %j literally',
  async (path) => {
    await put('a.txt', 'changed\n');
    expect(await diff({ paths: [path] })).toMatchObject({ identical: true });
    expect(await log({ paths: [path] })).toMatchObject({ commits: [] });
    expect(await commit({ message: 'x', paths: [path] })).toMatchObject({ status: 'error' });
    expect(marker()).toBe(false);
  },
);

const SECRET_PATHS = [
  '.env',
  'server.key',
  'sub/.ENV',
  '.npmrc',
  '.aws/credentials',
  'sub/.docker/config.json',
];

const putAll = async (text: string) => {
  for (const path of SECRET_PATHS) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await put(path, `${text}\n`);
  }
};

it('secret files are refused as a path by every git tool', async () => {
  await putAll('hunter1');
  git('add', '.');
  git('commit', '--quiet', '-m', 'Secrets');
  await putAll('hunter2');
  const before = await digest(root);
  for (const path of SECRET_PATHS) {
    for (const call of [
      () => diff({ paths: [path] }),
      () => show({ paths: ['a.txt', path] }),
      () => blame({ path }),
      () => log({ paths: [path] }),
      () => commit({ message: 'x', paths: [path] }),
    ]) {
      await expect(call(), path).rejects.toMatchObject({ code: 'FORBIDDEN_PATH' });
    }
  }
  expect(await digest(root)).toBe(before);
});

it('secret files are the only files omitted from the output of git tools', async () => {
  await putAll('hunter1');
  await put('sub/open.txt', 'first\n');
  git('add', '.');
  git('commit', '--quiet', '-m', 'Secrets');
  await putAll('hunter2');
  await put('sub/open.txt', 'second\n');
  const blob = git('rev-parse', 'HEAD:.env').trim();
  const folder = git('rev-parse', 'HEAD:.aws').trim();
  const shown = [
    await diff(),
    await diff({ revision: 'HEAD~1' }),
    await diff({ revision: 'HEAD~1..HEAD' }),
    await diff({ revision: 'HEAD~1..' }),
    await diff({ revision: 'HEAD~1...HEAD' }),
    await diff({ paths: ['sub'] }),
    await show(),
    await show({ paths: ['sub', '.'] }),
  ];
  git('add', '.');
  shown.push(await diff({ staged: true }), await diff({ staged: true, paths: ['.'] }));
  for (const answer of shown) {
    expect(JSON.stringify(answer)).toContain('sub/open.txt');
    expect(JSON.stringify(answer)).not.toContain('hunter');
  }
  // Without its path, git wouldn't know what to show.
  for (const revision of [blob, folder, `${blob}..${blob}`, `${folder}..${folder}`])
    expect(await diff({ revision, paths: ['a.txt'] })).toMatchObject({ status: 'error' });
  for (const revision of [blob, folder])
    expect(await show({ revision })).toMatchObject({ status: 'error' });
});

it("secret files aren't committed, and the result lists them", async () => {
  await putAll('hunter1');
  await put('a.txt', 'changed\n');
  expect(await commit({ message: 'x' })).toMatchObject({
    subject: 'x',
    leftOut: expect.arrayContaining(SECRET_PATHS),
  });
  expect(git('ls-files').trim().split('\n')).toEqual(['a.txt', 'b c.txt']);
  await put('sub/open.txt', 'open\n');
  expect(await commit({ message: 'y', paths: ['sub'] })).toMatchObject({
    leftOut: ['sub/.ENV', 'sub/.docker/config.json'],
  });
  expect(git('ls-files').trim().split('\n')).toEqual(['a.txt', 'b c.txt', 'sub/open.txt']);
  expect(await commit({ message: 'z' })).toMatchObject({
    status: 'error',
    message: expect.stringContaining('secrets'),
  });
  // Everything else is already staged. git must not be asked to add an empty list, because that means
  // all files.
  await put('a.txt', 'again\n');
  git('add', 'a.txt');
  expect(await commit({ message: 'z' })).toMatchObject({ subject: 'z' });
  expect(git('ls-files').trim().split('\n')).toEqual(['a.txt', 'b c.txt', 'sub/open.txt']);
});

it("secret files aren't committed even if they're staged, but their removal can be committed", async () => {
  await put('.env', 'hunter1\n');
  await put('a.txt', 'changed\n');
  git('add', '.env');
  expect(await commit({ message: 'x' })).toMatchObject({
    status: 'error',
    message: expect.stringContaining('.env'),
  });
  expect(await commit({ message: 'x', paths: ['.'] })).toMatchObject({ leftOut: ['.env'] });
  expect(git('show', '--name-only', '--format=').trim()).toBe('a.txt');
  git('commit', '--quiet', '-m', 'By a person');
  git('rm', '--quiet', '--cached', '.env');
  await put('a.txt', 'again\n');
  expect(await commit({ message: 'y', paths: ['.'] })).toMatchObject({ leftOut: ['.env'] });
  expect(git('show', 'HEAD:.env')).toBe('hunter1\n');
  await put('a.txt', 'and again\n');
  expect(await commit({ message: 'z' })).toMatchObject({ subject: 'z' });
  expect(git('ls-files').trim().split('\n')).toEqual(['a.txt', 'b c.txt']);
});

it("git_commit and git_switch don't run hooks, signing programs, or file monitors", async () => {
  const evil = `#!/bin/sh\ntouch '${join(outside, 'MARKER')}'\n`;
  for (const hook of [
    'pre-commit',
    'commit-msg',
    'prepare-commit-msg',
    'post-commit',
    'post-index-change',
    'reference-transaction',
    'post-checkout',
  ])
    await writeFile(join(root, '.git', 'hooks', hook), evil, { mode: 0o755 });
  await writeFile(join(outside, 'evil.sh'), evil, { mode: 0o755 });
  for (const key of ['core.fsmonitor', 'core.editor', 'gpg.ssh.defaultKeyCommand'])
    git('config', key, join(outside, 'evil.sh'));
  git('config', 'commit.gpgSign', 'true');
  await rm(join(outside, 'MARKER'), { force: true });
  await put('a.txt', 'changed\n');
  expect(await commit({ message: 'x' })).toMatchObject({ subject: 'x' });
  expect(await change({ branch: 'new', create: true })).toMatchObject({ created: true });
  expect(marker()).toBe(false);
});

it.each([
  'filter.evil.clean',
  'filter.evil.process',
  'core.sshCommand',
  'credential.helper',
  'credential.https://x.helper',
  'remote.origin.receivepack',
  'merge.evil.driver',
])('git_commit and git_switch refuse a repository that configures %s', async (key) => {
  await put('.gitattributes', '* filter=evil merge=evil\n');
  await put('a.txt', 'changed\n');
  git('config', key, `touch ${join(outside, 'MARKER')}`);
  await expect(commit({ message: 'x' })).rejects.toMatchObject({ code: 'FORBIDDEN_PROGRAM' });
  await expect(change({ branch: 'new', create: true })).rejects.toMatchObject({
    code: 'FORBIDDEN_PROGRAM',
  });
  expect(marker()).toBe(false);
});

it("git_commit and git_switch don't start programs from a hostile submodule", async () => {
  await hostileSubmodule('folder/sub');
  await put('folder/b.txt', 'new\n');
  expect(await commit({ message: 'w', paths: ['folder'] })).toMatchObject({ subject: 'w' });
  await put('a.txt', 'changed\n');
  expect(await commit({ message: 'x' })).toMatchObject({ subject: 'x' });
  await put('a.txt', 'changed again\n');
  expect(await commit({ message: 'y', paths: ['a.txt'] })).toMatchObject({ subject: 'y' });
  expect(await change({ branch: 'new', create: true, startPoint: 'HEAD~4' })).toMatchObject({
    created: true,
  });
  expect(marker()).toBe(false);
});

it.each([
  [
    'a transport that starts programs',
    { 'remote.origin.pushurl': 'ext::sh -c touch% MARKER', 'protocol.ext.allow': 'always' },
  ],
  [
    'a URL rewrite to a transport that starts programs',
    { 'url.ext::sh -c touch% MARKER .pushInsteadOf': '/', 'protocol.ext.allow': 'always' },
  ],
  ['a receivepack program', { 'remote.origin.receivepack': 'touch MARKER;' }],
  ['a remote helper', { 'remote.origin.vcs': 'evil' }],
  [
    'an ssh command',
    { 'core.sshCommand': 'touch MARKER;', 'remote.origin.pushurl': 'ssh://host/x' },
  ],
  [
    'an ssh host that is an option',
    { 'remote.origin.pushurl': 'ssh://-oProxyCommand=touch MARKER/x' },
  ],
])('git_push starts no program through %s', async (_case, settings) => {
  await withRemote();
  for (const [key, value] of Object.entries(settings))
    git('config', key, value.replaceAll('MARKER', join(outside, 'MARKER')));
  await push().catch((error: unknown) =>
    expect(error).toMatchObject({ code: 'FORBIDDEN_PROGRAM' }),
  );
  expect(marker()).toBe(false);
});

it("git_push doesn't run the repository's hooks", async () => {
  await withRemote();
  await writeFile(
    join(root, '.git', 'hooks', 'pre-push'),
    `#!/bin/sh\ntouch '${join(outside, 'MARKER')}'\n`,
    { mode: 0o755 },
  );
  expect(await push()).toMatchObject({ branch: 'main' });
  expect(marker()).toBe(false);
});
