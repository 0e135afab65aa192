import type * as Messages from '@langchain/core/messages/tool';
import type * as Tools from '@langchain/core/tools';
import type * as Schemas from '@langchain/core/utils/json_schema';
import { ToolError } from '../../core/errors.js';
import { describeValue } from '../../core/plain-data.js';
import { fail, halt } from '../../tool/outcome.js';
import { isStandardSchema, type JsonSchema, type StandardResult, type StandardSchema, type ToolSchema } from '../../tool/schema/standard-schema.js';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import { importTools, type ForeignTool, type ImportOptions } from '../bridge/import-tools.js';

/** A tool of LangChain, as far as it is read. */
export interface ForeignLangChainTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly schema: unknown;
  readonly metadata?: unknown;
  readonly returnDirect?: boolean;
  invoke(input: never, config?: never): Promise<unknown>;
}

/**
 * Tools of LangChain as tools of this package: name, description, input schema and work.
 *
 * Nothing else is assumed: without overrides such a tool is mixed, of high danger, runs alone and is not cached. MCP
 * annotations in `metadata` only tighten that. The input is checked before the call, and parsed by LangChain itself. Events
 * are told as progress; an answer of a `returnDirect` tool halts the run; an error message of the tool is its failure.
 * Artifacts, callbacks and `extras` are left out.
 *
 * @throws ToolError `MISSING_PACKAGE` when `@langchain/core` is not installed; `INVALID_ARGUMENT` for wrong options;
 * `INVALID_METADATA` naming every tool that is refused, and why: tools that a provider runs cannot be run by anybody else.
 */
export async function fromLangChainTools(tools: Iterable<ForeignLangChainTool>, options: ImportOptions = {}): Promise<readonly ToolDefinition[]> {
  if (typeof tools !== 'object' || tools === null || !(Symbol.iterator in tools)) throw new ToolError('INVALID_ARGUMENT', `Expected a list of tools of LangChain, got ${describeValue(tools)}`);
  const langChain = await importLangChain();
  const named = Array.from(tools, (tool) => [typeof tool?.name === 'string' ? tool.name : '', tool] as const);
  return importTools(named, (name, tool) => readTool(langChain, name, tool), options);
}

function readTool(langChain: LangChain, name: string, tool: ForeignLangChainTool): ForeignTool {
  if (typeof tool?.invoke !== 'function') throw refused(name, 'a tool that can be invoked', 'none, such as one that its provider runs; leave it with LangChain');
  const { description, metadata } = tool;
  return { name, description, metadata, inputSchema: schemaOf(langChain, tool), requiresConsent: false, execute: executeOf(langChain, tool as ForeignLangChainTool & Invocable) };
}

/** Checks as the tool's own schema does, and hands the input on as it came: what it converts, LangChain converts. */
function schemaOf({ toJsonSchema }: LangChain, { name, schema }: ForeignLangChainTool): ToolSchema {
  let json: JsonSchema;
  try {
    json = toJsonSchema(schema as Parameters<LangChain['toJsonSchema']>[0]);
  } catch {
    throw refused(name, 'a schema that JSON Schema can express', 'another; give the tool a JSON Schema');
  }
  if (!isStandardSchema(schema)) return json;
  const { vendor } = schema['~standard'];
  const validate = async (value: unknown): Promise<StandardResult<unknown>> => {
    const { issues } = await schema['~standard'].validate(value);
    return issues === undefined ? { value } : { issues };
  };
  const standard = { version: 1, vendor, validate, jsonSchema: { input: () => json, output: () => json } } as const;
  return { '~standard': standard } satisfies StandardSchema;
}

interface Invocable {
  invoke(input: unknown, config: object): Promise<unknown>;
}

function executeOf({ isDirectToolOutput }: LangChain, tool: ForeignLangChainTool & Invocable): Execute {
  return async (input, { signal, reportProgress }) => {
    const callbacks = reportProgress === undefined ? [] : [{ handleToolEvent: (event: unknown) => reportProgress(event) }];
    const result = await tool.invoke(input, { ...(signal && { signal }), callbacks });
    if (!isDirectToolOutput(result)) return tool.returnDirect === true ? halt('the answer of this tool ends the run', result) : result;
    const { content, status } = result as { readonly content?: unknown; readonly status?: unknown };
    if (content === undefined) return fail('Expected a result, got a command that only LangGraph can carry out. Call this tool there.');
    return status === 'error' ? fail(typeof content === 'string' ? content : JSON.stringify(content)) : content;
  };
}

function refused(name: string, expected: string, got: string): ToolError {
  return new ToolError('INVALID_METADATA', `Tool ${describeValue(name)} is refused: expected ${expected}, got ${got}`);
}

/** The part of LangChain that is used. */
export type LangChain = Pick<typeof Tools, 'DynamicStructuredTool'> & Pick<typeof Messages, 'ToolMessage' | 'isDirectToolOutput'> & Pick<typeof Schemas, 'toJsonSchema'>;

/** Loads LangChain. @throws ToolError `MISSING_PACKAGE` when it is not installed. */
export async function importLangChain(): Promise<LangChain> {
  try {
    const [{ DynamicStructuredTool }, { ToolMessage, isDirectToolOutput }, { toJsonSchema }] = await Promise.all([import('@langchain/core/tools'), import('@langchain/core/messages/tool'), import('@langchain/core/utils/json_schema')]);
    return { DynamicStructuredTool, ToolMessage, isDirectToolOutput, toJsonSchema };
  } catch (cause) {
    throw new ToolError('MISSING_PACKAGE', 'Expected the package @langchain/core, got none. Run npm install @langchain/core.', { cause });
  }
}
