import type { ToolMetadataRegistry } from './tool-metadata-registry.js';

/** Tells a registry from other values, also one of the other build. */
export function isRegistry(value: unknown): value is ToolMetadataRegistry {
  return typeof value === 'object' && value !== null && ['get', 'search', 'getWriteTools'].every((method) => typeof (value as Record<string, unknown>)[method] === 'function');
}
