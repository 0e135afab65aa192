import { z } from 'zod';
import { Priority, tool, type ToolContext } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { type BehindFileWall } from '../walls/file-wall.js';
import { CHANGING_FILES, FileTool } from './file-tool.js';

const Input = z.object({
  from: pathInput().describe('File or folder to move, relative to the root'),
  to: pathInput().describe('The new path, including the name; missing folders are created'),
  overwrite: z.boolean().default(false).describe('If true, an existing file may be replaced'),
});

/**
 * Moves or renames a file or folder. Replaces a file only if you ask for it, and never replaces a
 * folder.
 */
@tool({
  ...CHANGING_FILES,
  name: 'move_file',
  description:
    'Moves or renames a file or folder and creates missing folders. Fails if the new path exists, unless "overwrite" is true and the path is a file. If the path is a link, moves the link and not its target.',
  inputSchema: Input,
  priority: Priority.MEDIUM,
  keywords: ['move', 'rename', 'file', 'folder', 'mv', 'relocate'],
  mandatoryKeywords: ['move file', 'move the file', 'rename the file'],
  taskTypes: ['edit', 'action'],
  examples: [
    'Rename old.ts to new.ts',
    'Move the file notes.md into docs',
    'Move src/util to src/core/util',
  ],
  progressParams: ['from', 'to'],
  allowParallel: false,
  // Overwriting is more dangerous, because it destroys the old file. A plain move can be undone.
  dangerFor: ({ overwrite }) => (overwrite ? 'high' : 'medium'),
  conflictKeys(this: BehindFileWall, { from, to }) {
    return {
      reads: this.files.keys.below(from),
      writes: [...this.files.keys.below(from), ...this.files.keys.below(to)],
    };
  },
  async preview(this: BehindFileWall, { from, to, overwrite }) {
    const [source, target] = [await this.files.stat(from), await this.files.stat(to)];
    const replaced =
      target === undefined
        ? ''
        : overwrite
          ? `, and replaces the ${target.bytes} bytes there (modified ${target.modified})`
          : ', which already exists';
    return {
      summary: `Moves ${from} (${source === undefined ? 'missing' : `${source.kind}, ${source.bytes} bytes, modified ${source.modified}`}) to ${to}${replaced}`,
      reversible: target === undefined,
    };
  },
})
export class MoveFile extends FileTool {
  async execute({ from, to, overwrite = false }: z.input<typeof Input>, { signal }: ToolContext) {
    signal?.throwIfAborted();
    return orFail(() => this.files.move(from, to, { overwrite }));
  }
}
