import { isToolError, issuesOf, ToolError, type Issue } from '../core/errors.js';
import { cloneFrozen, describeValue, digestOf } from '../core/plain-data.js';
import { expectedGot, formatIssues, toIssues, unknownOption } from '../core/issues.js';
import { once } from '../core/options.js';
import type { SideEffect } from '../core/enums.js';
import { contradictionsIn, inferAxes, type Axes } from './infer-metadata.js';
import { checkJsonSchema, isForeign } from '../json-schema/compile-json-schema.js';
import { isStandardSchema, jsonSchemaOf, type JsonSchema, type ToolSchema } from './tool-schema.js';
import { metadataSchema, type DeclaredMetadata } from './metadata-schema.js';
import {
  DEFAULTS,
  FUNCTION_OPTIONS,
  SCHEMA_OPTIONS,
  TOOL_FIELDS,
  type OptionWithDefault,
  type SchemaOption,
} from './tool-fields.js';
import type { ToolOptions } from './tool-options.js';

/**
 * A tool's metadata, resolved and deeply frozen.
 *
 * The fields have the same names as the options. Lists are never missing, every axis has a value,
 * and `inferred` lists the axes that the author didn't declare.
 */
export interface ToolMetadata
  extends
    Axes,
    Required<Pick<ToolOptions, Exclude<OptionWithDefault, 'sideEffects'>>>,
    Omit<ToolOptions, OptionWithDefault | keyof Axes | 'inputSchema'> {
  readonly sideEffects: readonly SideEffect[];
  readonly inputSchema: ToolSchema;
  /** The input schema as JSON Schema, in the form that models and clients receive. */
  readonly inputJsonSchema: JsonSchema;
  /**
   * The axes that weren't declared, in this order: priority, access mode, danger level, execution
   * category, cost tier, parallelism, reads, sends.
   */
  readonly inferred: readonly (keyof Axes)[];
  /**
   * The SHA-256 of all the data above. The digest is the same in every process if the content is
   * the same.
   */
  readonly digest: string;
}

/** The default values, frozen so that all tools can share them. */
const SHARED = cloneFrozen(DEFAULTS);

/** A tool's options in two forms: as declared by the author, and resolved. */
export interface ResolvedOptions {
  readonly declared: ToolOptions;
  readonly metadata: ToolMetadata;
  /** The tool's `execute`, if the options may include it. */
  readonly execute?: unknown;
}

/**
 * Validates and resolves a tool's options.
 *
 * @param extra Contains `execute` if the options may include it.
 * @throws ToolError `INVALID_METADATA` with every issue: the field, its allowed values, and the
 * actual value.
 */
export function resolveMetadata(
  options: unknown,
  extra: readonly 'execute'[] = [],
): ResolvedOptions {
  const { declared, references, issues, name } = readOptions(
    metadataSchema(),
    [...FUNCTION_OPTIONS, ...SCHEMA_OPTIONS, ...extra],
    options,
  );
  const inputJsonSchema = convertSchema('inputSchema', references, issues);
  const outputJsonSchema =
    references['outputSchema'] && convertSchema('outputSchema', references, issues);
  if (declared === undefined || issues.length > 0)
    throw refused(
      typeof name === 'string' ? `Tool ${describeValue(name)}` : 'A tool without a name',
      issues,
      name,
    );
  const { execute, ...others } = references;
  const { axes, inferred } = inferAxes(declared);
  const data = Object.freeze({ ...SHARED, ...declared, ...axes, inferred });
  // Functions can't be hashed, so the digest only covers which functions a tool has.
  const functions = FUNCTION_OPTIONS.filter((option) => others[option] !== undefined);
  // The digest also covers the schema's source, which determines which patterns are enforced.
  const digest = digestOf({
    ...data,
    inputJsonSchema,
    outputJsonSchema,
    functions,
    ...foreignSchemasOf({ inputSchema: inputJsonSchema, outputSchema: outputJsonSchema }),
  });
  return {
    execute,
    declared: Object.freeze({ ...declared, ...others }) as unknown as ToolOptions,
    metadata: Object.freeze({
      ...data,
      ...others,
      inputJsonSchema,
      digest,
    }) as unknown as ToolMetadata,
  };
}

/** The data options that are specific to one tool, so a toolkit can't set them as defaults. */
const OWN = {
  name: true,
  aliases: true,
  description: true,
  summary: true,
  examples: true,
  progressParams: true,
  handlerRef: true,
} as const;

/** The options that all tools of a toolkit can share. */
export type ToolkitOptions = Partial<
  Omit<ToolOptions<ToolSchema, ToolSchema, never>, keyof typeof OWN | SchemaOption>
>;

const defaultsSchema = once(() => metadataSchema().omit(OWN));

/**
 * Returns the validated defaults of a toolkit. @throws ToolError `INVALID_METADATA` with every
 * issue.
 */
