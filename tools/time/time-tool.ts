import { Priority } from '../../src/index.js';
import { COMPUTING } from '../options/shared-options.js';

/** Defaults of all tools for dates. */
export const TIME_TOOL = {
  ...COMPUTING,
  priority: Priority.MEDIUM,
  category: 'time',
  stages: ['planning', 'analysis'],
  taskTypes: ['analysis'],
  timeoutMs: 5_000,
} as const;
