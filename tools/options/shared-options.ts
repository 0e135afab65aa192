import { z } from 'zod';

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

/** Options of a tool that runs programs, which can do anything. */
export const EXECUTING = {
  version: '1.0.0',
  accessMode: 'execute',
  executionCategory: 'execute',
  costTier: 'low',
  reads: ['private', 'untrusted'],
  sends: 'outside',
  allowParallel: false,
} as const;

/** Returns the schema of a whole number with a default, by default from 1 up. */
export function wholeNumber(usual: number, most: number, least = 1) {
  return z.number().int().min(least).max(most).default(usual);
}
