import { z } from 'zod';
import { Priority, tool, type ToolContext } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { type BehindFileWall } from '../walls/file-wall.js';
import { CHANGING_FILES, FileTool } from './file-tool.js';

const Input = z.object({
  from: pathInput().describe('File or folder to move, relative to the root'),
  to: pathInput().describe('Its new path, name included; missing folders are made'),
  overwrite: z.boolean().default(false).describe('Whether an existing file may be replaced'),
});

/**
 * Moves or renames a file or folder. Replaces a file only if you ask for it, and never a folder.
 */
@tool({
  ...CHANGING_FILES,
  name: 'move_file',
  description:
    'Moves or renames a file or folder and makes the folders it needs. Refuses when something is at the new path, unless "overwrite" is true and it is a file. A link is moved itself, not what it leads to.',
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
  // Replacing loses the old file; a plain move can be undone.
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
          ? `, and replaces the ${target.bytes} bytes there (changed ${target.modified})`
          : ', where something is already';
    return {
      summary: `Moves ${from} (${source === undefined ? 'missing' : `${source.kind}, ${source.bytes} bytes, changed ${source.modified}`}) to ${to}${replaced}`,
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
