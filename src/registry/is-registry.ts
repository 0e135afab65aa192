import type { ToolMetadataRegistry } from './tool-metadata-registry.js';

/** Tells a registry from other values, also one of another build or copy of the package. No getter is run. */
export function isRegistry(value: unknown): value is ToolMetadataRegistry {
  return (
    typeof value === 'object' &&
    value !== null &&
    Symbol.iterator in value &&
    ['registerAll', 'search', 'getWriteTools'].every((method) => method in value)
  );
}
