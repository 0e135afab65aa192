import { z } from 'zod';

/** Options for tools that only read on this machine. */
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

/** Options for tools that only use their input. */
export const COMPUTING = {
  ...READING,
  executionCategory: 'compute',
  reads: [],
  conflictKeys: () => ({ reads: [] }),
} as const;

/** Options for tools that change files, in addition to `READING`. */
export const WRITING = {
  accessMode: 'write',
  dangerLevel: 'medium',
  executionCategory: 'write',
  sideEffects: ['write', 'filesystem'],
  reads: [],
  stages: ['execution'],
} as const;

/** Options for tools that run programs, which can do anything. */
export const EXECUTING = {
  version: '1.0.0',
  accessMode: 'execute',
  executionCategory: 'execute',
  costTier: 'low',
  reads: ['private', 'untrusted'],
  sends: 'outside',
  allowParallel: false,
} as const;

/** Returns the schema for an integer with a default value. If no minimum is given, it's 1. */
export function wholeNumber(usual: number, most: number, least = 1) {
  return z.number().int().min(least).max(most).default(usual);
}
