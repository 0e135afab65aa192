import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  SideEffect,
  Stage,
} from '../../src/index.js';

/** Options of a tool that only reads on this machine. */
export const READING = {
  version: '1.0.0',
  accessMode: AccessMode.READONLY,
  dangerLevel: DangerLevel.SAFE,
  executionCategory: ExecutionCategory.READ_ONLY,
  costTier: CostTier.FREE,
  sideEffects: SideEffect.NONE,
  sends: 'nowhere',
  allowParallel: true,
} as const;

/** Options of a tool that only uses its input. */
export const COMPUTING = {
  ...READING,
  executionCategory: ExecutionCategory.COMPUTE,
  reads: [],
  conflictKeys: () => ({ reads: [] }),
} as const;

/** Options of a tool that changes files, in addition to `READING`. */
export const WRITING = {
  accessMode: AccessMode.WRITE,
  dangerLevel: DangerLevel.MEDIUM,
  executionCategory: ExecutionCategory.WRITE,
  sideEffects: [SideEffect.WRITE, SideEffect.FILESYSTEM],
  reads: [],
  stages: [Stage.EXECUTION],
} as const;
