import { posix } from 'node:path';
import { z } from 'zod';
import { fail, Priority, tool } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { readsFile } from '../walls/file-wall.js';
import { declarationIn, LANGUAGE_OF_EXTENSION, type OutlineEntry } from './outline-rules.js';
import { linesOf } from './text-files.js';
import { CODE_TOOL, CodeTool } from './code-tool.js';

/** Maximum number of declarations in one result. Files with more are usually generated. */
const MAX_ENTRIES = 500;

const Input = z.object({
  path: pathInput().describe('TypeScript, JavaScript or Python file, relative to the root'),
});

/** Lists the declarations of a source file with their line numbers. */
@tool({
  ...CODE_TOOL,
  name: 'outline_file',
  description:
    'Lists functions, classes, methods, types, constants and exports of a TypeScript, JavaScript or Python file with line numbers, so that you can then read just the right lines. Uses simple per-line rules, not a parser, so comments and long strings may add or hide an entry.',
  inputSchema: Input,
  priority: Priority.MEDIUM,
  costTier: 'free',
  keywords: [
    'outline',
    'structure',
    'functions',
    'classes',
    'exports',
    'symbols',
    'methods',
    'overview',
  ],
  mandatoryKeywords: ['outline', 'list the functions', 'what does it export'],
  taskTypes: ['analysis', 'search'],
  examples: [
    'Which functions are in src/app.ts?',
    'Give me an outline of server.py',
    'What does index.ts export?',
  ],
  timeoutMs: 10_000,
  conflictKeys: readsFile,
})
export class OutlineFile extends CodeTool {
  async execute({ path }: z.input<typeof Input>) {
    return orFail(async () => {
      const extension = posix.extname(path).toLowerCase();
      const language = LANGUAGE_OF_EXTENSION.get(extension);
      if (language === undefined)
        return fail(
          `Expected a file ending in ${[...LANGUAGE_OF_EXTENSION.keys()].join(', ')}, got "${extension}". Use read_file instead.`,
        );
      const lines = linesOf(await this.files.readText(path));
      const entries = lines
        .map((text, index) => declarationIn(text, index + 1, language))
        .filter((entry): entry is OutlineEntry => entry !== undefined);
      return {
        path: this.files.relative(path),
        language,
        totalLines: lines.length,
        entries: entries.slice(0, MAX_ENTRIES),
        truncated: entries.length > MAX_ENTRIES,
      };
    });
  }
}
