import { z } from 'zod';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import { foreignSchema } from '../../json-schema/compile-json-schema.js';
import type { ToolOptions } from '../../tool/tool-options.js';
import {
  isStandardSchema,
  type JsonSchema,
  type StandardResult,
  type StandardSchema,
  type ToolSchema,
} from '../../tool/tool-schema.js';
import { definitionOf, type Execute, type ToolDefinition } from '../../tool/tool-definition.js';
import { axesFromAnnotations } from '../export/to-mcp-tools.js';

/** The options for importing tools from another framework. */
export interface ImportOptions {
  /**
   * Options that override a tool's own declaration, by the tool's original name. `name` renames the
   * tool. Unknown tool names are refused. @default none
   */
  readonly overrides?: Readonly<
    Record<string, Partial<Omit<ToolOptions, 'inputSchema' | 'outputSchema'>>>
  >;
  /**
   * Trusts MCP annotations in the tools' metadata, even if they relax restrictions. Also enforces
   * patterns in plain JSON Schemas, although a hostile pattern can run for hours.
   * @default false
   */
  readonly trusted?: boolean;
}

/** A tool from another framework in a common form. */
export interface ForeignTool {
  readonly title?: string | undefined;
  readonly description: string | undefined;
  readonly metadata: unknown;
  readonly inputSchema: ToolSchema;
  readonly outputSchema?: ToolSchema | undefined;
  readonly requiresConsent?: boolean;
  /** The function that does the work. Missing for manual tools. */
  readonly execute: Execute | undefined;
}

const schema = z.strictObject({
  overrides: z
    .custom<NonNullable<ImportOptions['overrides']>>(
      (value) => isPlainObject(value) && Object.values(value).every(isPlainObject),
      'an object of options by tool name',
    )
    .default({}),
  trusted: z.boolean().default(false),
} satisfies FieldsOf<ImportOptions>);

/**
 * Converts tools that were made for another framework to definitions.
 *
 * Without overrides, a tool that declares nothing has mixed access and high danger, runs alone, and
 * isn't cached. MCP annotations can only make the tool stricter. Overrides take precedence over
 * annotations. Patterns in plain JSON Schemas aren't enforced.
 *
 * @param read Reads one tool, and throws if it can't be imported.
 * @throws ToolError `INVALID_ARGUMENT` for invalid options, `INVALID_METADATA`, which lists every
 * tool that can't be imported and why.
 */
export function importTools<T>(
  tools: readonly (readonly [name: string, tool: T])[],
  read: (name: string, tool: T) => ForeignTool,
  options: ImportOptions,
): readonly ToolDefinition[] {
  const { overrides, trusted } = checkOptions(schema, options, 'options for the import');
  const names = new Set(tools.map(([name]) => name));
  const refused: string[] = [];
  for (const name of Object.keys(overrides))
    if (!names.has(name)) {
      const imported = `${[...names].slice(0, 5).join(', ')}${names.size > 5 ? ' …' : ''}`;
      refused.push(
        `overrides: ${expectedGot('names of the imported tools', describeValue(name), `The imported tools are ${imported}.`)}`,
      );
    }
  const definitions: ToolDefinition[] = [];
  for (const [name, tool] of tools)
    try {
      const own = optionsOf(name, read(name, tool), trusted);
      const override = Object.hasOwn(overrides, name) ? overrides[name] : {};
      definitions.push(definitionOf({ ...own, ...override }));
    } catch (error) {
      if (!isToolError(error)) throw error;
      refused.push(error.message);
    }
  if (refused.length > 0) throw new ToolError('INVALID_METADATA', refused.join('\n'));
  return Object.freeze(definitions);
}

function optionsOf(
  name: string,
  {
    title,
    description,
    metadata,
    inputSchema,
    outputSchema,
    requiresConsent,
    execute,
  }: ForeignTool,
  trusted: boolean,
): Parameters<typeof definitionOf>[0] {
  const hints = isPlainObject(metadata) ? (metadata['annotations'] ?? metadata) : undefined;
  return {
    name,
    description: [description, title].find((text) => text?.trim()) ?? `The tool ${name}`,
    inputSchema: originOf(inputSchema, trusted),
    ...(outputSchema && { outputSchema: originOf(outputSchema, trusted) }),
    ...(title !== undefined && { metadata: { title } }),
    ...axesFromAnnotations(hints, { trusted }),
    // If the tool itself requires approval, trusted hints don't change that.
    ...(requiresConsent === true && { requiresConsent }),
    ...(execute === undefined ? { manual: true } : { execute }),
  };
}

/**
 * Marks a plain JSON Schema as foreign, unless it's trusted. A schema with its own validation
 * function isn't marked, because it's part of the tool's code.
 */
function originOf(schema: ToolSchema, trusted: boolean): ToolSchema {
  return trusted || isStandardSchema(schema) || !isPlainObject(schema)
    ? schema
    : foreignSchema(schema);
}

/** Returns a Standard Schema for a JSON Schema and a validation function. */
export function standardSchema(
  vendor: string,
  json: JsonSchema,
  validate: (value: unknown) => Promise<StandardResult<unknown>>,
): StandardSchema {
  const shown = { input: () => json, output: () => json };
  return {
    '~standard': { version: 1, vendor, validate, jsonSchema: shown } as StandardSchema['~standard'],
  };
}

/** Returns the error for a tool that can't be imported. */
export function refusedTool(
  name: string,
  expected: string,
  got: string,
  advice: string,
): ToolError {
  return new ToolError(
    'INVALID_METADATA',
    `Tool ${describeValue(name)} is invalid:\n  ${expectedGot(expected, got, advice)}`,
  );
}
