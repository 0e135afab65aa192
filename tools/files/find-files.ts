import { z } from 'zod';
import { tool, type ToolContext } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { globMatcher, MAX_GLOB_LENGTH } from '../walls/glob-matcher.js';
import { FILE_TOOL, FileTool } from './file-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/**
 * Maximum number of paths in one result. With a narrower pattern, a model can find the other paths.
 */
const MAX_RESULTS = 1_000;
const USUAL_RESULTS = 200;

const Input = z.object({
  glob: z
    .string()
    .min(1)
    .max(MAX_GLOB_LENGTH)
    .describe(
      'Pattern such as "src/**/*.ts"; without "/" it is matched against file names in every folder',
    ),
  path: pathInput()
    .default('.')
    .describe('Folder to search; the pattern is still relative to the root'),
  limit: wholeNumber(USUAL_RESULTS, MAX_RESULTS).describe('Maximum number of paths to return'),
});

/** Finds files whose paths match a pattern. */
@tool({
  ...FILE_TOOL,
  name: 'find_files',
  description:
    'Finds files whose path matches a pattern: * any part of a name, ** any folders, ? one character, {a,b} either. Returns sorted paths relative to the root. Skips .git, node_modules, links and files with secrets. "truncated" is true if there are more.',
  inputSchema: Input,
  costTier: 'low',
  keywords: ['find', 'files', 'glob', 'pattern', 'locate', 'where is', 'named', 'all files'],
  mandatoryKeywords: ['find files', 'find the file', 'glob'],
  examples: [
    'Find all TypeScript files in src',
    'Where is the tsconfig?',
    'Find files named *.test.ts',
    'What Markdown files are in this project?',
  ],
  timeoutMs: 30_000,
})
export class FindFiles extends FileTool {
  async execute(
    { glob, path = '.', limit = USUAL_RESULTS }: z.input<typeof Input>,
    { signal }: ToolContext,
  ) {
    const matches = globMatcher(glob);
    return orFail(async () => {
      const walked = await this.files.walk(path, signal);
      const found = walked.files.filter(matches);
      return {
        files: found.slice(0, limit),
        found: found.length,
        truncated: walked.truncated || found.length > limit,
      };
    });
  }
}
