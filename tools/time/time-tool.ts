import { Priority, Stage, toolkit } from '../../src/index.js';
import { COMPUTING } from '../options/shared-options.js';

/** The defaults of all tools for dates. */
@toolkit({
  ...COMPUTING,
  priority: Priority.MEDIUM,
  category: 'time',
  stages: [Stage.PLANNING, Stage.ANALYSIS],
  taskTypes: ['analysis'],
  timeoutMs: 5_000,
})
export class TimeTool {}
