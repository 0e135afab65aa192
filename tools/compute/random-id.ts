import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { tool } from '../../src/index.js';
import { COMPUTE_TOOL } from './compute-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Maximum number of identifiers per call. */
const MAX_IDS = 100;

const Input = z.object({
  count: wholeNumber(1, MAX_IDS).describe('Number of identifiers to generate'),
});

/** Generates identifiers that can't be guessed and never repeat. */
@tool({
  ...COMPUTE_TOOL,
  name: 'random_id',
  description:
    'Returns new random UUIDs (version 4), up to 100 at a time. Every call returns different ones.',
  inputSchema: Input,
  keywords: ['uuid', 'random id', 'unique id', 'identifier', 'guid', 'generate id', 'random'],
  mandatoryKeywords: ['uuid', 'guid', 'random id'],
  stages: ['planning', 'execution'],
  taskTypes: ['generation'],
  examples: [
    'Give me a new UUID',
    'Generate five unique identifiers',
    'I need a random id for this record',
  ],
  // Results aren't cached, because a cached result would repeat an identifier.
  cacheTtlMs: 0,
  idempotencyKey: false,
})
export class RandomId {
  constructor(private readonly makeId: () => string = randomUUID) {}

  execute({ count = 1 }: z.input<typeof Input>) {
    return { ids: Array.from({ length: count }, () => this.makeId()) };
  }
}
