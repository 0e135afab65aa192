import { z } from 'zod';
import { fail, tool, type ToolContext, type ToolResult } from '../../src/index.js';
import { isSecret } from '../walls/path-rules.js';
import { relativePaths } from './git-names.js';
import type { GitRepository } from './git-repository.js';
import { type OnRepository } from './git-repository.js';
import { CHANGING_GIT, GitTool, pathsInput } from './git-tool.js';

/** Maximum length of a commit message in characters: several pages. */
const MAX_MESSAGE_LENGTH = 20_000;

/**
 * Maximum number of paths per call. The paths become command-line arguments, whose number is
 * limited.
 */
const MAX_PATHS = 500;

const Input = z.object({
  message: z
    .string()
    .min(1)
    .max(MAX_MESSAGE_LENGTH)
    .describe('The commit message: a subject line, optionally followed by a blank line and a body'),
  paths: pathsInput(MAX_PATHS).describe(
    'Files or folders to commit, relative to the root; empty for all changes',
  ),
});

/** Commits changed files. */
@tool({
  ...CHANGING_GIT,
  name: 'git_commit',
  description:
    "Stages the given paths (or all changes if you give none, including new files) and commits them with a message. Leaves out files with secrets and submodules, runs no hooks, and doesn't sign. Needs a configured git identity.",
  inputSchema: Input,
  keywords: ['commit', 'commit changes', 'git commit', 'commit message', 'stage', 'check in'],
  mandatoryKeywords: ['git commit', 'commit changes', 'commit the changes'],
  stages: ['execution', 'completion'],
  examples: [
    'Commit everything as "Add a changelog"',
    'Commit only src/app.ts',
    'Save these changes in git',
  ],
  timeoutMs: 60_000,
  conflictKeys(this: OnRepository, { paths }) {
    return { reads: ['git:', ...this.repository.keysBelow(paths, 'file')], writes: ['git:'] };
  },
  async preview(this: OnRepository, { message, paths }, { signal }) {
    const found = await changesIn(this.repository, relativePaths(paths), signal);
    if (!Array.isArray(found)) return undefined;
    const changes = found.filter(({ secret }) => !secret);
    const files = changes.map(({ path, change }) => `${change} ${path}`);
    const state = await this.repository.stateOf(
      changes.map(({ path }) => path),
      signal,
    );
    return {
      summary: `Commits ${files.length} files in their current state (${state.slice(0, 12)}…) as ${JSON.stringify(message.trimStart().split('\n', 1)[0])}`,
      diff: files.join('\n'),
      reversible: true,
    };
  },
})
export class GitCommit extends GitTool {
  async execute({ message, paths = [] }: z.input<typeof Input>, { signal }: ToolContext) {
    const chosen = relativePaths(paths);
    if (message.trim() === '' || message.includes('\0'))
      return fail('The commit message must contain text and no NUL characters.');
    // Without an identity, the commit would fail, but only after the files had been staged.
    const identity = await this.repository.write(['var', 'GIT_COMMITTER_IDENT'], { signal });
    if (identity.exitCode !== 0)
      return fail('No git identity is configured. Set user.name and user.email.');
    const found = await changesIn(this.repository, chosen, signal);
    if (!Array.isArray(found)) return found;
    const changes = found.filter(({ secret }) => !secret);
    const leftOut = found.filter(({ secret }) => secret);
    if (changes.length === 0)
      return fail('Only files with secrets have changed. The user has to commit those.');
    // If the call has no paths, git commits the whole index.
    const staged = chosen.length === 0 ? leftOut.find(({ inIndex }) => inIndex) : undefined;
    if (staged !== undefined)
      return fail(
        `A file with secrets is staged: ${staged.path}. Unstage it, or list the paths to commit.`,
      );
    // Only changed files are passed to git. In a folder, git would enter the submodules and apply
    // their configuration.
    const unstaged = changes.filter(({ inTree }) => inTree).map(({ path }) => path);
    // If the list of paths were empty, git would add everything.
    if (unstaged.length > 0) {
      const added = await this.repository.write(
        ['add', '--all', '--pathspec-from-file=-', '--pathspec-file-nul'],
        { input: unstaged.join('\0'), signal },
      );
      if (added.exitCode !== 0) return this.repository.failed('stage the files', added);
    }
    const only = chosen.length === 0 ? [] : ['--only', '--', ...changes.map(({ path }) => path)];
    const committed = await this.repository.write(
      [
        'commit',
        '--quiet',
        '--no-verify',
        '--no-gpg-sign',
        '--cleanup=whitespace',
        '--file=-',
        ...only,
      ],
      { input: message, signal },
    );
    if (committed.exitCode !== 0) return this.repository.failed('commit', committed);
    const commit = await this.repository.commitOf('HEAD', signal);
    return {
      commit: commit ?? '',
      subject: message.trimStart().split('\n', 1)[0] ?? '',
      leftOut: [...new Set(leftOut.map(({ path }) => path))],
    };
  }
}

