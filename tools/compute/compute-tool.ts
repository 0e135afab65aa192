import { Priority } from '../../src/index.js';
import { COMPUTING } from '../options/shared-options.js';

/** Defaults for all computing tools. */
export const COMPUTE_TOOL = {
  ...COMPUTING,
  priority: Priority.LOW,
  category: 'compute',
  timeoutMs: 5_000,
} as const;
