/**
 * The parts of the Standard Schema and Standard JSON Schema interfaces (https://standardschema.dev) that tools use.
 *
 * They are written down here, structurally, so that the published types need no schema library.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A JSON Schema object, of any draft. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** The input or output schema of a tool: zod, another Standard Schema with JSON Schema, or plain JSON Schema. */
export type ToolSchema = StandardSchema<unknown> | JsonSchema;

/** The type that `execute` receives: the schema's parsed output, or anything for plain JSON Schema. */
export type InputOf<S> = S extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : // Plain JSON Schema says nothing to the compiler, and `unknown` would refuse every annotated parameter.
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    any;

/**
 * The type that a schema accepts before parsing: for an output schema, what `execute` may return.
 *
 * `never` stands for a schema that the compiler has not inferred yet: `new Promise((resolve) => …)` takes its type from
 * it.
 */
export type SchemaInput<S> = [S] extends [never] ? unknown : S extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly input: infer Input }
    ? Input
    : unknown
  : unknown;

/** Returns true for a Standard Schema (zod's are). */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard = (value as Partial<StandardSchema>)['~standard'];
  return typeof standard === 'object' && standard !== null && typeof standard.validate === 'function';
}
