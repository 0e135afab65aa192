import { z } from 'zod';
import { Priority, tool, type ToolContext } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { MAX_GLOB_LENGTH } from '../walls/glob-matcher.js';
import { linesOf, newPass, textFiles } from './text-files.js';
import { CODE_TOOL, CodeTool } from './code-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Maximum length of a query in characters. A query can't match more than one line. */
const MAX_QUERY_LENGTH = 500;
/** Maximum number of matches in one result. A model couldn't use more. */
const MAX_RESULTS = 500;
const USUAL_RESULTS = 100;
const MAX_CONTEXT_LINES = 5;
/** Maximum number of characters shown per line. Minified files have huge lines. */
const SHOWN_LENGTH = 300;

const Input = z.object({
  query: z
    .string()
    .min(1)
    .max(MAX_QUERY_LENGTH)
    .refine((query) => !/[\r\n]/.test(query), { error: 'text on a single line' })
    .describe('Plain text to find within a line, not a regular expression'),
  path: pathInput().default('.').describe('Folder or file to search, relative to the root'),
  include: z
    .string()
    .min(1)
    .max(MAX_GLOB_LENGTH)
    .optional()
    .describe('Only files that match this pattern, such as "*.ts" or "src/**/*.{ts,tsx}"'),
  caseSensitive: z.boolean().default(false),
  contextLines: wholeNumber(0, MAX_CONTEXT_LINES, 0).describe(
    'Lines to show before and after each match',
  ),
  maxResults: wholeNumber(USUAL_RESULTS, MAX_RESULTS),
});

type Match = {
  readonly path: string;
  readonly line: number;
  readonly text: string;
  readonly before?: readonly string[];
  readonly after?: readonly string[];
};

/** Finds the lines in text files that contain a given text. */
@tool({
  ...CODE_TOOL,
  name: 'search_text',
  description:
    'Searches text files for plain text and returns {path, line, text} for every line that contains it, sorted by file and line. Skips .git, node_modules, links, binary files, files over 1 MiB and files with secrets. Long lines are cut around the match. "truncated" is true if there are more matches.',
  inputSchema: Input,
  priority: Priority.HIGH,
  keywords: [
    'search',
    'find',
    'grep',
    'text',
    'code',
    'occurrences',
    'usages',
    'where',
    'contains',
    'references',
  ],
  mandatoryKeywords: ['search for', 'grep', 'where is it used'],
  taskTypes: ['search', 'analysis'],
  examples: [
    'Search for "createServer" in the code',
    'Where is parseConfig used?',
    'Grep for deprecated in all markdown files',
    'Which files mention the old name?',
    'Find the code behind a failing test',
    'Where does the parser throw this error?',
  ],
  progressParams: ['query', 'path', 'include', 'caseSensitive', 'maxResults'],
})
export class SearchText extends CodeTool {
  async execute(
    {
      query,
      path = '.',
      include,
      caseSensitive = false,
      contextLines = 0,
      maxResults = USUAL_RESULTS,
    }: z.input<typeof Input>,
    context: ToolContext,
  ) {
    const fold = (text: string): string => (caseSensitive ? text : text.toLowerCase());
    const wanted = fold(query);
    return orFail(async () => {
      const pass = newPass();
      const matches: Match[] = [];
      search: for await (const file of textFiles(this.files, path, include, context, pass)) {
        if (!fold(file.text).includes(wanted)) continue;
        const lines = linesOf(file.text);
        for (const [index, line] of lines.entries()) {
          const at = fold(line).indexOf(wanted);
          if (at < 0) continue;
          if (matches.length === maxResults) {
            pass.truncated = true;
            break search;
          }
          const match = { path: file.path, line: index + 1, text: cutAround(line, at) };
          matches.push(
            contextLines === 0
              ? match
              : {
                  ...match,
                  before: shown(lines, index - contextLines, index),
                  after: shown(lines, index + 1, index + 1 + contextLines),
                },
          );
        }
      }
      return { matches, ...pass };
    });
  }
}

function shown(lines: readonly string[], from: number, to: number): string[] {
  return lines.slice(Math.max(from, 0), to).map((line) => cutAround(line, 0));
}

function cutAround(line: string, at: number): string {
  if (line.length <= SHOWN_LENGTH) return line;
  const start = Math.max(0, Math.min(at - SHOWN_LENGTH / 2, line.length - SHOWN_LENGTH));
  const end = start + SHOWN_LENGTH;
  return `${start > 0 ? '…' : ''}${line.slice(start, end)}${end < line.length ? '…' : ''}`;
}
