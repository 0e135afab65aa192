import { isPlainObject, type Json } from '../core/plain-data.js';

const SAMPLES: Readonly<Record<string, Json>> = { boolean: true, array: [] };

/** Returns a value for a schema, with what is required; where the schema asks for more, it is refused later. */
export function sampleOf(schema: unknown): Json {
  if (!isPlainObject(schema)) return 'text';
  const { type, properties, required, minimum, maximum, enum: values, examples } = schema;
  const first = (list: unknown) =>
    Array.isArray(list) ? (list[0] as Json | undefined) : undefined;
  const given = [schema['default'], schema['const'], first(values), first(examples)].find(
    (value) => value !== undefined,
  );
  if (given !== undefined) return given as Json;
  // The bounds of safe integers, which zod writes, are no example of anything.
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
