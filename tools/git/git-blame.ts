import { z } from 'zod';
import { fail, Priority, tool, type ToolContext } from '../../src/index.js';
import { relativePaths, revision } from './git-names.js';
import { pathInput } from '../walls/file-keys.js';
import { type OnRepository } from './git-repository.js';
import { GIT_TOOL, GitTool } from './git-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Maximum number of lines in one result, enough for a long function. */
const MAX_LINES = 500;
const USUAL_LINES = 100;

const Input = z.object({
  path: pathInput().describe('The file, relative to the root'),
  revision: z.string().max(200).default('HEAD').describe('The commit at which to look at the file'),
  startLine: wholeNumber(1, 10_000_000).describe('The first line, counting from 1'),
  lineCount: wholeNumber(USUAL_LINES, MAX_LINES).describe('Number of lines'),
});

type BlamedLine = {
  readonly line: number;
  readonly commit: string;
  readonly author: string;
  readonly date: string;
  readonly summary: string;
  readonly text: string;
};

/** Returns the commit that last changed each line of a committed file. */
@tool({
  ...GIT_TOOL,
  name: 'git_blame',
  description: `Shows who wrote each line of a committed file: which commit last changed it, by whom and when. At most ${MAX_LINES} lines per call. Refuses files with secrets. Read-only.`,
  inputSchema: Input,
  priority: Priority.LOW,
  costTier: 'low',
  keywords: [
    'git blame',
    'blame',
    'annotate',
    'who wrote',
    'who changed',
    'line author',
    'origin of a line',
  ],
  mandatoryKeywords: ['git blame'],
  examples: [
    'Who wrote line 40 of src/app.ts?',
    'Blame the parse function',
    'Which commit last changed these lines?',
  ],
  conflictKeys(this: OnRepository, { path }) {
    return { reads: this.repository.keys.of(path, 'git') };
  },
})
export class GitBlame extends GitTool {
  async execute(
    {
      path,
      revision: asked = 'HEAD',
      startLine = 1,
      lineCount = USUAL_LINES,
    }: z.input<typeof Input>,
    { signal }: ToolContext,
  ) {
    const paths = relativePaths([path]);
    // `git blame` doesn't support `--end-of-options`, so it gets a hash instead of the revision.
    const commit = await this.repository.commitOf(revision(asked), signal);
    if (commit === undefined)
      return fail(`There is no commit named ${asked}. List commits with git_log.`);
    const range = `${startLine},${startLine + lineCount - 1}`;
    const result = await this.repository.read(
      [
        'blame',
        '--no-ignore-revs-file',
        '--line-porcelain',
        '--no-textconv',
        '-L',
        range,
        commit,
        '--',
        ...paths,
      ],
      { signal },
    );
    if (result.exitCode !== 0) return this.repository.failed('blame the file', result);
    return { lines: linesIn(result.stdout), truncated: result.truncated };
  }
}

/** Parses git's line porcelain format: a header, fields, and the line itself after a tab. */
function linesIn(text: string): BlamedLine[] {
  const lines: BlamedLine[] = [];
  let header: readonly string[] | undefined;
  let fields: Record<string, string> = {};
  for (const row of text.split('\n')) {
    const space = row.indexOf(' ');
    if (header === undefined) {
      header = row.split(' ');
      fields = {};
    } else if (row.startsWith('\t')) {
      const date = new Date(Number(fields['author-time']) * 1000).toISOString();
      lines.push({
        line: Number(header[2]),
        commit: header[0] ?? '',
        author: fields['author'] ?? '',
        date,
        summary: fields['summary'] ?? '',
        text: row.slice(1),
      });
      header = undefined;
    } else {
      fields[space < 0 ? row : row.slice(0, space)] = space < 0 ? '' : row.slice(space + 1);
    }
  }
  return lines;
}
