import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  SideEffect,
  Stage,
} from '../../src/index.js';

/** The options of a tool that only reads on this machine. */
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

/** The options of a tool that works with its input alone. */
export const COMPUTING = {
  ...READING,
  executionCategory: ExecutionCategory.COMPUTE,
  reads: [],
  conflictKeys: () => ({ reads: [] }),
} as const;

/** The options in which a tool that changes files differs from `READING`. */
export const WRITING = {
  accessMode: AccessMode.WRITE,
  dangerLevel: DangerLevel.MEDIUM,
  executionCategory: ExecutionCategory.WRITE,
  sideEffects: [SideEffect.WRITE, SideEffect.FILESYSTEM],
  reads: [],
  stages: [Stage.EXECUTION],
} as const;
