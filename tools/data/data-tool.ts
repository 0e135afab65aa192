import { Priority } from '../../src/index.js';
import { COMPUTING } from '../options/shared-options.js';

/** Defaults for all data tools. */
export const DATA_TOOL = {
  ...COMPUTING,
  priority: Priority.MEDIUM,
  category: 'data',
  timeoutMs: 10_000,
} as const;
