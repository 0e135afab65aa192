import { z } from 'zod';
import { tool } from '../../src/index.js';
import { SYSTEM_TOOL } from './system-tool.js';

/** Maximum number of names in one result. Real processes have far fewer variables. */
const MAX_NAMES = 1_000;

const Input = z.object({
  contains: z
    .string()
    .max(200)
    .default('')
    .describe('Only names that contain this text, case-insensitively'),
});

/** Lists which environment variables are set. Never shows their values. */
@tool({
  ...SYSTEM_TOOL,
  name: 'environment_variables',
  description: `Lists the names of the environment variables that are set, sorted, at most ${MAX_NAMES}. Never shows values, because they can be passwords and keys.`,
  inputSchema: Input,
  dangerLevel: 'low',
  keywords: ['environment', 'environment variables', 'env', 'variable set', 'configuration'],
  mandatoryKeywords: ['environment variables'],
  taskTypes: ['analysis', 'search'],
  examples: [
    'Which environment variables are set?',
    'Is there a variable for the database?',
    'List variables that start with NODE',
  ],
  conflictKeys: () => ({ reads: ['system:environment'] }),
})
export class EnvironmentVariables {
  execute({ contains = '' }: z.input<typeof Input>) {
    const wanted = contains.toLowerCase();
    const names = Object.keys(process.env)
      .filter((name) => name.toLowerCase().includes(wanted))
      .sort();
    return { names: names.slice(0, MAX_NAMES), truncated: names.length > MAX_NAMES };
  }
}
