import { isPlainObject } from '../../core/plain-data.js';

/** A value with, if it is an object, only the fields named: manifests may hold others, and credentials in them. */
export function picked(value: unknown, fields: readonly string[]): unknown {
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(fields.filter((field) => Object.hasOwn(value, field)).map((field) => [field, value[field]]));
}
