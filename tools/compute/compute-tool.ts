import { Priority, toolkit } from '../../src/index.js';
import { COMPUTING } from '../options/shared-options.js';

/** The defaults of all tools that compute. */
@toolkit({
  ...COMPUTING,
  priority: Priority.LOW,
  category: 'compute',
  timeoutMs: 5_000,
})
export class ComputeTool {}
