import { posix } from 'node:path';
import { z } from 'zod';
import { Priority, tool, type ToolContext } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { MAX_GLOB_LENGTH } from '../walls/glob-matcher.js';
import { linesOf, newPass, textFiles } from './text-files.js';
import { CODE_TOOL, CodeTool } from './code-tool.js';

const Input = z.object({
  path: pathInput().default('.').describe('Folder or file to count, relative to the root'),
  include: z
    .string()
    .min(1)
    .max(MAX_GLOB_LENGTH)
    .optional()
    .describe('Only files that match this pattern, such as "src/**/*.ts"'),
});

type Count = {
  extension: string;
  files: number;
  lines: number;
  blankLines: number;
};

/** Counts the lines of text files by extension. */
@tool({
  ...CODE_TOOL,
  name: 'count_lines',
  description:
    'Counts files, lines and blank lines of text files by extension, most lines first, and in total. Skips .git, node_modules, links, binary files, files over 1 MiB and files with secrets. "truncated" is true if not everything was counted.',
  inputSchema: Input,
  priority: Priority.LOW,
  reads: ['private'],
  keywords: [
    'count',
    'lines',
    'lines of code',
    'loc',
    'how many',
    'statistics',
    'size of the code',
  ],
  mandatoryKeywords: ['count lines', 'lines of code', 'count the lines'],
  stages: ['initial', 'analysis'],
  taskTypes: ['analysis'],
  examples: [
    'How many lines of code does this project have?',
    'Count the lines in src',
    'Which language has the most lines?',
  ],
})
export class CountLines extends CodeTool {
  async execute({ path = '.', include }: z.input<typeof Input>, context: ToolContext) {
    return orFail(async () => {
      const pass = newPass();
      const counts = new Map<string, Count>();
      let lines = 0;
      for await (const file of textFiles(this.files, path, include, context, pass)) {
        const extension = posix.extname(file.path).toLowerCase() || '(none)';
        const count = counts.get(extension) ?? { extension, files: 0, lines: 0, blankLines: 0 };
        counts.set(extension, count);
        const found = linesOf(file.text);
        count.files++;
        count.lines += found.length;
        count.blankLines += found.filter((line) => line.trim() === '').length;
        lines += found.length;
      }
      const byExtension = [...counts.values()].sort(
        (a, b) => b.lines - a.lines || (a.extension < b.extension ? -1 : 1),
      );
      return { lines, byExtension, ...pass };
    });
  }
}
