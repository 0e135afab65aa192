import type { ToolMetadataRegistry } from './tool-metadata-registry.js';

/**
 * Returns true for a registry, even from another build or copy of the package. Doesn't invoke any
 * getters.
 */
export function isRegistry(value: unknown): value is ToolMetadataRegistry {
  return (
    typeof value === 'object' &&
    value !== null &&
    Symbol.iterator in value &&
    ['registerAll', 'search', 'getWriteTools'].every((method) => method in value)
  );
}
