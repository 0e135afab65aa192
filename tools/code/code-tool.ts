import { READING } from '../options/shared-options.js';
import { fileInput, FileWall, readsBelow } from '../walls/file-wall.js';

/** Defaults for all source-code tools. */
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

/** The base class of the source-code tools, which confines these tools to one folder. */
export class CodeTool {
  constructor(protected readonly files: FileWall = new FileWall(process.cwd())) {}
}
