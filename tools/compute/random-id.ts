import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { Stage, tool } from '../../src/index.js';
import { COMPUTE_TOOL } from './compute-tool.js';

/** Identifiers of one call: more are made by a program. */
const MAX_IDS = 100;

const Input = z.object({
  count: z.number().int().min(1).max(MAX_IDS).default(1).describe('How many identifiers'),
});

/** Makes identifiers that nobody can guess and that are never given twice. */
@tool({
  ...COMPUTE_TOOL,
  name: 'random_id',
  description:
    'Returns new random UUIDs (version 4), up to 100 at a time. Every call returns others.',
  inputSchema: Input,
  keywords: ['uuid', 'random id', 'unique id', 'identifier', 'guid', 'generate id', 'random'],
  mandatoryKeywords: ['uuid', 'guid', 'random id'],
  stages: [Stage.PLANNING, Stage.EXECUTION],
  taskTypes: ['generation'],
  examples: [
    'Give me a new UUID',
    'Generate five unique identifiers',
    'I need a random id for this record',
  ],
  progressParams: ['count'],
  // It reads nothing that changes, yet a reused answer would be wrong: no two calls are the same call.
  cacheTtlMs: 0,
  idempotencyKey: false,
})
export class RandomId {
  constructor(private readonly makeId: () => string = randomUUID) {}

  execute({ count = 1 }: z.input<typeof Input>): { readonly ids: readonly string[] } {
    return { ids: Array.from({ length: count }, () => this.makeId()) };
  }
}
