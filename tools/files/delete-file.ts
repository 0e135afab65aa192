import { z } from 'zod';
import { Priority, tool, type ToolContext } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { type BehindFileWall } from '../walls/file-wall.js';
import { CHANGING_FILES, FileTool } from './file-tool.js';

const Input = z.object({
  path: pathInput().describe('File to delete, relative to the root'),
});

/**
 * Deletes one file permanently. Never deletes a folder. If the path is a link, deletes the link and
 * not its target.
 */
@tool({
  ...CHANGING_FILES,
  name: 'delete_file',
  description:
    "Deletes one file permanently; it can't be undone. Refuses folders. If the path is a link, deletes the link and not its target. Returns the path and the number of bytes the file had.",
  inputSchema: Input,
  priority: Priority.LOW,
  dangerLevel: 'high',
  keywords: ['delete', 'remove', 'file', 'erase', 'rm', 'clean up'],
  mandatoryKeywords: ['delete file', 'delete the file', 'remove the file'],
  taskTypes: ['action', 'edit'],
  examples: ['Delete the file old.log', 'Remove tmp/output.txt', 'Erase the generated report'],
  timeoutMs: 5_000,
  requiresConsent: true,
  conflictKeys(this: BehindFileWall, { path }) {
    return { writes: this.files.keys.below(path) };
  },
  async preview(this: BehindFileWall, { path }) {
    const found = await this.files.stat(path);
    return found === undefined
      ? `Deletes nothing: ${path} doesn't exist`
      : {
          summary: `Deletes ${found.path} (${found.kind}, ${found.bytes} bytes, modified ${found.modified})`,
          reversible: false,
        };
  },
})
export class DeleteFile extends FileTool {
  async execute({ path }: z.input<typeof Input>, { signal }: ToolContext) {
    signal?.throwIfAborted();
    return orFail(async () => ({ ...(await this.files.remove(path)), deleted: true }));
  }
}
