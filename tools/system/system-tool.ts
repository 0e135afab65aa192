import { Priority } from '../../src/index.js';
import { READING } from '../options/shared-options.js';

/** Defaults for all system tools. */
export const SYSTEM_TOOL = {
  ...READING,
  priority: Priority.LOW,
  reads: ['private'],
  category: 'system',
  stages: ['initial', 'reading'],
  taskTypes: ['analysis'],
  timeoutMs: 5_000,
} as const;
