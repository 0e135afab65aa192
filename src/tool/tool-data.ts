import { z } from 'zod';
import { ToolError } from '../core/errors.js';
import { describeValue } from '../core/plain-data.js';
import {
  FUNCTION_OPTIONS,
  SCHEMA_OPTIONS,
  type OptionOfKind,
  type SchemaOption,
} from './tool-fields.js';
import { foreignSchemasOf } from './tool-metadata.js';
import type { ToolOptions } from './tool-options.js';
import { refusal, toIssues } from '../core/issues.js';
import { once } from '../core/options.js';
import { foreignSchema, uncheckedPatterns } from '../json-schema/compile-json-schema.js';
import { jsonSchemaOf } from './tool-schema.js';
import { isStandardSchema, type JsonSchema } from './tool-schema.js';
import {
  definitionOf,
  entryOf,
  isToolDefinition,
  type Execute,
  type ToolDefinition,
  type ToolEntry,
} from './tool-definition.js';

const FORMAT = 'tooldex.tool/1';
const FUNCTIONS = ['execute', ...FUNCTION_OPTIONS] as const;
const PARTS = [...FUNCTIONS, ...SCHEMA_OPTIONS] as const;

/** A tool as plain JSON: the options that its author declared, with schemas as JSON Schema. */
export interface ToolJson extends Omit<ToolOptions, OptionOfKind<'function' | 'input' | 'output'>> {
  readonly format: typeof FORMAT;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  /**
   * The options whose schemas come from an MCP server. The server enforces the patterns in these
   * schemas. Missing if no schema comes from a server.
   */
  readonly foreignSchemas?: readonly SchemaOption[];
  /**
   * The parts that exist only as code: functions, and schemas that can validate more than JSON
   * Schema can express.
   */
  readonly code: readonly (typeof PARTS)[number][];
  /** The digest of the tool's registry entry. */
  readonly digest: string;
}

/**
 * The code of a stored tool: its `execute` function, several parts, or the tool's current
 * definition.
 */
type ToolHandler = Execute<never> | ToolCode | ToolDefinition;

type ToolCode = { readonly execute?: Execute<never> } & Partial<
  Pick<ToolOptions, OptionOfKind<'input' | 'output'>>
> & {
    readonly [Option in OptionOfKind<'function'>]?: (input: never) => unknown;
  };

/**
 * The stored tools whose code has been attached again, and the problems with all other stored
 * tools.
 */
export interface RestoredTools {
  /** The tools that match their stored form and have all their functions. */
  readonly tools: readonly ToolDefinition[];
  /**
   * The tools that lack some of their functions. Incomplete tools are excluded because, for
   * example, a tool without its `dangerFor` would need approval less often.
   */
  readonly missing: readonly { readonly name: string; readonly parts: readonly string[] }[];
  /**
   * The tools that no longer match their stored form. `tool` is the current version, in case you
   * accept the change.
   */
  readonly changed: readonly {
    readonly name: string;
    readonly tool: ToolDefinition;
    readonly storedDigest: string;
    readonly digest: string;
  }[];
  /**
   * The values that aren't valid stored tools: their position in the list, and everything that is
   * wrong with them.
   */
  readonly refused: readonly { readonly position: number; readonly error: ToolError }[];
  /** The names of the `tools` whose schema was code, such as zod, and is now only JSON Schema. */
  readonly jsonSchemaOnly: readonly string[];
}

/**
 * Returns a tool as plain JSON, without its functions. Use `toolsFromJson` to attach the functions
 * again.
 */
export function toolToJson(tool: ToolDefinition | ToolEntry): ToolJson {
  const definition = isToolDefinition(tool) ? tool : tool.definition;
  const { inputSchema, outputSchema, ...others } = definition;
  const data = Object.entries(others).filter(([, value]) => typeof value !== 'function');
  const code = PARTS.filter(
    (part) => typeof definition[part] === 'function' || isStandardSchema(definition[part]),
  );
  return Object.freeze({
    format: FORMAT,
    ...(Object.fromEntries(data) as Omit<
      ToolDefinition,
      OptionOfKind<'function' | 'input' | 'output'>
    >),
    inputSchema: jsonSchemaOf(inputSchema, 'input'),
    ...(outputSchema !== undefined && { outputSchema: jsonSchemaOf(outputSchema, 'output') }),
    ...foreignSchemasOf({ inputSchema, outputSchema }),
    code: Object.freeze(code),
    digest: entryOf(definition).digest,
  });
}

/**
 * Returns a registry entry as plain JSON: schemas as JSON Schema, and functions as a list of their
 * option names.
 */
export function entryToJson(entry: ToolEntry): Record<string, unknown> {
  const {
    definition,
    inputSchema: _schema,
    inputJsonSchema,
    outputSchema: _output,
    ...rest
  } = entry;
  const data = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => typeof value !== 'function'),
  );
  const functions = [
    ...FUNCTION_OPTIONS.filter((option) => entry[option] !== undefined),
    ...(definition.execute === undefined ? [] : ['execute']),
  ];
  const findings = uncheckedPatterns(inputJsonSchema).map(({ path, pattern }) => ({
    rule: 'pattern-unchecked',
    path,
    pattern,
  }));
  return {
    ...data,
    inputSchema: inputJsonSchema,
    functions,
    ...(findings.length > 0 && { findings }),
  };
}

