/** Options of a tool that only reads on this machine. */
export const READING = {
  version: '1.0.0',
  accessMode: 'readonly',
  dangerLevel: 'safe',
  executionCategory: 'read_only',
  costTier: 'free',
  sideEffects: 'none',
  sends: 'nowhere',
  allowParallel: true,
} as const;

/** Options of a tool that only uses its input. */
export const COMPUTING = {
  ...READING,
  executionCategory: 'compute',
  reads: [],
  conflictKeys: () => ({ reads: [] }),
} as const;

/** Options of a tool that changes files, in addition to `READING`. */
export const WRITING = {
  accessMode: 'write',
  dangerLevel: 'medium',
  executionCategory: 'write',
  sideEffects: ['write', 'filesystem'],
  reads: [],
  stages: ['execution'],
} as const;