export function checkDefaults(options: unknown): Partial<ToolOptions> {
  const { declared, references, issues } = readOptions(defaultsSchema(), FUNCTION_OPTIONS, options);
  if (issues.length > 0) throw refused('@toolkit', issues);
  return Object.freeze({ ...declared, ...references }) as Partial<ToolOptions>;
}

/**
 * Lists the options whose schemas come from a server. The patterns in these schemas aren't enforced
 * here.
 */
export function foreignSchemasOf(schemas: {
  readonly [Option in SchemaOption]?: object | undefined;
}): { readonly foreignSchemas?: readonly SchemaOption[] } {
  const foreignSchemas = SCHEMA_OPTIONS.filter(
    (option) => schemas[option] !== undefined && isForeign(schemas[option]),
  );
  return foreignSchemas.length === 0 ? {} : { foreignSchemas: Object.freeze(foreignSchemas) };
}

interface ReadOptions {
  /** The options that are plain data, validated and frozen. Missing if any of them is invalid. */
  readonly declared?: DeclaredMetadata;
  /** The functions and schemas, by reference. */
  readonly references: Record<string, JsonSchema | undefined>;
  readonly issues: Issue[];
  readonly name: unknown;
}

function readOptions(
  schema: ReturnType<typeof metadataSchema> | ReturnType<typeof defaultsSchema>,
  byReference: readonly string[],
  options: unknown,
): ReadOptions {
  const plain: Record<string, unknown> = {};
  const references: ReadOptions['references'] = {};
  const issues: Issue[] = [];
  const names = [...Object.keys(schema.shape), ...byReference];
  const fields = typeof options === 'object' && options !== null ? options : {};
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (!names.includes(key)) issues.push(unknown(key, names));
    else if (!byReference.includes(key)) plain[key] = value;
    else if (typeof value === 'function' || (SCHEMA_OPTIONS as readonly string[]).includes(key))
      references[key] = value as JsonSchema;
    else issues.push({ path: [key], message: expectedGot('a function', describeValue(value)) });
  }
  const parsed = schema.safeParse(plain);
  const read = { references, issues, name: plain['name'] };
  if (!parsed.success) {
    issues.push(...toIssues(parsed.error, plain));
    return read;
  }
  const declared = cloneFrozen(parsed.data) as DeclaredMetadata;
  issues.push(...contradictionsIn(declared).map((message) => ({ path: [], message })));
  return { ...read, declared };
}

/** Names that other libraries use for options, in lowercase and without underscores. */
const KNOWN_AS: ReadonlyMap<string, string> = new Map([
  ['parameters', 'inputSchema'],
  ['schema', 'inputSchema'],
  ['input', 'inputSchema'],
  ['handler', 'execute'],
  ['run', 'execute'],
  ['func', 'execute'],
  ['timeout', 'timeoutMs'],
  ['tags', 'keywords'],
  ['cache', 'cacheTtlMs'],
  ...[
    'requiresapproval',
    'needsapproval',
    'requireapproval',
    'approval',
    'confirm',
    'requiresconfirmation',
    'needsconfirmation',
  ].map((name) => [name, 'requiresConsent'] as const),
  ['readonly', 'accessMode'],
  ['parallel', 'allowParallel'],
  ['id', 'name'],
  ['annotations', 'accessMode'],
  ['retries', 'idempotencyKey'],
]);

function unknown(key: string, names: readonly string[]): Issue {
  const letters = key.replaceAll('_', '').toLowerCase();
  const inManifests = Object.entries(TOOL_FIELDS).find(([, { wire }]) => wire === key)?.[0];
  const meant =
    KNOWN_AS.get(letters) ??
    names.find((option) => option === inManifests || option.toLowerCase() === letters);
  const message =
    meant !== undefined && names.includes(meant)
      ? expectedGot('a known option', describeValue(key), `Did you mean "${meant}"?`)
      : unknownOption(key, names);
  return { path: [key], message };
}

/**
 * Replaces a plain JSON Schema with its frozen copy, so the digest stays correct. Other schemas are
 * kept by reference.
 */
function convertSchema(
  option: SchemaOption,
  references: ReadOptions['references'],
  issues: Issue[],
): JsonSchema | undefined {
  try {
    const schema = references[option] as ToolSchema;
    const json = jsonSchemaOf(schema, option === 'inputSchema' ? 'input' : 'output');
    if (isStandardSchema(schema)) return json;
    checkJsonSchema(json);
    return (references[option] = json);
  } catch (error) {
    const found = isToolError(error)
      ? issuesOf(error)
      : [{ path: [], message: `The schema can't be read: ${(error as Error).message}` }];
    issues.push(...found.map(({ path, message }) => ({ path: [option, ...path], message })));
    return undefined;
  }
}

function refused(who: string, issues: readonly Issue[], name?: unknown): ToolError {
  return new ToolError('INVALID_METADATA', `${who} is invalid:\n  ${formatIssues(issues)}`, {
    details: { name: typeof name === 'string' ? name.slice(0, 128) : undefined, issues },
  });
}
