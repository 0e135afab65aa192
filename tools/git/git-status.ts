import { z } from 'zod';
import { Priority, tool, type ToolContext } from '../../src/index.js';
import { GIT_TOOL, GitTool } from './git-tool.js';

const Input = z.object({
  untracked: z.boolean().default(true).describe('If true, also lists untracked files'),
});

/** A changed file. `staged` or `unstaged` is `null` if the file has no such change. */
type ChangedFile = {
  readonly path: string;
  readonly staged: string | null;
  readonly unstaged: string | null;
  /** The previous path of a renamed or copied file. */
  readonly from?: string;
};

/** Lists the changed files, and compares the branch with its upstream. */
@tool({
  ...GIT_TOOL,
  name: 'git_status',
  description:
    'Shows the state of the git work tree: current branch, commits ahead and behind, and every staged, changed, conflicted and untracked file. Read-only.',
  inputSchema: Input,
  priority: Priority.HIGH,
  keywords: [
    'git status',
    'status',
    'changed files',
    'uncommitted',
    'untracked',
    'staged',
    'work tree',
    'modified',
  ],
  mandatoryKeywords: ['git status', 'uncommitted changes'],
  stages: ['initial', 'reading', 'verification'],
  examples: [
    'What have I changed since the last commit?',
    'Are there uncommitted changes?',
    'Show the git status',
    'Which branch am I on?',
  ],
  conflictKeys: () => ({ reads: ['git:', 'file:'] }),
})
export class GitStatus extends GitTool {
  async execute({ untracked = true }: z.input<typeof Input>, { signal }: ToolContext) {
    const result = await this.repository.read(
      [
        'status',
        '--porcelain=v2',
        '--branch',
        '-z',
        '--ignore-submodules=all',
        untracked ? '--untracked-files=all' : '--untracked-files=no',
      ],
      { signal },
    );
    if (result.exitCode !== 0) return this.repository.failed('show the status', result);
    const records = result.stdout.split('\0');
    // The text after the last NUL is empty, or part of a truncated record.
    records.pop();
    const header = headerOf(records);
    const files = filesOf(records);
    return { ...header, clean: files.length === 0, files, truncated: result.truncated };
  }
}

function headerOf(records: readonly string[]) {
  const value = (name: string) =>
    records
      .find((record) => record.startsWith(`# branch.${name} `))
      ?.slice(`# branch.${name} `.length) ?? null;
  const [ahead, behind] = (value('ab') ?? '+0 -0')
    .split(' ')
    .map((count) => Math.abs(Number(count)));
  const [branch, commit] = [value('head'), value('oid')];
  return {
    branch: branch === '(detached)' ? null : branch,
    commit: commit === '(initial)' ? null : commit,
    upstream: value('upstream'),
    ahead: ahead ?? 0,
    behind: behind ?? 0,
  };
}

/** Number of fields before the path, for each kind of record in porcelain version 2. */
const FIELDS_BEFORE_PATH: Readonly<Record<string, number>> = { '1': 8, '2': 9, u: 10 };
const CHANGES: Readonly<Record<string, string>> = {
  M: 'modified',
  T: 'type_changed',
  A: 'added',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  U: 'conflicted',
};

function filesOf(records: readonly string[]): ChangedFile[] {
  const files: ChangedFile[] = [];
  for (let i = 0; i < records.length; i++) {
    const record = records[i] as string;
    const kind = record[0] ?? '';
    const before = FIELDS_BEFORE_PATH[kind];
    if (kind === '?') files.push({ path: record.slice(2), staged: null, unstaged: 'untracked' });
    if (before === undefined) continue;
    const path = record.split(' ').slice(before).join(' ');
    const change = {
      path,
      staged: CHANGES[record[2] ?? ''] ?? null,
      unstaged: CHANGES[record[3] ?? ''] ?? null,
    };
    if (kind === '2') files.push({ ...change, from: records[++i] ?? '' });
    else files.push(kind === 'u' ? { path, staged: 'conflicted', unstaged: 'conflicted' } : change);
  }
  return files;
}
