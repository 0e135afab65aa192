import { AccessMode, ExecutionCategory } from '../../core/enums.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { normalizeLabel } from '../../tool/metadata/metadata-schema.js';
import type { ToolEntry } from '../../tool/tool-definition.js';

/** Every cached answer. */
export const EVERYTHING = '*';

/** Answers of tools that name no category: every write may concern them. */
const UNDECLARED = 'category:';

/** What a cached answer of a tool belongs to; when one of these is dropped, the answer is. */
export function scopesOf({ name, category }: ToolEntry): readonly string[] {
  return [EVERYTHING, `tool:${name}`, category === undefined ? UNDECLARED : `category:${category}`];
}

/**
 * What a call makes stale: what it declares in `invalidates`, otherwise its category; nothing for tools that only read.
 *
 * An execute or mixed call can change anything, and so can a write that says neither what it invalidates nor its category.
 */
export function scopesDroppedBy(entry: ToolEntry, registry: Pick<ToolMetadataRegistry, 'get'>): readonly string[] {
  const { accessMode, executionCategory, invalidates, category } = entry;
  if (accessMode === AccessMode.EXECUTE || accessMode === AccessMode.MIXED) return [EVERYTHING];
  if (executionCategory === ExecutionCategory.EXECUTE || executionCategory === ExecutionCategory.MIXED) return [EVERYTHING];
  if (accessMode === AccessMode.READONLY) return [];
  if (invalidates.length > 0) return [UNDECLARED, ...invalidates.flatMap((name) => [`tool:${registry.get(name)?.name ?? name}`, `category:${normalizeLabel(name)}`])];
  return category === undefined ? [EVERYTHING] : [UNDECLARED, `category:${category}`];
}
