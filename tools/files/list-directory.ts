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
} from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { pathInput } from '../walls/file-keys.js';
import { type BehindFileWall, fileInput, FileWall } from '../walls/file-wall.js';

const Input = z.object({
  path: pathInput()
    .default('.')
    .describe('Folder to list, relative to the root; the root itself when missing'),
});

/** Lists one folder: names, kinds and sizes, in the order of names. */
@tool({
  name: 'list_directory',
  description:
    'Lists the entries of one folder, not of those inside it: name, kind (file, directory, symlink, other) and the size of files in bytes. At most 1000 entries; "truncated" says when there are more.',
  version: '1.0.0',
  inputSchema: Input,
  priority: Priority.HIGH,
  accessMode: AccessMode.READONLY,
  dangerLevel: DangerLevel.SAFE,
  executionCategory: ExecutionCategory.READ_ONLY,
  costTier: CostTier.FREE,
  sideEffects: SideEffect.NONE,
  reads: ['private', 'untrusted'],
  sends: 'nowhere',
  category: 'files',
  keywords: ['list', 'directory', 'folder', 'files', 'contents', 'ls', 'browse', 'what is in'],
  mandatoryKeywords: ['list directory', 'list the files', 'list folder'],
  stages: [Stage.INITIAL, Stage.READING],
  taskTypes: ['search', 'analysis'],
  examples: [
    'What is in the src folder?',
    'List the files in this project',
    'Show me the contents of docs/',
  ],
  progressParams: ['path'],
  timeoutMs: 10_000,
  allowParallel: true,
  canonicalInput: fileInput,
  conflictKeys(this: BehindFileWall, { path }) {
    return { reads: this.files.keys.below(path) };
  },
})
export class ListDirectory {
  constructor(private readonly files: FileWall = new FileWall(process.cwd())) {}

  async execute({ path = '.' }: z.input<typeof Input>) {
    return orFail(async () => ({
      path: this.files.relative(path),
      ...(await this.files.list(path)),
    }));
  }
}
