import { z } from 'zod';
import { tool, type ToolContext } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { type BehindFileWall } from '../walls/file-wall.js';
import { textChange } from '../walls/text-change.js';
import { CHANGING_FILES, FileTool } from './file-tool.js';

/** Maximum length of the text in characters. In ASCII, that's 1 MiB, the maximum file size. */
const MAX_CONTENT_LENGTH = 1_048_576;

const Input = z.object({
  path: pathInput().describe('File to write, relative to the root; missing folders are created'),
  content: z.string().max(MAX_CONTENT_LENGTH).describe('The complete new text of the file'),
  overwrite: z.boolean().default(false).describe('If true, an existing file may be replaced'),
});

/** Creates a text file. Replaces an existing file only if you ask for it. */
@tool({
  ...CHANGING_FILES,
  name: 'write_file',
  description:
    'Writes a whole UTF-8 text file of at most 1 MiB atomically, and creates missing folders. Fails if the file exists, unless "overwrite" is true; use edit_file to change part of a file. Returns the path, the number of bytes, and whether the file was created.',
  inputSchema: Input,
  keywords: ['write', 'create', 'file', 'save', 'new file', 'generate', 'overwrite', 'store'],
  mandatoryKeywords: ['write file', 'create a file', 'save to a file'],
  taskTypes: ['generation', 'edit', 'action'],
  examples: [
    'Create a file hello.txt with a greeting',
    'Save this as docs/plan.md',
    'Write a new README',
    'Overwrite config.json with these settings',
  ],
  progressParams: ['path', 'content'],
  // Overwriting is more dangerous than creating a file, because it destroys the old text.
  dangerFor: ({ overwrite }) => (overwrite ? 'high' : 'medium'),
  conflictKeys(this: BehindFileWall, { path }) {
    return { writes: this.files.keys.of(path) };
  },
  async preview(this: BehindFileWall, { path, content, overwrite }) {
    const before =
      (await this.files.stat(path)) === undefined ? undefined : await this.files.readText(path);
    if (before !== undefined && !overwrite)
      return `Writes nothing: ${path} exists, and overwrite isn't set`;
    return textChange(path, before, content);
  },
})
export class WriteFile extends FileTool {
  async execute(
    { path, content, overwrite = false }: z.input<typeof Input>,
    { signal }: ToolContext,
  ) {
    signal?.throwIfAborted();
    return orFail(() => this.files.writeText(path, content, { overwrite }));
  }
}
