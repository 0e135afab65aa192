import { z } from 'zod';
import { isToolError, ToolError } from '../../core/errors.js';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import { foreignSchema } from '../../json-schema/compile-json-schema.js';
import type { ToolOptions } from '../../tool/metadata/tool-options.js';
import { isStandardSchema, type ToolSchema } from '../../tool/schema/standard-schema.js';
import { defineTool, type Execute, type ToolDefinition } from '../../tool/tool-definition.js';
import { axesFromAnnotations } from '../tool-annotations.js';

/** Options that the program knows better than the imported tool says of itself. */
export type ImportOverride = Partial<Omit<ToolOptions, 'inputSchema' | 'outputSchema'>>;

export interface ImportOptions {
  /** By the tool's name where it comes from; `name` gives it another one here. A name that no tool has is refused. */
  readonly overrides?: Readonly<Record<string, ImportOverride>>;
  /** Whether MCP annotations among the tools' metadata are believed, which otherwise only tighten, and patterns of plain JSON Schemas are checked: one can be made to match for hours. @default false */
  readonly trusted?: boolean;
}

/** A tool of another framework, read. */
export interface ForeignTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string | undefined;
  readonly metadata: unknown;
  readonly inputSchema: ToolSchema;
  readonly outputSchema?: ToolSchema;
  readonly requiresConsent: boolean;
  /** Missing for tools that something else answers. */
  readonly execute: Execute | undefined;
}

const schema = z.strictObject({
  overrides: z.custom<Readonly<Record<string, ImportOverride>>>((value) => isPlainObject(value) && Object.values(value).every(isPlainObject), 'an object of options by tool name').default({}),
  trusted: z.boolean().default(false),
} satisfies FieldsOf<ImportOptions>);

/**
 * Defines tools that were made for another framework.
 *
 * What a tool does not say is not assumed harmless: without overrides it is mixed, of high danger, runs alone and is not
 * cached. Its MCP annotations tighten that, and overrides are laid over all. Patterns of plain JSON Schemas are left to the tool.
 *
 * @param read reads one tool; it throws for what cannot be imported.
 * @throws ToolError `INVALID_ARGUMENT` for wrong options; `INVALID_METADATA` naming every tool that is refused, and why.
 */
export function importTools<T>(tools: readonly (readonly [name: string, tool: T])[], read: (name: string, tool: T) => ForeignTool, options: ImportOptions): readonly ToolDefinition[] {
  const { overrides, trusted } = checkOptions(schema, options, 'options of the import');
  const names = new Set(tools.map(([name]) => name));
  const refused = Object.keys(overrides).filter((name) => !names.has(name)).map((name) => `overrides: expected names of the imported tools, got ${describeValue(name)}`);
  const definitions = tools.flatMap(([name, tool]) => {
    try {
      return [define(read(name, tool), Object.hasOwn(overrides, name) ? overrides[name]! : {}, trusted)];
    } catch (error) {
      refused.push(isToolError(error) ? error.message : `Tool ${describeValue(name)} is refused: its definition cannot be read`);
      return [];
    }
  });
  if (refused.length > 0) throw new ToolError('INVALID_METADATA', refused.join('\n'));
  return Object.freeze(definitions);
}

function define(tool: ForeignTool, override: ImportOverride, trusted: boolean): ToolDefinition {
  const { name, title, description, metadata, inputSchema, outputSchema, execute } = tool;
  const hints = isPlainObject(metadata) ? (metadata['annotations'] ?? metadata) : undefined;
  // A hint of a trusted source takes back no approval that the tool itself asks for.
  const axes = { ...axesFromAnnotations(hints, { trusted }), ...(tool.requiresConsent && { requiresConsent: true }) };
  return defineTool({
    name,
    description: [description, title].find((text) => text !== undefined && text.trim() !== '') ?? `The tool ${name}`,
    inputSchema: originOf(inputSchema, trusted),
    ...(outputSchema === undefined ? {} : { outputSchema: originOf(outputSchema, trusted) }),
    ...(title === undefined ? {} : { metadata: { title } }),
    ...axes,
    ...(execute === undefined ? { manual: true } : { execute }),
    ...override,
  });
}

/** Marks a plain JSON Schema that is not trusted as foreign; a schema with a check of its own is the tool's code, and what is no schema is refused later. */
function originOf(schema: ToolSchema, trusted: boolean): ToolSchema {
  return trusted || isStandardSchema(schema) || !isPlainObject(schema) ? schema : foreignSchema(schema);
}
