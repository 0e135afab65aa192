import { Priority } from '../../src/index.js';
import { COMPUTING } from '../options/shared-options.js';

/** Defaults for all date and time tools. */
export const TIME_TOOL = {
  ...COMPUTING,
  priority: Priority.MEDIUM,
  category: 'time',
  stages: ['planning', 'analysis'],
  taskTypes: ['analysis'],
  timeoutMs: 5_000,
} as const;
