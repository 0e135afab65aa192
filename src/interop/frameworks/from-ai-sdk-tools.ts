import { randomUUID } from '../../core/crypto.js';
import { ToolError } from '../../core/errors.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import type { ToolContext } from '../../tool/tool-options.js';
import {
  isStandardSchema,
  type JsonSchema,
  type StandardIssue,
  type ToolSchema,
} from '../../tool/tool-schema.js';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import {
  importTools,
  refusedTool,
  standardSchema,
  type ForeignTool,
  type ImportOptions,
} from './import-tools.js';

interface ForeignAISDKTool {
  readonly type?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
  readonly metadata?: unknown;
  readonly needsApproval?: unknown;
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
}

/**
 * Converts AI SDK tools to definitions with name, description, schemas, and `execute`.
 *
 * For whatever a tool doesn't declare, the strictest value is assumed. `needsApproval` becomes
 * `requiresConsent`, even if it's a function. If a tool streams values, the last value is the
 * result, and all earlier values are reported as progress. A tool without `execute` is manual.
 * `toModelOutput`, `providerOptions`, and `onInput…` are ignored.
 *
 * ```ts
 * registry.registerAll(fromAISDKTools(tools, { overrides: { search: { accessMode: 'readonly' } } }));
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` for invalid options. `INVALID_METADATA`, which lists every
 * tool that can't be imported and why. For example, a tool that a provider runs (`type:
 * 'provider'`) can't run elsewhere.
 */
export function fromAISDKTools(
  tools: Readonly<Record<string, ForeignAISDKTool>>,
  options: ImportOptions = {},
): readonly ToolDefinition[] {
  if (!isPlainObject(tools))
    throw new ToolError(
      'INVALID_ARGUMENT',
      `Expected an AI SDK tool set, got ${describeValue(tools)}`,
    );
  return importTools(Object.entries(tools), readTool, options);
}

function readTool(name: string, tool: ForeignAISDKTool): ForeignTool {
  if (typeof tool !== 'object' || tool === null)
    throw refusedTool(
      name,
      'an AI SDK tool',
      describeValue(tool),
      'Create it with tool() from the AI SDK.',
    );
  const { type, description, title, metadata, needsApproval, inputSchema, outputSchema } = tool;
  if (type === 'provider')
    throw refusedTool(
      name,
      'a tool with a function',
      'a tool that its provider runs',
      'Keep it in the AI SDK.',
    );
  return {
    title,
    description,
    metadata,
    inputSchema: readSchema(inputSchema, name),
    outputSchema: outputSchema === undefined ? undefined : readSchema(outputSchema, name),
    requiresConsent: needsApproval !== undefined && needsApproval !== false,
    execute: tool.execute && executeOf(tool as ForeignAISDKTool & { readonly execute: Run }),
  };
}

type Run = (input: unknown, options: object) => unknown;

function executeOf(tool: { readonly execute: Run }): Execute {
  return (input, context) => {
    const { callId = randomUUID(), signal, context: own } = context;
    // AI SDK 6 calls the context `experimental_context`, and AI SDK 7 `context`.
    const result = tool.execute(input, {
      toolCallId: callId,
      messages: [],
      ...(signal && { abortSignal: signal }),
      ...(own !== undefined && { experimental_context: own, context: own }),
    });
    return typeof result === 'object' && result !== null && Symbol.asyncIterator in result
      ? lastOf(result as AsyncIterable<unknown>, context)
      : result;
  };
}

/** Returns the last value of a stream. The earlier values are reported as progress. */
async function lastOf(
  values: AsyncIterable<unknown>,
  { signal, reportProgress }: ToolContext,
): Promise<unknown> {
  let last: { readonly value: unknown } | undefined;
  for await (const value of values) {
    if (last !== undefined) reportProgress?.(last.value);
    last = { value };
    if (signal?.aborted === true) break; // `return` closes the stream.
  }
  return last?.value;
}

/** The key that marks AI SDK schemas. Source: `schemaSymbol` in @ai-sdk/provider-utils 3 and 4. */
export const AI_SDK_SCHEMA = Symbol.for('vercel.ai.schema');

/** A validation result in the AI SDK's format. */
export type Validation =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: Error };

/**
 * Reads a schema. zod and other Standard Schemas are used unchanged, and schemas created with
 * `jsonSchema` or `zodSchema` use their own validation, if any.
 */
function readSchema(schema: unknown, name: string): ToolSchema {
  if (schema === undefined || schema === null)
    return { type: 'object', properties: {}, additionalProperties: false };
  if (typeof schema === 'object' && AI_SDK_SCHEMA in schema && schema[AI_SDK_SCHEMA] === true) {
    const { jsonSchema: json, validate } = schema as {
      readonly jsonSchema?: unknown;
      readonly validate?: (value: unknown) => unknown;
    };
    if (typeof json !== 'object' || json === null || 'then' in json)
      throw refusedTool(
        name,
        'a JSON Schema',
        'something else, or a promise of a schema',
        'Await it first.',
      );
    if (validate === undefined) return json as JsonSchema;
    return standardSchema('ai', json as JsonSchema, async (value) => {
      const result = (await validate(value)) as Validation;
      return result.success ? { value: result.value } : { issues: issuesOf(result.error) };
    });
  }
  if (isStandardSchema(schema)) {
    if (schema['~standard'].vendor === 'zod' && !('_zod' in schema))
      throw refusedTool(
        name,
        'a zod 4 schema',
        'a zod 3 schema',
        'Wrap it in zodSchema() from the AI SDK.',
      );
    return schema;
  }
  if (typeof schema === 'function') return readSchema((schema as () => unknown)(), name);
  throw refusedTool(
    name,
    'an AI SDK schema',
    describeValue(schema),
    'Wrap it in jsonSchema() from the AI SDK.',
  );
}

/**
 * Returns the issues of a zod error. For other errors, returns a fixed text, because their messages
 * could repeat the whole input.
 */
function issuesOf(error: unknown): readonly StandardIssue[] {
  const issues: unknown =
    typeof error === 'object' && error !== null
      ? (error as { issues?: unknown }).issues
      : undefined;
  return Array.isArray(issues) ? (issues as StandardIssue[]) : [{ message: 'Change the input.' }];
}
