import { z } from 'zod';
import { tool, type ToolContext } from '../../src/index.js';
import { relativePaths, revision } from './git-names.js';
import { GIT_TOOL, GitTool, pathsInput, readsCommits } from './git-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Maximum number of commits in one result. */
const MAX_COMMITS = 200;
const USUAL_COMMITS = 20;

const Input = z.object({
  revision: z
    .string()
    .max(200)
    .default('HEAD')
    .describe('Where to start, or a range such as v1..v2'),
  paths: pathsInput().describe(
    'Only commits that touch these files or folders, relative to the root',
  ),
  maxCount: wholeNumber(USUAL_COMMITS, MAX_COMMITS).describe('Maximum number of commits'),
  skip: wholeNumber(0, 1_000_000, 0).describe('Number of the newest commits to skip'),
});

type LoggedCommit = {
  readonly commit: string;
  readonly parents: readonly string[];
  readonly author: string;
  readonly date: string;
  readonly subject: string;
};

/** Lists commits, newest first. */
@tool({
  ...GIT_TOOL,
  name: 'git_log',
  description: `Lists commits, newest first, with hash, parents, author, date and subject. Can be limited to a range or to paths. At most ${MAX_COMMITS} commits per call. Read-only.`,
  inputSchema: Input,
  keywords: [
    'git log',
    'log',
    'history',
    'commits',
    'recent commits',
    'changelog',
    'who committed',
  ],
  mandatoryKeywords: ['git log', 'commit history'],
  examples: [
    'Show the last ten commits',
    'What happened on main since v1?',
    'Which commits touched package.json?',
  ],
  conflictKeys: readsCommits,
})
export class GitLog extends GitTool {
  async execute(
    {
      revision: asked = 'HEAD',
      paths = [],
      maxCount = USUAL_COMMITS,
      skip = 0,
    }: z.input<typeof Input>,
    { signal }: ToolContext,
  ) {
    // One extra commit is requested, to find out whether there are more commits than the result
    // shows.
    const counts = [`--max-count=${maxCount + 1}`, `--skip=${skip}`];
    const argv = [
      'log',
      '-z',
      '--no-patch',
      '--no-color',
      '--no-show-signature',
      '--format=%H%x00%P%x00%an%x00%aI%x00%s',
      ...counts,
    ];
    const result = await this.repository.read(
      [
        ...argv,
        '--end-of-options',
        revision(asked, { range: true }),
        '--',
        ...relativePaths(paths),
      ],
      { signal },
    );
    if (result.exitCode !== 0) return this.repository.failed('list commits', result);
    const commits = commitsIn(result.stdout);
    return {
      commits: commits.slice(0, maxCount),
      truncated: result.truncated || commits.length > maxCount,
    };
  }
}

const FIELDS = 5;

function commitsIn(text: string): LoggedCommit[] {
  const fields = text === '' ? [] : text.split('\0');
  return Array.from({ length: Math.floor(fields.length / FIELDS) }, (_, i) => {
    const [commit = '', parents = '', author = '', date = '', subject = ''] = fields.slice(
      i * FIELDS,
      (i + 1) * FIELDS,
    );
    return {
      commit,
      parents: parents.split(' ').filter((each) => each !== ''),
      author,
      date,
      subject,
    };
  });
}
