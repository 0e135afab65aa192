import { z } from 'zod';
import { tool } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { FILE_TOOL, FileTool } from './file-tool.js';

const Input = z.object({
  path: pathInput()
    .default('.')
    .describe('Folder to list, relative to the root; the root itself if omitted'),
});

/** Lists one folder: names, kinds and sizes, sorted by name. */
@tool({
  ...FILE_TOOL,
  name: 'list_directory',
  description:
    'Lists the entries of one folder, without its subfolders\' contents: name, kind (file, directory, symlink, other) and the size of files in bytes. At most 1000 entries; "truncated" is true if there are more.',
  inputSchema: Input,
  keywords: ['list', 'directory', 'folder', 'files', 'contents', 'ls', 'browse', 'what is in'],
  mandatoryKeywords: ['list directory', 'list the files', 'list folder'],
  examples: [
    'What is in the src folder?',
    'List the files in this project',
    'Show me the contents of docs/',
  ],
})
export class ListDirectory extends FileTool {
  async execute({ path = '.' }: z.input<typeof Input>) {
    return orFail(async () => ({
      path: this.files.relative(path),
      ...(await this.files.list(path)),
    }));
  }
}
