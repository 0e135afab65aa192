import { isPlainObject, type Json } from '../core/plain-data.js';

const SAMPLES: Readonly<Record<string, Json>> = { boolean: true, array: [] };

/**
 * Returns a sample value for a schema, with all required fields. Ignores all further
 * restrictions, so the schema can still refuse the sample.
 */
export function sampleOf(schema: unknown): Json {
  if (!isPlainObject(schema)) return 'text';
  const { type, properties, required, minimum, maximum, enum: values, examples } = schema;
  const first = (list: unknown) =>
    Array.isArray(list) ? (list[0] as Json | undefined) : undefined;
  const given = [schema['default'], schema['const'], first(values), first(examples)].find(
    (value) => value !== undefined,
  );
  if (given !== undefined) return given as Json;
  // zod adds the bounds of safe integers, which make poor examples.
  if (type === 'integer' || type === 'number')
    return Math.min(Math.max(1, Number(minimum ?? 1)), Number(maximum ?? Infinity));
  if (type !== 'object') return SAMPLES[String(type)] ?? 'text';
  return Object.fromEntries(
    (Array.isArray(required) ? (required as string[]) : []).map((name) => [
      name,
      sampleOf(isPlainObject(properties) ? properties[name] : undefined),
    ]),
  );
}
