import { z } from 'zod';
import { checkOptions } from '../../core/options.js';
import { requiresApproval } from '../../registry/derived-sets.js';
import { jsonSchemaOf } from '../../tool/schema/json-schema-of.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { annotationsOf, type ToolAnnotations } from '../tool-annotations.js';
import { exportedTools, levelShape, type ExportInput, type ExportOptions } from './export-input.js';

/** An object schema as `tools/list` wants it. */
export interface McpSchema {
  type: 'object';
  [keyword: string]: unknown;
}

/** A tool of `tools/list`. */
export interface McpTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: McpSchema;
  outputSchema?: McpSchema;
  annotations: { -readonly [Hint in keyof ToolAnnotations]: ToolAnnotations[Hint] };
  /** Under `tooldex/axes` the tool's axes in snake_case: clients that know them need not guess from the hints. */
  _meta: Record<string, unknown>;
}

export type McpTools = McpTool[] & { readonly tools: McpTool[] };

const schema = z.strictObject(levelShape);

/**
 * The tools as an MCP server lists them, with all four annotations.
 *
 * Names stay as they are: the protocol allows the same ones. An output schema goes along where it is one of an object, as
 * the protocol demands. Equal input gives equal bytes, in the given order; all are copies that the caller may change.
 *
 * @throws ToolError `INVALID_ARGUMENT`, `NOT_A_TOOL` or `DUPLICATE_TOOL`.
 */
export function toMcpTools(input: ExportInput, options: ExportOptions = {}): McpTools {
  const { level } = checkOptions(schema, options, 'options of the export to MCP');
  const tools = exportedTools(input, { level }).map(({ entry, rendered }): McpTool => {
    const annotations = { ...annotationsOf(entry) };
    const outputSchema = outputOf(entry);
    return {
      name: entry.name,
      ...(annotations.title === undefined ? {} : { title: annotations.title }),
      description: rendered.description,
      inputSchema: structuredClone({ ...rendered.inputSchema, type: 'object' }),
      ...(outputSchema === undefined ? {} : { outputSchema }),
      annotations,
      _meta: { 'tooldex/axes': axesOf(entry) },
    };
  });
  return Object.defineProperty(tools, 'tools', { value: tools, enumerable: false }) as McpTools;
}

function outputOf({ outputSchema }: ToolEntry): McpSchema | undefined {
  const json = outputSchema === undefined ? undefined : jsonSchemaOf(outputSchema, 'output');
  return json?.['type'] === 'object' ? structuredClone({ ...json, type: 'object' }) : undefined;
}

function axesOf(entry: ToolEntry): Record<string, unknown> {
  return {
    access_mode: entry.accessMode,
    danger_level: entry.dangerLevel,
    execution_category: entry.executionCategory,
    cost_tier: entry.costTier,
    side_effects: [...entry.sideEffects],
    allow_parallel: entry.allowParallel,
    requires_consent: entry.requiresConsent,
    requires_approval: requiresApproval(entry),
    idempotency_key: entry.idempotencyKey ?? false,
  };
}
