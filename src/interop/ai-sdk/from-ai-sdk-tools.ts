import { randomUUID } from 'node:crypto';
import { ToolError } from '../../core/errors.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import type { ToolContext } from '../../tool/metadata/tool-options.js';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import { importTools, type ForeignTool, type ImportOptions } from '../bridge/import-tools.js';
import { fromAISDKSchema } from './ai-sdk-schema.js';

/** A tool of the AI SDK, as far as it is read. */
export interface ForeignAISDKTool {
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
 * Tools of the AI SDK as tools of this package: name, description, schemas and work.
 *
 * Nothing else is assumed: without overrides such a tool is mixed, of high danger, runs alone and is not cached. MCP
 * annotations in `metadata.annotations` only tighten that. `needsApproval`, a function too, becomes `requiresConsent`. Of a
 * tool that streams, earlier values are progress and the last one is the result. `toModelOutput`, `providerOptions` and
 * `onInput…` are left out; a tool without `execute` is manual.
 *
 * ```ts
 * registry.registerAll(fromAISDKTools(tools, { overrides: { search: { accessMode: 'readonly' } } }));
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` for wrong options; `INVALID_METADATA` naming every tool that is refused, and why:
 * those that a provider runs (`type: 'provider'`) cannot be run by anybody else.
 */
export function fromAISDKTools(tools: Readonly<Record<string, ForeignAISDKTool>>, options: ImportOptions = {}): readonly ToolDefinition[] {
  if (!isPlainObject(tools)) throw new ToolError('INVALID_ARGUMENT', `Expected a tool set of the AI SDK, got ${describeValue(tools)}`);
  return importTools(Object.entries(tools), readTool, options);
}

function readTool(name: string, tool: ForeignAISDKTool): ForeignTool {
  if (typeof tool !== 'object' || tool === null) throw refused(name, 'a tool of the AI SDK', describeValue(tool));
  if (tool.type === 'provider' || tool.type === 'provider-defined') throw refused(name, 'a tool with a function', 'one that its provider runs; leave it with the AI SDK');
  const { description, title, metadata, needsApproval, outputSchema } = tool;
  return {
    name,
    title,
    description,
    metadata,
    inputSchema: fromAISDKSchema(tool.inputSchema, name),
    ...(outputSchema === undefined ? {} : { outputSchema: fromAISDKSchema(outputSchema, name) }),
    requiresConsent: needsApproval !== undefined && needsApproval !== false,
    execute: tool.execute === undefined ? undefined : executeOf(tool as ForeignAISDKTool & { readonly execute: Run }),
  };
}

type Run = (input: unknown, options: object) => unknown;

function executeOf(tool: { readonly execute: Run }): Execute {
  return (input, context) => {
    const { callId = randomUUID(), signal } = context;
    const result = tool.execute(input, { toolCallId: callId, messages: [], ...(signal && { abortSignal: signal }) });
    return isAsyncIterable(result) ? lastOf(result, context) : result;
  };
}

/** The last value of a stream; those before are told as progress. */
async function lastOf(values: AsyncIterable<unknown>, { signal, reportProgress }: ToolContext): Promise<unknown> {
  let last: { readonly value: unknown } | undefined;
  for await (const value of values) {
    if (last !== undefined) reportProgress?.(last.value);
    last = { value };
    if (signal?.aborted === true) break; // So that the stream is closed.
  }
  return last?.value;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

function refused(name: string, expected: string, got: string): ToolError {
  return new ToolError('INVALID_METADATA', `Tool ${describeValue(name)} is refused: expected ${expected}, got ${got}`);
}
