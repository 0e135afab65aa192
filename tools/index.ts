import type { ToolSource } from '../src/index.js';

/** placeholder until the tools land */
export function createDefaultTools(_options: { root?: string } = {}): ToolSource[] {
  return [];
}
