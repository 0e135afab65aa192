import { z } from 'zod';
import { fail, Priority, tool, type ToolResult } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { type FileStat } from '../walls/file-wall.js';
import { FILE_TOOL, FileTool } from './file-tool.js';

const Input = z.object({
  path: pathInput().describe('File or folder, relative to the root'),
});

/** Returns a path's kind, size and modification time. */
@tool({
  ...FILE_TOOL,
  name: 'file_info',
  description:
    'Returns whether a path is a file or a directory, its size in bytes, and when it was last modified (ISO 8601). Links are followed; "path" in the result is the real path. Does not read the content.',
  inputSchema: Input,
  priority: Priority.MEDIUM,
  reads: ['private'],
  keywords: ['file info', 'size', 'modified', 'exists', 'stat', 'how large', 'last changed'],
  mandatoryKeywords: ['file size', 'file info'],
  stages: ['reading', 'verification'],
  taskTypes: ['analysis', 'search'],
  examples: [
    'How large is data.csv?',
    'When was README.md last changed?',
    'Does dist/index.js exist?',
  ],
  timeoutMs: 5_000,
})
export class FileInfo extends FileTool {
  async execute({ path }: z.input<typeof Input>): Promise<FileStat | ToolResult<never>> {
    return orFail(
      async () =>
        (await this.files.stat(path)) ??
        fail(`${JSON.stringify(path)} doesn't exist.`, {
          path,
          reason: 'missing',
        }),
    );
  }
}
