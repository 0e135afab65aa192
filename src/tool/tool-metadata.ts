import type { z } from 'zod';
import { isToolError, issuesOf, ToolError, type Issue } from '../core/errors.js';
import { cloneFrozen, describeValue, digestOf } from '../core/plain-data.js';
import { expectedGot, formatIssues, suggestNames, suggestValue, toIssues } from '../core/issues.js';
import { PRIORITY_NAMES } from '../core/enum-order.js';
import type { SideEffect } from '../core/enums.js';
import { contradictionsIn, inferAxes, type Axes } from './infer-metadata.js';
import { compileJsonSchema, isForeign } from '../json-schema/compile-json-schema.js';
import { jsonSchemaOf } from './tool-schema.js';
import { metadataSchema, type DeclaredMetadata } from './metadata-schema.js';
import type { JsonSchema, ToolSchema } from './tool-schema.js';
import {
  DEFAULTS,
  FUNCTION_OPTIONS,
  SCHEMA_OPTIONS,
  type OptionOfKind,
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
  const { plain, references: given, issues } = separate(options, [...FUNCTION_OPTIONS, ...extra]);
  const { execute, ...references } = given;
  const parsed = metadataSchema().safeParse(plain);
  if (!parsed.success) issues.push(...issuesOfData(parsed.error, plain));
  else issues.push(...contradictionsIn(parsed.data).map((message) => ({ path: [], message })));

  const inputJsonSchema = convertSchema('inputSchema', references, issues);
  const outputJsonSchema =
    references['outputSchema'] === undefined
      ? undefined
      : convertSchema('outputSchema', references, issues);
  if (!parsed.success || issues.length > 0 || inputJsonSchema === undefined)
    throw refused(
      typeof plain['name'] === 'string'
        ? `Tool ${describeValue(plain['name'])}`
        : 'A tool without a name',
      plain['name'],
      issues,
    );

  const declared = cloneFrozen(parsed.data);
  const { axes, inferred } = inferAxes(declared);
  const data = cloneFrozen({ ...DEFAULTS, ...declared, ...axes, inferred });
  // Functions can't be hashed, so the digest only covers which functions a tool has.
  const functions = FUNCTION_OPTIONS.filter((option) => references[option] !== undefined);
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
    declared: Object.freeze({ ...declared, ...references }) as unknown as ToolOptions,
    metadata: Object.freeze({
      ...data,
      ...references,
      inputJsonSchema,
      digest,
    }) as unknown as ToolMetadata,
  };
}

/** The options that are specific to one tool, so a toolkit can't set them as defaults. */
const OWN = [
  'name',
  'aliases',
  'description',
  'summary',
  'inputSchema',
  'outputSchema',
  'examples',
  'progressParams',
  'handlerRef',
] as const satisfies readonly (keyof ToolOptions)[];

/** The options that all tools of a toolkit can share. */
export type ToolkitOptions = Partial<Omit<ToolOptions, (typeof OWN)[number]>>;

/**
 * Returns the validated defaults of a toolkit. @throws ToolError `INVALID_METADATA` with every
 * issue.
 */
export function checkDefaults(options: unknown): Partial<ToolOptions> {
  const { plain, references, issues } = separate(options, FUNCTION_OPTIONS);
  for (const own of OWN)
    if (own in plain || own in references)
      issues.push({
        path: [own],
        message: expectedGot(
          'options that all tools in a toolkit can share',
          'an option that is specific to one tool',
          'Declare it in @tool.',
        ),
      });
  const parsed = metadataSchema().partial().safeParse(plain);
  if (!parsed.success) issues.push(...issuesOfData(parsed.error, plain));
  else
    issues.push(
      ...contradictionsIn(parsed.data as DeclaredMetadata).map((message) => ({
        path: [],
        message,
      })),
    );
  if (!parsed.success || issues.length > 0) throw refused('@toolkit', undefined, issues);
  return Object.freeze({ ...cloneFrozen(parsed.data), ...references }) as Partial<ToolOptions>;
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

interface Separated {
  /** The options that are plain data, cloned and frozen. */
  readonly plain: Readonly<Record<string, unknown>>;
  /** The functions and schemas, by reference. */
  readonly references: Record<string, unknown>;
  readonly issues: Issue[];
}

function separate(options: unknown, functions: readonly string[]): Separated {
  const plain: Record<string, unknown> = {};
  const references: Record<string, unknown> = {};
  const issues: Issue[] = [];
  if (typeof options !== 'object' || options === null) {
    return {
      plain,
      references,
      issues: [
        {
          path: [],
          message: expectedGot('a tool options object', describeValue(options)),
        },
      ],
    };
  }
  for (const key of keysOf(options, issues)) {
    try {
      const value: unknown = (options as Record<string, unknown>)[key];
      if (value === undefined) continue;
      if ((SCHEMA_OPTIONS as readonly string[]).includes(key)) references[key] = value;
      else if (functions.includes(key)) {
        if (typeof value !== 'function')
          throw new TypeError(`a function, got ${describeValue(value)}`);
        references[key] = value;
      } else if (!Object.hasOwn(metadataSchema().shape, key))
        throw new TypeError(`a known option, got ${describeValue(key)}${hintFor(key, functions)}`);
      else plain[key] = cloneFrozen(value);
    } catch (error) {
      issues.push({ path: [key], message: sentence(error, 'a readable value') });
    }
  }
  return { plain, references, issues };
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
  ['readonly', "accessMode: 'readonly'"],
  ['parallel', 'allowParallel'],
  ['id', 'name'],
  ['annotations', "accessMode: 'readonly'"],
  ['retries', 'idempotencyKey'],
]);

