import { z } from 'zod';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
  Stage,
  tool,
} from '../../src/index.js';

/** Names of one answer: far more than processes have. */
const MAX_NAMES = 1_000;

const Input = z.object({
  contains: z
    .string()
    .max(200)
    .default('')
    .describe('Only names that contain this text, in any case'),
});

/** Tells which environment variables are set; their values are never shown. */
@tool({
  name: 'environment_variables',
  description: `Lists the names of the environment variables that are set, sorted, at most ${MAX_NAMES}. Never shows a value: values hold passwords and keys.`,
  inputSchema: Input,
  priority: Priority.LOW,
  accessMode: AccessMode.READONLY,
  dangerLevel: DangerLevel.LOW,
  executionCategory: ExecutionCategory.READ_ONLY,
  costTier: CostTier.FREE,
  sideEffects: SideEffect.NONE,
  reads: ['private'],
  sends: 'nowhere',
  category: 'system',
  keywords: ['environment', 'environment variables', 'env', 'variable set', 'configuration'],
  mandatoryKeywords: ['environment variables'],
  stages: [Stage.INITIAL, Stage.READING],
  taskTypes: ['analysis', 'search'],
  examples: [
    'Which environment variables are set?',
    'Is there a variable for the database?',
    'List variables that start with NODE',
  ],
  progressParams: ['contains'],
  timeoutMs: 5_000,
  allowParallel: true,
  conflictKeys: () => ({ reads: ['system:environment'] }),
  version: '1.0.0',
})
export class EnvironmentVariables {
  execute({ contains = '' }: z.input<typeof Input>): { names: string[]; truncated: boolean } {
    const wanted = contains.toLowerCase();
    const names = Object.keys(process.env)
      .filter((name) => name.toLowerCase().includes(wanted))
      .sort();
    return { names: names.slice(0, MAX_NAMES), truncated: names.length > MAX_NAMES };
  }
}
