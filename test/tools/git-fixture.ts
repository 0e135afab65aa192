import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, vi } from 'vitest';
import {
  GitBlame,
  GitBranches,
  GitCommit,
  GitDiff,
  GitLog,
  GitPush,
  GitShow,
  GitStatus,
  GitSwitch,
} from '../../tools/git/index.js';
import { folderWith } from '../folder-with.js';
import { GitRepository } from '../../tools/git/git-repository.js';
import { DEFAULT_ENVIRONMENT, ProgramWall } from '../../tools/walls/program-wall.js';

const IDENTITY = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
};

let template: string;
/** A folder that a test may use, and the repository in it. */
export let outside: string;
export let root: string;
export let repository: GitRepository;

/** Gives every test of a file a repository with two commits, which is created once and copied. */
export function useRepository(): void {
  beforeAll(async () => {
    template = folderWith();
    const inTemplate = (...argv: string[]) =>
      execFileSync('git', argv, {
        cwd: template,
        env: { ...process.env, ...IDENTITY, HOME: template },
        stdio: 'ignore',
      });
    inTemplate('init', '--quiet', '--template=', '--initial-branch=main');
    await mkdir(join(template, '.git', 'hooks'));
    await writeFile(join(template, 'a.txt'), 'one\ntwo\n');
    await writeFile(join(template, 'b c.txt'), 'x\n');
    inTemplate('add', '.');
    inTemplate('commit', '--quiet', '-m', 'First\n\nBody of it');
    await writeFile(join(template, 'a.txt'), 'one\nTWO\n');
    inTemplate('commit', '--quiet', '-am', 'Second');
  });

  beforeEach(async () => {
    outside = folderWith();
    root = join(outside, 'work');
    await cp(template, root, { recursive: true, preserveTimestamps: true });
    git('update-index', '--refresh');
    vi.stubEnv('HOME', outside); // Git ignores the settings of the user who runs the tests.
    for (const [name, value] of Object.entries(IDENTITY)) vi.stubEnv(name, value);
    repository = new GitRepository(
      new ProgramWall({ root, env: [...DEFAULT_ENVIRONMENT, ...Object.keys(IDENTITY)] }),
    );
  });

  afterEach(() => void vi.unstubAllEnvs());
}

export const git = (...argv: string[]) =>
  execFileSync('git', argv, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
/** Adds settings to the repository's configuration, all at once. */
export const configure = (settings: Readonly<Record<string, string>>) =>
  appendFile(
    join(root, '.git', 'config'),
    Object.entries(settings)
      .map(([name, value]) => {
        const [, section, subsection, key] = /^([^.]+)(?:\.(.+))?\.([^.]+)$/.exec(name)!;
        return `[${section}${subsection === undefined ? '' : ` ${JSON.stringify(subsection)}`}]\n${key} = ${JSON.stringify(value)}\n`;
      })
      .join(''),
  );
export const put = (path: string, text: string) => writeFile(join(root, path), text);
export const marker = () => existsSync(join(outside, 'MARKER')) || existsSync(join(root, 'MARKER'));

export const status = (input = {}) =>
  new GitStatus(repository).execute({ untracked: true, ...input }, {});
export const diff = (input = {}) =>
  new GitDiff(repository).execute({ staged: false, paths: [], ...input }, {});
export const log = (input = {}) =>
  new GitLog(repository).execute(
    { revision: 'HEAD', paths: [], maxCount: 20, skip: 0, ...input },
    {},
  );
export const show = (input = {}) =>
  new GitShow(repository).execute({ revision: 'HEAD', paths: [], ...input }, {});
export const blame = (input = {}) =>
  new GitBlame(repository).execute(
    { path: 'a.txt', revision: 'HEAD', startLine: 1, lineCount: 100, ...input },
    {},
  );
export const branches = (input = {}) =>
  new GitBranches(repository).execute({ remote: false, ...input }, {});
export const change = (input: { branch: string; create?: boolean; startPoint?: string }) =>
  new GitSwitch(repository).execute({ create: false, ...input }, {});
export const commit = (input: { message: string; paths?: string[] }) =>
  new GitCommit(repository).execute({ paths: [], ...input }, {});
export const push = (input = {}) =>
  new GitPush(repository).execute(
    { remote: 'origin', force: false, setUpstream: false, ...input },
    {},
  );

export async function withRemote(): Promise<string> {
  const remote = join(outside, 'remote.git');
  execFileSync('git', ['init', '--quiet', '--bare', remote]);
  git('remote', 'add', 'origin', remote);
  return remote;
}

/** Commits a submodule in a folder, and then configures the submodule to start a program. */
export async function hostileSubmodule(folder: string): Promise<void> {
  const sub = join(root, folder);
  const inSub = (...argv: string[]) => execFileSync('git', argv, { cwd: sub, stdio: 'ignore' });
  await mkdir(sub, { recursive: true });
  inSub('init', '--quiet');
  await writeFile(join(sub, 'f'), 'f\n');
  inSub('add', '.');
  inSub('commit', '--quiet', '-m', 'sub');
  git('-c', 'advice.addEmbeddedRepo=false', 'add', folder);
  git('commit', '--quiet', '-m', 'with sub');
  const evil = join(outside, 'evil.sh');
  await writeFile(evil, `#!/bin/sh\ntouch '${join(outside, 'MARKER')}'\ncat\n`, { mode: 0o755 });
  await writeFile(join(sub, '.gitattributes'), '* filter=evil\n');
  await writeFile(join(sub, 'f'), 'g\n');
  for (const key of ['core.fsmonitor', 'filter.evil.clean', 'filter.evil.process'])
    inSub('config', key, evil);
}
