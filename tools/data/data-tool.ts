import { Priority, toolkit } from '../../src/index.js';
import { COMPUTING } from '../options/shared-options.js';

/** The defaults of all tools for data. */
@toolkit({
  ...COMPUTING,
  priority: Priority.MEDIUM,
  category: 'data',
  timeoutMs: 10_000,
})
export class DataTool {}
