import { z } from 'zod';
import { fail, ok, Priority, tool } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { readsFile } from '../walls/file-wall.js';
import { mediaContent } from '../walls/media-content.js';
import { FILE_TOOL, FileTool } from './file-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Maximum number of lines in one result. A model can read the rest with `offset`. */
const MAX_LINES = 2_000;
/** Maximum number of characters in one result: about 25,000 tokens. */
const MAX_CHARACTERS = 100_000;

const Input = z.object({
  path: pathInput().describe('File to read, relative to the root'),
  offset: z.number().int().min(1).default(1).describe('First line to return, counted from 1'),
  limit: wholeNumber(MAX_LINES, MAX_LINES).describe('Maximum number of lines to return'),
});

/** Reads a text file or part of it, or an image or PDF. */
@tool({
  ...FILE_TOOL,
  name: 'read_file',
  description:
    'Reads a UTF-8 text file of at most 1 MiB. Returns "text", the number of its first line, and the file\'s number of lines; at most 2000 lines and 100000 characters at once. If "truncated" is true, more lines follow: continue with "offset" = lastLine + 1. PNG, JPEG, GIF, WebP and PDF files are returned whole, for you to look at.',
  inputSchema: Input,
  priority: Priority.CRITICAL,
  keywords: ['read', 'file', 'open', 'show', 'contents', 'view', 'cat', 'look at', 'lines'],
  mandatoryKeywords: ['read file', 'read the file', 'open the file'],
  stages: ['reading', 'analysis', 'verification'],
  taskTypes: ['analysis', 'search', 'edit'],
  examples: [
    'Read the file README.md',
    'Show me src/index.ts',
    'What does package.json say?',
    'Open the file config.yaml at line 200',
  ],
  conflictKeys: readsFile,
})
export class ReadFile extends FileTool {
  async execute({ path, offset = 1, limit = MAX_LINES }: z.input<typeof Input>) {
    return orFail(async () => {
      const bytes = await this.files.readBytes(path);
      const media = mediaContent(bytes, path.split('/').at(-1)!);
      if (media !== undefined)
        return ok(
          { path: this.files.relative(path), mediaType: media.mediaType, bytes: bytes.length },
          { content: [media.part] },
        );
      const lines = this.files.textOf(path, bytes).split('\n');
      if (lines.at(-1) === '') lines.pop(); // A line break at the end of the file doesn't begin another line.
      if (offset > Math.max(lines.length, 1))
        return fail(
          `${JSON.stringify(path)} has ${lines.length} lines, so "offset" can't be ${offset}. Use a smaller offset.`,
        );

      const { text, count } = takeLines(lines.slice(offset - 1, offset - 1 + limit));
      const lastLine = offset - 1 + count;
      const cutLine = count === 1 && text.length < (lines[offset - 1]?.length ?? 0);
      return {
        path: this.files.relative(path),
        text,
        firstLine: offset,
        lastLine,
        totalLines: lines.length,
        truncated: cutLine || lastLine < lines.length,
      };
    });
  }
}

/**
 * Returns as many whole lines as fit. If even the first line is too long, returns its beginning.
 */
function takeLines(lines: readonly string[]) {
  let characters = 0;
  const end = lines.findIndex((line) => (characters += line.length + 1) > MAX_CHARACTERS);
  const count = end < 0 ? lines.length : Math.max(end, 1);
  return { text: lines.slice(0, count).join('\n').slice(0, MAX_CHARACTERS), count };
}
