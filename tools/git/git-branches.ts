import { z } from 'zod';
import { tool, type ToolContext } from '../../src/index.js';
import { GIT_TOOL, GitTool } from './git-tool.js';

/** Maximum number of branches in one result. */
const MAX_BRANCHES = 500;

const Input = z.object({
  remote: z
    .boolean()
    .default(false)
    .describe('If true, also lists remote branches as of the last fetch'),
});

type Branch = {
  readonly name: string;
  readonly current: boolean;
  readonly remote: boolean;
  readonly commit: string;
  readonly date: string;
  readonly upstream: string | null;
};

/** Lists branches, most recently changed first. */
@tool({
  ...GIT_TOOL,
  name: 'git_branches',
  description: `Lists the branches of the repository, the most recently changed first, and marks the current one. At most ${MAX_BRANCHES}. Read-only; to create or change branches use git_switch.`,
  inputSchema: Input,
  keywords: ['git branch', 'branch', 'list branches', 'current branch', 'remote branches'],
  mandatoryKeywords: ['git branch', 'list branches'],
  stages: ['initial', 'reading'],
  examples: [
    'What branches does this repository have?',
    'What is the current branch?',
    'List remote branches too',
  ],
  conflictKeys: () => ({ reads: ['git:'] }),
})
export class GitBranches extends GitTool {
  async execute({ remote = false }: z.input<typeof Input>, { signal }: ToolContext) {
    const format =
      '--format=%(HEAD)%00%(refname)%00%(objectname)%00%(committerdate:iso-strict)%00%(upstream:short)';
    const result = await this.repository.read(
      [
        'for-each-ref',
        '--sort=-committerdate',
        `--count=${MAX_BRANCHES + 1}`,
        format,
        'refs/heads',
        ...(remote ? ['refs/remotes'] : []),
      ],
      { signal },
    );
    if (result.exitCode !== 0) return this.repository.failed('list branches', result);
    const rows = result.stdout.split('\n').filter((row) => row !== '');
    return {
      branches: rows.slice(0, MAX_BRANCHES).map(branchIn),
      truncated: result.truncated || rows.length > MAX_BRANCHES,
    };
  }
}

function branchIn(row: string): Branch {
  const [head, ref = '', commit = '', date = '', upstream = ''] = row.split('\0');
  return {
    name: ref.split('/').slice(2).join('/'),
    current: head === '*',
    remote: ref.startsWith('refs/remotes/'),
    commit,
    date,
    upstream: upstream === '' ? null : upstream,
  };
}
