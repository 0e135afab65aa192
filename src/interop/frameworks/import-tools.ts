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

/** The options of importing tools of another framework. */
export interface ImportOptions {
  /** Options that the program knows better than a tool says of itself, by the tool's name where it comes from; `name` gives it another one here. A name that no tool has is refused. @default none */
  readonly overrides?: Readonly<
    Record<string, Partial<Omit<ToolOptions, 'inputSchema' | 'outputSchema'>>>
  >;
  /** Believes MCP annotations among the tools' metadata, which otherwise only tighten, and checks patterns of plain JSON Schemas: one can be made to match for hours. @default false */
  readonly trusted?: boolean;
}

/** A tool of another framework, read. */
export interface ForeignTool {
  readonly title?: string | undefined;
  readonly description: string | undefined;
  readonly metadata: unknown;
  readonly inputSchema: ToolSchema;
  readonly outputSchema?: ToolSchema | undefined;
  readonly requiresConsent?: boolean;
  /** Missing for tools that something else answers. */
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
 * Defines tools that were made for another framework.
 *
 * Nothing that a tool leaves unsaid is assumed harmless: without overrides it is mixed, of high danger, runs alone and is not
 * cached. Its MCP annotations tighten that, and overrides are laid over all. Patterns of plain JSON Schemas are left to the tool.
 *
 * @param read reads one tool; it throws for what cannot be imported.
 * @throws ToolError `INVALID_ARGUMENT` for wrong options; `INVALID_METADATA` naming every tool that is refused, and why.
 */
export function importTools<T>(
  tools: readonly (readonly [name: string, tool: T])[],
  read: (name: string, tool: T) => ForeignTool,
  options: ImportOptions,
): readonly ToolDefinition[] {
  const { overrides, trusted } = checkOptions(schema, options, 'options of the import');
  const names = new Set(tools.map(([name]) => name));
  const refused = Object.keys(overrides)
    .filter((name) => !names.has(name))
    .map(
      (name) =>
        `overrides: ${expectedGot('names of the imported tools', describeValue(name), `They are ${[...names].slice(0, 5).join(', ')}${names.size > 5 ? ' …' : ''}.`)}`,
    );
  const definitions = tools.flatMap(([name, tool]) => {
    try {
      return [
        definitionOf({
          ...optionsOf(name, read(name, tool), trusted),
          ...(Object.hasOwn(overrides, name) ? overrides[name] : {}),
        }),
      ];
    } catch (error) {
      refused.push(
        isToolError(error)
          ? error.message
          : refusedTool(
              name,
              'a definition that can be read',
              'one that throws',
              'Look at its getters.',
            ).message,
      );
      return [];
    }
  });
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
    description:
      [description, title].find((text) => text !== undefined && text.trim() !== '') ??
      `The tool ${name}`,
    inputSchema: originOf(inputSchema, trusted),
    ...(outputSchema && { outputSchema: originOf(outputSchema, trusted) }),
    ...(title !== undefined && { metadata: { title } }),
    ...axesFromAnnotations(hints, { trusted }),
    // A hint of a trusted source takes back no approval that the tool itself asks for.
    ...(requiresConsent === true && { requiresConsent }),
    ...(execute === undefined ? { manual: true } : { execute }),
  };
}

/** Marks a plain JSON Schema that is not trusted as foreign; a schema with a check of its own is the tool's code, and what is no schema is refused later. */
function originOf(schema: ToolSchema, trusted: boolean): ToolSchema {
  return trusted || isStandardSchema(schema) || !isPlainObject(schema)
    ? schema
    : foreignSchema(schema);
}

/** Makes a schema that shows a JSON Schema and is checked by other means. */
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

/** Returns the error for a tool that cannot be imported. */
export function refusedTool(
  name: string,
  expected: string,
  got: string,
  advice: string,
): ToolError {
  return new ToolError(
    'INVALID_METADATA',
    `Tool ${describeValue(name)} is refused:\n  ${expectedGot(expected, got, advice)}`,
  );
}
