import { AccessMode, ExecutionCategory } from '../../core/enums.js';
import type { ToolEntry } from '../../tool/tool-definition.js';

/** Every cached answer. */
export const EVERYTHING = '*';

/** What a cached answer of a tool belongs to; when one of these is dropped, the answer is. */
export function scopesOf(entry: ToolEntry): readonly string[] {
  return entry.category === undefined ? [EVERYTHING, `tool:${entry.name}`] : [EVERYTHING, `tool:${entry.name}`, `category:${entry.category}`];
}

/**
 * What a call makes stale: what it declares in `invalidates`, otherwise its category; nothing for tools that only read.
 *
 * An execute or mixed call can change anything, and so can a write that says neither what it invalidates nor its category.
 */
export function scopesDroppedBy(entry: ToolEntry): readonly string[] {
  const { accessMode, executionCategory, invalidates, category } = entry;
  if (accessMode === AccessMode.EXECUTE || accessMode === AccessMode.MIXED) return [EVERYTHING];
  if (executionCategory === ExecutionCategory.EXECUTE || executionCategory === ExecutionCategory.MIXED) return [EVERYTHING];
  if (accessMode === AccessMode.READONLY) return [];
  if (invalidates.length > 0) return invalidates.flatMap((name) => [`tool:${name}`, `category:${name}`]);
  return [category === undefined ? EVERYTHING : `category:${category}`];
}
