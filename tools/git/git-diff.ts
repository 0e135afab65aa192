import { z } from 'zod';
import { Priority, tool, type ToolContext } from '../../src/index.js';
import { readablePathspecs, revision } from './git-names.js';
import { type OnRepository, PLAIN_DIFF } from './git-repository.js';
import { GIT_TOOL, GitTool, pathsInput } from './git-tool.js';

const Input = z.object({
  staged: z
    .boolean()
    .default(false)
    .describe('Compare the staged changes instead of the files in the work tree'),
  revision: z
    .string()
    .max(200)
    .optional()
    .describe('The revision to compare with, or two as a..b; the index or HEAD if omitted'),
  paths: pathsInput().describe('Files or folders to compare, relative to the root; empty for all'),
});

/** Shows the differences between files as a unified diff. */
@tool({
  ...GIT_TOOL,
  name: 'git_diff',
  description:
    'Shows changes as a unified diff: unstaged changes by default, staged changes, or those between revisions. Can be limited to some paths. Leaves out files with secrets. Long diffs are cut. Read-only.',
  inputSchema: Input,
  priority: Priority.HIGH,
  keywords: ['diff', 'show diff', 'git diff', 'changes', 'staged', 'what changed'],
  mandatoryKeywords: ['git diff', 'show diff', 'show the diff'],
  stages: ['reading', 'analysis', 'verification'],
  examples: [
    'Show me the diff of my changes',
    'What is staged right now?',
    'Compare main with this branch',
    'What changed in src/index.ts?',
  ],
  conflictKeys(this: OnRepository, { staged, revision: asked = '', paths }) {
    const ofCommits = this.repository.keysBelow(paths, 'git');
    return {
      reads:
        staged || asked.includes('..')
          ? ofCommits
          : [...ofCommits, ...this.repository.keysBelow(paths, 'file')],
    };
  },
})
export class GitDiff extends GitTool {
  async execute(
    { staged = false, revision: asked, paths = [] }: z.input<typeof Input>,
    { signal }: ToolContext,
  ) {
    const revisions = asked === undefined ? [] : [commitsOf(revision(asked, { range: true }))];
    const argv = [
      'diff',
      ...PLAIN_DIFF,
      ...(staged ? ['--cached'] : []),
      '--end-of-options',
      ...revisions,
      '--',
      ...readablePathspecs(paths),
    ];
    const result = await this.repository.read(argv, { signal, pathspecs: true });
    if (result.exitCode !== 0) return this.repository.failed('show the differences', result);
    const diff = withoutEmptyHeaders(result.stdout);
    return { diff, identical: diff === '', truncated: result.truncated };
  }
}

/**
 * Accepts only commits, because a blob or tree has no path, so nothing shows whether it contains a
 * secret.
 */
function commitsOf(range: string): string {
  return range
    .split('..')
    .map((side) => (side === '' ? '' : `${side}^{commit}`))
    .join('..');
}

/**
 * Drops headers without a diff. Git prints such headers for files that differ from the index only
 * in their timestamps.
 */
function withoutEmptyHeaders(diff: string): string {
  const lines = diff.split('\n');
  const isHeader = (line: string | undefined) => line?.startsWith('diff --git ') === true;
  return lines
    .filter(
      (line, i) =>
        !isHeader(line) ||
        !(isHeader(lines[i + 1]) || (lines[i + 1] === '' && i + 2 === lines.length)),
    )
    .join('\n');
}
