import { Priority } from '../../src/index.js';
import { READING, WRITING } from '../options/shared-options.js';
import { fileInput, FileWall, readsBelow } from '../walls/file-wall.js';

/** Defaults for all file tools. */
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

/** Defaults for tools that change files. */
export const CHANGING_FILES = {
  ...FILE_TOOL,
  ...WRITING,
  invalidates: ['files', 'search'],
} as const;

/** The base class of the file tools, which confines these tools to one folder. */
export class FileTool {
  constructor(protected readonly files: FileWall = new FileWall(process.cwd())) {}
}
