import { Priority } from '../../src/index.js';
import { READING } from '../options/shared-options.js';
import { fileInput, FileWall, readsBelow } from '../walls/file-wall.js';

/** Defaults of all tools for files. */
export const FILE_TOOL = {
  ...READING,
  priority: Priority.HIGH,
  reads: ['private', 'untrusted'],
  category: 'files',
  stages: ['initial', 'reading'],
  taskTypes: ['search', 'analysis'],
  timeoutMs: 10_000,
  canonicalInput: fileInput,
  conflictKeys: readsBelow,
} as const;

/** A tool confined to one folder. */
export class FileTool {
  constructor(protected readonly files: FileWall = new FileWall(process.cwd())) {}
}
