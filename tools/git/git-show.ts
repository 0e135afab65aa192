import { z } from 'zod';
import { fail, tool, type ToolContext } from '../../src/index.js';
import { readablePathspecs, revision } from './git-names.js';
import { PLAIN_DIFF } from './git-repository.js';
import { GIT_TOOL, GitTool, pathsInput, readsCommits } from './git-tool.js';

const Input = z.object({
  revision: z
    .string()
    .max(200)
    .default('HEAD')
    .describe('The commit: a hash, branch, tag, or HEAD~2'),
  paths: pathsInput().describe('Only the changes in these files or folders, relative to the root'),
});

/** Shows one commit: author, date, message and changes. */
@tool({
  ...GIT_TOOL,
  name: 'git_show',
  description:
    'Shows one commit: author, date, whole message, and its changes as a unified diff (for a merge, against its first parent), without files with secrets. Long diffs are cut. Read-only.',
  inputSchema: Input,
  keywords: [
    'git show',
    'show commit',
    'commit details',
    'what did this commit change',
    'revision',
  ],
  mandatoryKeywords: ['git show'],
  examples: [
    'Show the last commit',
    'What did commit 1a2b3c4 change?',
    'Show the message of HEAD~3',
  ],
  conflictKeys: readsCommits,
})
export class GitShow extends GitTool {
  async execute(
    { revision: asked = 'HEAD', paths = [] }: z.input<typeof Input>,
    { signal }: ToolContext,
  ) {
    const pathspecs = readablePathspecs(paths);
    const commit = await this.repository.commitOf(revision(asked), signal);
    if (commit === undefined)
      return fail(`There is no commit named ${asked}. List commits with git_log.`);
    const head = await this.repository.read(
      [
        'show',
        '--no-patch',
        '--no-color',
        '--no-show-signature',
        '--format=%an%x00%aI%x00%B',
        commit,
        '--',
      ],
      { signal },
    );
    const changes = await this.repository.read(
      [
        'show',
        ...PLAIN_DIFF,
        '--no-show-signature',
        '--diff-merges=first-parent',
        '--format=',
        commit,
        '--',
        ...pathspecs,
      ],
      { signal, pathspecs: true },
    );
    if (head.exitCode !== 0) return this.repository.failed('show the commit', head);
    if (changes.exitCode !== 0) return this.repository.failed('show the commit', changes);
    const [author = '', date = '', message = ''] = head.stdout.split('\0');
    return {
      commit,
      author,
      date,
      message: message.trimEnd(),
      diff: changes.stdout,
      truncated: head.truncated || changes.truncated,
    };
  }
}
