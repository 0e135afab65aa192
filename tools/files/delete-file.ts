import { z } from 'zod';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
  Stage,
  tool,
  type ToolContext,
} from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { type BehindFileWall, fileInput, FileWall } from '../walls/file-wall.js';

const Input = z.object({
  path: pathInput().describe('File to delete, relative to the root'),
});

/** Deletes one file for good; never a folder, and of a link only the link. */
@tool({
  name: 'delete_file',
  description:
    'Deletes one file for good; it cannot be undone. Refuses folders. Of a link, the link is deleted and not what it leads to. Returns the path and the bytes that were there.',
  version: '1.0.0',
  inputSchema: Input,
  priority: Priority.LOW,
  accessMode: AccessMode.WRITE,
  dangerLevel: DangerLevel.HIGH,
  executionCategory: ExecutionCategory.WRITE,
  costTier: CostTier.FREE,
  sideEffects: [SideEffect.WRITE, SideEffect.FILESYSTEM],
  reads: [],
  sends: 'nowhere',
  category: 'files',
  keywords: ['delete', 'remove', 'file', 'erase', 'rm', 'clean up'],
  mandatoryKeywords: ['delete file', 'delete the file', 'remove the file'],
  stages: [Stage.EXECUTION],
  taskTypes: ['action', 'edit'],
  examples: ['Delete the file old.log', 'Remove tmp/output.txt', 'Erase the generated report'],
  progressParams: ['path'],
  timeoutMs: 5_000,
  allowParallel: true,
  requiresConsent: true,
  canonicalInput: fileInput,
  conflictKeys(this: BehindFileWall, { path }) {
    return { writes: this.files.keys.below(path) };
  },
  async preview(this: BehindFileWall, { path }) {
    const found = await this.files.stat(path);
    return found === undefined
      ? `Deletes nothing: there is no ${path}`
      : {
          summary: `Deletes ${found.path} (${found.kind}, ${found.bytes} bytes, changed ${found.modified})`,
          reversible: false,
        };
  },
  invalidates: ['files', 'search'],
})
export class DeleteFile {
  constructor(private readonly files: FileWall = new FileWall(process.cwd())) {}

  async execute({ path }: z.input<typeof Input>, { signal }: ToolContext) {
    signal?.throwIfAborted();
    return orFail(async () => ({ ...(await this.files.remove(path)), deleted: true }));
  }
}
