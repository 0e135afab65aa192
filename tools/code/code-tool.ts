import { READING } from '../options/shared-options.js';
import { fileInput, FileWall, readsBelow } from '../walls/file-wall.js';

/** The defaults of all tools for source code. */
export const CODE_TOOL = {
  ...READING,
  costTier: 'low',
  reads: ['private', 'untrusted'],
  category: 'search',
  stages: ['reading', 'analysis'],
  timeoutMs: 60_000,
  canonicalInput: fileInput,
  conflictKeys: readsBelow,
} as const;

/** A tool confined to one folder. */
export class CodeTool {
  constructor(protected readonly files: FileWall = new FileWall(process.cwd())) {}
}