/**
 * Attaches code to stored tools created by `toolToJson`.
 *
 * A handler is matched to a tool by `handlerRef` or name. A handler is the tool's `execute`, an
 * object with several parts, or the current definition. `manual` tools don't need a handler. Tools
 * that are incomplete, changed, or invalid are reported and left out of `tools`.
 *
 * ```ts
 * import { defineTool, toolsFromJson, toolToJson } from 'tooldex';
 *
 * const add = defineTool({ name: 'add', description: 'Adds', inputSchema: { type: 'object' }, execute: ({ a, b }) => a
 * + b });
 * const stored = JSON.stringify([toolToJson(add)]);
 * toolsFromJson(JSON.parse(stored), { add: ({ a, b }: { a: number; b: number }) => a + b }).tools.length; // → 1
 * toolsFromJson(JSON.parse(stored), {}).missing; // → [{ name: 'add', parts: ['execute'] }]
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` if the stored tools aren't a list, and `INVALID_METADATA`
 * for a handler with invalid parts.
 */
export function toolsFromJson(
  stored: unknown,
  handlers: Readonly<Record<string, ToolHandler>> = {},
): RestoredTools {
  if (!Array.isArray(stored))
    throw new ToolError(
      'INVALID_ARGUMENT',
      `Expected a list of stored tools, got ${describeValue(stored)}.`,
    );
  const code = new Map<string, ToolDefinition | ToolCode>();
  for (const [key, handler] of Object.entries(handlers))
    code.set(key, typeof handler === 'function' ? { execute: handler } : handler);
  const report = {
    tools: [] as ToolDefinition[],
    missing: [] as RestoredTools['missing'][number][],
    changed: [] as RestoredTools['changed'][number][],
    refused: [] as RestoredTools['refused'][number][],
    jsonSchemaOnly: [] as string[],
  };
  for (const [position, each] of (stored as readonly unknown[]).entries()) {
    const read = readTool(each);
    if (read instanceof ToolError) {
      report.refused.push(Object.freeze({ position, error: read }));
      continue;
    }
    const { definition, code: parts, digest: storedDigest } = read;
    const { name, handlerRef } = definition;
    const key = handlerRef !== undefined && code.has(handlerRef) ? handlerRef : name;
    const handler = code.get(key);
    const lacking = FUNCTIONS.filter(
      (part) =>
        handler?.[part] === undefined &&
        (parts.includes(part)
          ? part !== 'execute' || definition.manual !== true
          : part === 'execute' && !answersElsewhere(definition)),
    );
    if (lacking.length > 0) {
      report.missing.push(Object.freeze({ name, parts: Object.freeze(lacking) }));
      continue;
    }
    const tool = isToolDefinition(handler)
      ? handler
      : handler === undefined
        ? definition
        : definitionOf({ ...definition, ...handler } as ToolDefinition);
    const { digest } = entryOf(tool);
    if (digest !== storedDigest)
      report.changed.push(Object.freeze({ name, tool, storedDigest, digest }));
    else {
      report.tools.push(tool);
      if (SCHEMA_OPTIONS.some((part) => parts.includes(part) && !isStandardSchema(tool[part])))
        report.jsonSchemaOnly.push(name);
    }
  }
  for (const list of Object.values(report)) Object.freeze(list);
  return Object.freeze(report);
}

/** Returns true if a user, a provider, or another program answers the tool's calls. */
function answersElsewhere({ manual, providers = [] }: ToolDefinition): boolean {
  return manual === true || providers.length > 0;
}

/** The fields of a stored tool that aren't its author's options. */
const storedTool = once(() =>
  z.looseObject({
    format: z.literal(FORMAT),
    code: z.array(z.enum(PARTS)),
    digest: z.string().regex(/^[0-9a-f]{64}$/, '64 hexadecimal digits'),
    foreignSchemas: z.array(z.enum(SCHEMA_OPTIONS)).default([]),
  }),
);

interface StoredTool {
  /** The tool without its code. */
  readonly definition: ToolDefinition;
  readonly code: readonly (typeof PARTS)[number][];
  readonly digest: string;
}

/** Returns a stored tool, or an error that lists everything wrong with it. */
function readTool(value: unknown): StoredTool | ToolError {
  try {
    const parsed = storedTool().safeParse(value);
    if (!parsed.success) throw refusal('Invalid stored tool', toIssues(parsed.error, value));
    const { format: _, code, digest, foreignSchemas, ...options } = parsed.data;
    for (const part of foreignSchemas) options[part] = foreignSchema(options[part] as object);
    return { definition: definitionOf(options as unknown as ToolDefinition), code, digest };
  } catch (error) {
    return error as ToolError;
  }
}
