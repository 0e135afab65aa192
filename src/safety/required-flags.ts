import { isPlainObject } from '../core/plain-data.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** The flags that calls of a tool need: all of them, or those of each operation; `malformed` can be met by no call. */
export type RequiredFlags = readonly string[] | Readonly<Record<string, readonly string[]>> | 'malformed';

const isList = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((flag) => typeof flag === 'string' && flag.trim() !== '');

/** Returns what a manifest says under `requires_flags`; `undefined` when it says nothing. */
export function requiredFlags({ metadata }: Pick<ToolEntry, 'metadata'>): RequiredFlags | undefined {
  const said = metadata !== undefined && Object.hasOwn(metadata, 'requires_flags') ? metadata['requires_flags'] : undefined;
  if (said === undefined || said === null || said === false) return undefined;
  if (typeof said === 'string') return isList([said]) ? [said] : 'malformed';
  if (isList(said)) return said;
  return isPlainObject(said) && Object.values(said).every(isList) ? (said as Readonly<Record<string, readonly string[]>>) : 'malformed';
}

/**
 * Returns the flags that one call needs.
 *
 * Flags of operations count for the call's operation where the input says it: in the one field whose `enum` has all these
 * operations. Then an operation without flags needs none. Otherwise which operation it is cannot be told, and the call
 * needs the flags of all.
 */
export function flagsOfCall(entry: ToolEntry, input: unknown): readonly string[] | 'malformed' {
  const required = requiredFlags(entry) ?? [];
  if (required === 'malformed' || isList(required)) return required;
  const operations = Object.keys(required);
  const { properties } = entry.inputJsonSchema;
  const fields = Object.entries(isPlainObject(properties) ? properties : {}).filter(([, schema]) => isPlainObject(schema) && Array.isArray(schema['enum']) && operations.every((each) => (schema['enum'] as unknown[]).includes(each)));
  const operation = fields.length === 1 && isPlainObject(input) && Object.hasOwn(input, fields[0]![0]) ? input[fields[0]![0]] : undefined;
  const isKnown = typeof operation === 'string' && ((fields[0]![1] as { enum: unknown[] }).enum.includes(operation));
  if (isKnown) return Object.hasOwn(required, operation) ? required[operation]! : [];
  return [...new Set(Object.values(required).flat())];
}
