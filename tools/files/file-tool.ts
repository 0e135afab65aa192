import { Priority, Stage, toolkit } from '../../src/index.js';
import { READING } from '../options/shared-options.js';
import { fileInput, FileWall, readsBelow } from '../walls/file-wall.js';

/** The defaults of all tools for files. */
@toolkit({
  ...READING,
  priority: Priority.HIGH,
  reads: ['private', 'untrusted'],
  category: 'files',
  stages: [Stage.INITIAL, Stage.READING],
  taskTypes: ['search', 'analysis'],
  timeoutMs: 10_000,
  canonicalInput: fileInput,
  conflictKeys: readsBelow,
})
export class FileTool {
  constructor(protected readonly files: FileWall = new FileWall(process.cwd())) {}
}
