import { Priority, Stage, toolkit } from '../../src/index.js';
import { READING } from '../options/shared-options.js';

/** The defaults of all tools for the machine. */
@toolkit({
  ...READING,
  priority: Priority.LOW,
  reads: ['private'],
  category: 'system',
  stages: [Stage.INITIAL, Stage.READING],
  taskTypes: ['analysis'],
  timeoutMs: 5_000,
})
export class SystemTool {}