/** Returns the changed files at the chosen paths, or the reason why they can't be committed. */
async function changesIn(
  repository: GitRepository,
  chosen: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Change[] | ToolResult<never>> {
  const result = await repository.read(
    [
      'status',
      '--porcelain',
      '-z',
      '--no-renames',
      '--ignore-submodules=all',
      '--untracked-files=all',
      '--',
      ...chosen,
    ],
    { signal },
  );
  if (result.exitCode !== 0) return repository.failed('find the changes', result);
  // A path that ends with a slash is another repository. Adding it would create a broken submodule.
  const records = result.stdout
    .split('\0')
    .filter((record) => record !== '' && !record.endsWith('/'));
  const untracked = new Set(
    records.filter((record) => record.startsWith('??')).map((record) => record.slice(3)),
  );
  const changes = records.map((record) => changeIn(record, untracked));
  const conflict = records.find((record) => CONFLICTS.has(record.slice(0, 2)));
  if (conflict !== undefined)
    return fail(`${conflict.slice(3)} has an unresolved conflict. Resolve it and stage the file.`);
  if (result.truncated || (chosen.length > 0 && changes.length > MAX_PATHS))
    return fail(
      `More than ${MAX_PATHS} files have changed at these paths. Commit fewer at a time.`,
    );
  const unchanged = chosen.find(
    (path) => !changes.some((change) => isAtOrBelow(change.path, path)),
  );
  if (unchanged !== undefined) return fail(`${unchanged} has no changes. See git_status.`);
  return changes.length > 0 ? changes : fail('There are no changes to commit.');
}

interface Change {
  readonly path: string;
  /** Git's letter for the change, such as A (added), M (modified) or D (deleted). */
  readonly change: string;
  /** True if the file's content in the index differs from the last commit. */
  readonly inIndex: boolean;
  /** True if the file differs from the index. */
  readonly inTree: boolean;
  /** True if a commit would store a secret. Deleting a file with secrets is allowed. */
  readonly secret: boolean;
}

/**
 * Parses one record of `git status --short`. A file that was only removed from the index is listed
 * a second time as untracked.
 */
function changeIn(record: string, untracked: ReadonlySet<string>): Change {
  const [index = '', tree = ''] = record;
  const path = record.slice(3);
  const gone = (index === 'D' || tree === 'D') && !untracked.has(path);
  return {
    path,
    change: index === '?' || index === 'A' ? 'A' : gone ? 'D' : 'M',
    inIndex: !' ?D'.includes(index),
    inTree: tree !== ' ',
    secret: !gone && isSecret(path.split('/')),
  };
}

/** Status codes of unresolved merge conflicts. */
const CONFLICTS = new Set(['DD', 'AU', 'UD', 'UA', 'DU', 'AA', 'UU']);

function isAtOrBelow(path: string, folder: string): boolean {
  const segments = folder.split('/').filter((part) => part !== '' && part !== '.');
  return segments.every((part, i) => path.split('/')[i] === part);
}
