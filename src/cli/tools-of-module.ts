import { isToolError } from '../core/errors.js';
import { findDefinitions } from '../tool/find-definitions.js';
import { entryOf, type ToolEntry } from '../tool/tool-definition.js';

/**
 * The tools a module exports: definitions, decorated classes, instances of them, and lists of any of these.
 *
 * Where a class and its instance are both exported, the instance counts: it has what its constructor was given.
 */
export function toolsOfModule(module: object): readonly ToolEntry[] {
  const found = new Map<string, ToolEntry>();
  const exported = [...exportsOf(module)];
  for (const value of [...exported.filter((each) => typeof each !== 'function'), ...exported.filter((each) => typeof each === 'function')]) {
    for (const entry of toolsOf(value)) if (!found.has(entry.name)) found.set(entry.name, entry);
  }
  return [...found.values()];
}

/** Named exports, the default export, and where a CommonJS module hides behind it, its own. */
function* exportsOf(module: object): Generator<unknown> {
  for (const value of Object.values(module) as unknown[]) {
    if (Array.isArray(value)) yield* value as unknown[];
    else yield value;
    if (value === (module as { default?: unknown }).default && isPlainObject(value) && toolsOf(value).length === 0) yield* exportsOf(value);
  }
}

function toolsOf(value: unknown): readonly ToolEntry[] {
  try {
    return findDefinitions(value).map(entryOf);
  } catch (error) {
    if (isToolError(error, 'NOT_A_TOOL')) return [];
    throw error;
  }
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
