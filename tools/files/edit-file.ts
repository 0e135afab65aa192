import { z } from 'zod';
import { fail, tool, ToolError, type ToolContext } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { type BehindFileWall } from '../walls/file-wall.js';
import { textChange } from '../walls/text-change.js';
import { CHANGING_FILES, FileTool } from './file-tool.js';

/** Maximum length of a passage in characters: 100 KiB of ASCII text. */
const MAX_PASSAGE_LENGTH = 102_400;
/** Maximum number of line numbers listed if an edit is ambiguous. */
const MAX_LINES_NAMED = 5;

const Input = z.object({
  path: pathInput().describe('File to change, relative to the root'),
  find: z
    .string()
    .min(1)
    .max(MAX_PASSAGE_LENGTH)
    .describe('The exact text to replace, with spaces and line endings; must occur once'),
  replace: z
    .string()
    .max(MAX_PASSAGE_LENGTH)
    .describe('The replacement text; empty to delete the passage'),
  replaceAll: z.boolean().default(false).describe('If true, replaces every occurrence'),
});

/**
 * Replaces an exact passage of a text file. Changes nothing if the passage is missing or occurs
 * more than once.
 */
@tool({
  ...CHANGING_FILES,
  name: 'edit_file',
  description:
    'Replaces an exact passage of a UTF-8 text file. "find" is plain text and must occur exactly once, unless "replaceAll" is true. Otherwise nothing changes, and the result explains why. Returns the number of replacements and the line of the first.',
  inputSchema: Input,
  reads: ['private'],
  keywords: ['edit', 'change', 'replace', 'modify', 'update', 'fix', 'rename', 'insert'],
  mandatoryKeywords: ['edit file', 'edit the file', 'replace in'],
  taskTypes: ['edit', 'action'],
  examples: [
    'Replace "foo" with "bar" in src/app.ts',
    'Fix the typo in README.md',
    'Fix the off-by-one error in src/parser.ts',
    'Change the port to 8080 in config.ts',
  ],
  progressParams: ['path', 'find', 'replace'],
  conflictKeys(this: BehindFileWall, { path }) {
    return this.files.keys.of(path);
  },
  async preview(this: BehindFileWall, { path, find, replace }) {
    const before = await this.files.readText(path);
    const after = before.split(find).join(replace);
    return after === before
      ? `Changes nothing: ${path} doesn't contain the text`
      : textChange(path, before, after);
  },
})
export class EditFile extends FileTool {
  async execute(
    { path, find, replace, replaceAll = false }: z.input<typeof Input>,
    { signal }: ToolContext,
  ) {
    return orFail(async () => {
      const text = await this.files.readText(path);
      const first = text.indexOf(find);
      if (first < 0)
        return fail(
          `${JSON.stringify(path)} doesn't contain the text in "find"${missHint(text, find)}.`,
        );
      if (find === replace)
        return fail('"replace" is the same text as "find", so nothing was changed.');
      // The next occurrence may overlap this one: "aa" occurs twice in "aaa".
      if (!replaceAll && text.indexOf(find, first + 1) >= 0) {
        return fail(
          `The text in "find" occurs more than once in ${JSON.stringify(path)}, on line ${linesOf(text, find).join(', ')}. Include lines around it, or set replaceAll.`,
        );
      }
      const replacements = replaceAll ? text.split(find).length - 1 : 1;
      // The size is computed first, because building the text could exhaust the memory.
      const length = text.length + replacements * (replace.length - find.length);
      if (length > this.files.maxWriteBytes)
        throw new ToolError(
          'LIMIT_EXCEEDED',
          `After the edit the file would have ${length} characters, but at most ${this.files.maxWriteBytes} bytes are allowed.`,
          { details: { path } },
        );

      signal?.throwIfAborted();
      const written = await this.files.writeText(path, text.split(find).join(replace));
      return {
        path: written.path,
        replacements,
        firstLine: lineAt(text, first),
        bytes: written.bytes,
      };
    });
  }
}

function missHint(text: string, find: string): string {
  if (find.includes('\n') && !find.includes('\r\n') && text.includes('\r\n'))
    return '. The file has CRLF line endings, and "find" has LF';
  if (text.includes(find.trim()) && find.trim() !== '')
    return '. Without leading and trailing whitespace, it occurs';
  return '. Read the file again and copy the passage exactly';
}

/** Returns the numbers of the first few lines on which the passage starts, each line once. */
function linesOf(text: string, find: string): number[] {
  const lines: number[] = [];
  for (let at = text.indexOf(find); at >= 0 && lines.length < MAX_LINES_NAMED;) {
    lines.push(lineAt(text, at));
    const nextLine = text.indexOf('\n', at) + 1;
    at = nextLine === 0 ? -1 : text.indexOf(find, nextLine);
  }
  return lines;
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
