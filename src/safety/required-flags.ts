// Without imports: the page of the catalogue uses it, too.

/** The part of a tool that it keeps of its manifest, and its input. */
interface FlaggedTool {
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly inputJsonSchema: Readonly<Record<string, unknown>>;
}

/** The flags that calls of a tool need: all of them, or those of each operation; `malformed` can be met by no call. */
export type RequiredFlags =
  readonly string[] | Readonly<Record<string, readonly string[]>> | 'malformed';

const isList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((flag) => typeof flag === 'string' && flag.trim() !== '');

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns what a manifest says under `requires_flags`; `undefined` when it says nothing. */
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

/** Returns the flags that calls of a tool need in words: each, or those of each operation; none where none are needed. */
export function flagWords(required: RequiredFlags | null | undefined): readonly string[] {
  if (required === 'malformed') return ['what no call has (requires_flags is malformed)'];
  if (required === null || required === undefined || isList(required)) return required ?? [];
  return Object.entries(required).map(
    ([operation, flags]) => `${operation}: ${flags.join(' ') || 'none'}`,
  );
}

/**
 * Returns the flags that one call needs.
 *
 * Flags of operations count for the call's operation where the input says it: in the one field whose `enum` has all these
 * operations. Then an operation without flags needs none. Otherwise which operation it is cannot be told, and the call
 * needs the flags of all.
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