function hintFor(key: string, functions: readonly string[]): string {
  const options = [...Object.keys(metadataSchema().shape), ...SCHEMA_OPTIONS, ...functions];
  const letters = key.replaceAll('_', '').toLowerCase();
  const known =
    KNOWN_AS.get(letters) ??
    options.find((option) => option.toLowerCase() === letters) ??
    suggestNames(key, options)[0];
  return known !== undefined && options.includes(known.split(':', 1)[0]!)
    ? `. Did you mean ${known.includes(':') ? known : JSON.stringify(known)}?`
    : '';
}

/** Returns an object's keys. The object may be a hostile proxy. */
function keysOf(options: object, issues: Issue[]): string[] {
  try {
    return Object.keys(options);
  } catch {
    issues.push({
      path: [],
      message: "Couldn't list the options: their proxy threw. Pass a plain object.",
    });
    return [];
  }
}

/**
 * Replaces a plain JSON Schema with its frozen copy, so the digest stays correct. Other schemas are
 * kept by reference.
 */
function convertSchema(
  option: OptionOfKind<'input' | 'output'>,
  references: Record<string, unknown>,
  issues: Issue[],
): JsonSchema | undefined {
  try {
    const schema = references[option] as ToolSchema;
    const json = jsonSchemaOf(schema, option === 'inputSchema' ? 'input' : 'output');
    if ('~standard' in schema) return json;
    compileJsonSchema(json);
    return (references[option] = json);
  } catch (error) {
    if (isToolError(error, 'INVALID_INPUT_SCHEMA')) {
      issues.push(
        ...issuesOf(error).map(({ path, message }) => ({ path: [option, ...path], message })),
      );
      return undefined;
    }
    if (
      references[option] === undefined &&
      issues.some(({ message }) => message.endsWith(`Did you mean ${JSON.stringify(option)}?`))
    )
      return undefined;
    const hint =
      option === 'inputSchema' && references[option] === undefined
        ? ' Use z.object({}) if the tool takes no input.'
        : '';
    issues.push({ path: [option], message: sentence(error, 'a schema', hint) });
    return undefined;
  }
}

/** Returns a full message for an error that names only the expected value. */
function sentence(error: unknown, otherwise: string, advice = ''): string {
  return `Expected ${error instanceof Error ? error.message : otherwise}.${advice}`.replace(
    /\?\.$/,
    '?',
  );
}

function refused(who: string, name: unknown, issues: readonly Issue[]): ToolError {
  return new ToolError('INVALID_METADATA', `${who} is invalid:\n  ${formatIssues(issues)}`, {
    details: { name: typeof name === 'string' ? name.slice(0, 128) : undefined, issues },
  });
}

/**
 * Returns the issues in the plain-data options, with suggestions for misspelled values and names.
 */
function issuesOfData(
  error: z.ZodError,
  plain: Readonly<Record<string, unknown>>,
): readonly Issue[] {
  return toIssues(error, plain).map(({ path, message }) => {
    const [option, index] = path as readonly [keyof ToolOptions, number?];
    const given = plain[option];
    const value: unknown = Array.isArray(given) && index !== undefined ? given[index] : given;
    return {
      path,
      message: typeof value === 'string' ? `${message}${hintForValue(option, value)}` : message,
    };
  });
}

function hintForValue(option: keyof ToolOptions, value: string): string {
  if (option === 'name' || option === 'aliases') {
    const name = value
      .replace(/^[^A-Za-z0-9._-]+|[^A-Za-z0-9._-]+$/g, '')
      .replace(/[^A-Za-z0-9._-]+/g, '_');
    return /[A-Za-z0-9]/.test(name) && name.length <= 128
      ? ` Did you mean ${JSON.stringify(name)}?`
      : '';
  }
  const meant = option === 'priority' ? suggestValue(value, PRIORITY_NAMES) : undefined;
  return meant === undefined ? '' : ` Did you mean ${JSON.stringify(meant)}?`;
}
