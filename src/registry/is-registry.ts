import type { ToolMetadataRegistry } from './tool-metadata-registry.js';

/**
 * Returns true for a registry, also of another build or copy of the package. It doesn't run any
 * getter.
 */
export function isRegistry(value: unknown): value is ToolMetadataRegistry {
  return (
    typeof value === 'object' &&
    value !== null &&
    Symbol.iterator in value &&
    ['registerAll', 'search', 'getWriteTools'].every((method) => method in value)
  );
}
