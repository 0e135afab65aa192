// This file has no imports, because the catalogue's web page uses it too.

/** The parts of a tool that matter here: its input schema, and the metadata from its manifest. */
interface FlaggedTool {
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly inputJsonSchema: Readonly<Record<string, unknown>>;
}

/**
 * The flags that calls need: one list for all calls, or one list per operation. No call satisfies
 * `malformed`.
 */
export type RequiredFlags =
  readonly string[] | Readonly<Record<string, readonly string[]>> | 'malformed';

const isList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((flag) => typeof flag === 'string' && flag.trim() !== '');

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the `requires_flags` of a manifest, or `undefined` if there are none. */
export function requiredFlags({
  metadata,
}: Pick<FlaggedTool, 'metadata'>): RequiredFlags | undefined {
  const said =
    metadata !== undefined && Object.hasOwn(metadata, 'requires_flags')
      ? metadata['requires_flags']
      : undefined;
  if (said === undefined || said === null || said === false) return undefined;
  if (typeof said === 'string') return isList([said]) ? [said] : 'malformed';
  if (isList(said)) return said;
  return isRecord(said) && Object.values(said).every(isList)
    ? (said as Readonly<Record<string, readonly string[]>>)
    : 'malformed';
}

/**
 * Formats the required flags as text, per operation if necessary. Returns an empty list if none are
 * required.
 */
export function flagWords(required: RequiredFlags | null | undefined): readonly string[] {
  if (required === 'malformed') return ['no call satisfies it (requires_flags is malformed)'];
  if (required === null || required === undefined || isList(required)) return required ?? [];
  return Object.entries(required).map(
    ([operation, flags]) => `${operation}: ${flags.join(' ') || 'none'}`,
  );
}

/**
 * Returns the flags that one call needs.
 *
 * If `requires_flags` lists flags per operation, the operation is the value of the one input field
 * whose `enum` contains all these operations. An operation that isn't listed needs no flags. If
 * there's no such field, the call needs the flags of all operations.
 */
export function flagsOfCall(entry: FlaggedTool, input: unknown): readonly string[] | 'malformed' {
  const required = requiredFlags(entry) ?? [];
  if (required === 'malformed' || isList(required)) return required;
  const operations = Object.keys(required);
  const { properties } = entry.inputJsonSchema;
  const fields = Object.entries(isRecord(properties) ? properties : {}).filter(
    ([, schema]) =>
      isRecord(schema) &&
      Array.isArray(schema['enum']) &&
      operations.every((each) => (schema['enum'] as unknown[]).includes(each)),
  );
  const operation =
    fields.length === 1 && isRecord(input) && Object.hasOwn(input, fields[0]![0])
      ? input[fields[0]![0]]
      : undefined;
  const isKnown =
    typeof operation === 'string' &&
    (fields[0]![1] as { enum: unknown[] }).enum.includes(operation);
  if (isKnown) return Object.hasOwn(required, operation) ? required[operation]! : [];
  return [...new Set(Object.values(required).flat())];
}
