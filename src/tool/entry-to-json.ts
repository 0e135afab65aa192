import type { ToolEntry } from './tool-definition.js';
import { FUNCTION_OPTIONS } from './metadata/tool-options.js';

/** An entry as plain JSON: schemas as JSON Schema, and the names of the functions it has instead of the functions. */
export function entryToJson(entry: ToolEntry): Record<string, unknown> {
  const { definition, inputSchema: _schema, inputJsonSchema, outputSchema: _output, ...rest } = entry;
  const data = Object.fromEntries(Object.entries(rest).filter(([, value]) => typeof value !== 'function'));
  const functions = [...FUNCTION_OPTIONS.filter((option) => entry[option] !== undefined), ...(definition.execute === undefined ? [] : ['execute'])];
  return { ...data, inputSchema: inputJsonSchema, functions };
}
