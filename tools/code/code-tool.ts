import { CostTier, Stage, toolkit } from '../../src/index.js';
import { READING } from '../options/shared-options.js';
import { fileInput, FileWall, readsBelow } from '../walls/file-wall.js';

/** The defaults of all tools for source code. */
@toolkit({
  ...READING,
  costTier: CostTier.LOW,
  reads: ['private', 'untrusted'],
  category: 'search',
  stages: [Stage.READING, Stage.ANALYSIS],
  timeoutMs: 60_000,
  canonicalInput: fileInput,
  conflictKeys: readsBelow,
})
export class CodeTool {
  constructor(protected readonly files: FileWall = new FileWall(process.cwd())) {}
}
