import type * as Messages from '@langchain/core/messages/tool';
import type * as Tools from '@langchain/core/tools';
import type * as Schemas from '@langchain/core/utils/json_schema';
import { randomUUID } from '../../core/crypto.js';
import { ToolError } from '../../core/errors.js';
import { missingPackage } from '../../core/issues.js';
import { aFunction, checkOptions } from '../../core/options.js';
import { describeValue, isPlainObject, without } from '../../core/plain-data.js';
import type { Confirm, ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { fail, halt } from '../../tool/outcome.js';
import {
  isStandardSchema,
  type JsonSchema,
  type SchemaInput,
  type ToolSchema,
} from '../../tool/tool-schema.js';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import { exportTools, type ExportedTool, type ExportInput } from '../export/exported-tools.js';
import { FUNCTION_NAME_RULE } from '../export/name-codec.js';
import { langChainContent } from '../export/result-content.js';
import { bridgeMetadataOf, type BridgeMetadata } from '../export/to-mcp-tools.js';
import { objectSchema } from '../schema/object-schema.js';
import {
  frameworkSchema,
  GuardedCalls,
  resultOrThrow,
  type FrameworkOptions,
} from './guarded-calls.js';
import {
  importTools,
  refusedTool,
  standardSchema,
  type ForeignTool,
  type ImportOptions,
} from './import-tools.js';
import type { OutputOf } from './output-of.js';

type LangChainOptions = Omit<FrameworkOptions, 'policy'> & {
  /**
   * Asks the user if the policy's verdict is `confirm`.
   * @default the executor's `confirm`; without it, such calls return errors
   */
  readonly confirm?: Confirm;
};

/**
 * A `DynamicStructuredTool` of LangChain. The class is declared here, so that the published types
 * don't need LangChain.
 */
/* eslint-disable @typescript-eslint/no-explicit-any */
export interface LangChainTool<Input = any, Output = any> {
  readonly lc_serializable: boolean;
  readonly lc_namespace: string[];
  readonly lc_id: string[];
  name: string;
  description: string;
  schema: Record<string, unknown>;
  returnDirect: boolean;
  metadata?: BridgeMetadata;
  invoke(input: Input, config?: any): Promise<Output>;
  invoke(input: { readonly type: 'tool_call' }, config?: any): Promise<any>;
  call(input: any, config?: any, tags?: string[]): Promise<any>;
  batch(inputs: any[], options?: any, batchOptions?: any): Promise<any[]>;
  stream(input: any, options?: any): Promise<any>;
  transform(generator: AsyncGenerator<any>, options: any): AsyncGenerator<any>;
  getName(suffix?: string): string;
}
/* eslint-enable @typescript-eslint/no-explicit-any */

/** The LangChain tools for a list of definitions, with their input and output types. */
type LangChainToolsOf<Tools extends readonly ToolDefinition[]> = {
  -readonly [At in keyof Tools]: Tools[At] extends ToolDefinition<
    infer In,
    infer Out,
    string,
    infer Result
  >
    ? LangChainTool<SchemaInput<In>, OutputOf<Out, Result>>
    : never;
};

const optionsSchema = frameworkSchema
  .omit({ policy: true })
  .extend({ confirm: aFunction<Confirm>().optional() });

/**
 * Returns structured tools for LangChain, under the names that models can see (`a.b` becomes
 * `a__b`).
 *
 * The executor runs every call. If you invoke a tool with arguments, it returns its result, or
 * throws a `ToolError`. If you invoke a tool with a model's tool call, it returns a `ToolMessage`:
 * the result as text, with the data as `artifact`, or an error message for the model with `status:
 * 'error'`. LangChain can't wait, so a call that needs an approval or an answer returns an error
 * that says so. Progress is reported as tool events.
 *
 * ```js
 * const agent = createAgent({ model, tools: await toLangChainTools(registry, { executor }) });
 * ```
 *
 * If you pass a list of definitions, the tools have their input and output types.
 *
 * @throws ToolError `MISSING_PACKAGE` if `@langchain/core` isn't installed. `INVALID_ARGUMENT` with
 * every invalid option, or if the input isn't a list of tools. `NOT_A_TOOL` for a member that isn't
 * a tool. `DUPLICATE_TOOL` if two tools have the same name.
 */
export function toLangChainTools<const Tools extends readonly ToolDefinition[]>(
  definitions: Tools,
  options: LangChainOptions,
): Promise<LangChainToolsOf<Tools>>;
export function toLangChainTools(
  input: ExportInput,
  options: LangChainOptions,
): Promise<LangChainTool[]>;
export async function toLangChainTools(
  input: ExportInput,
  options: LangChainOptions,
): Promise<LangChainTool[]> {
  const { executor, confirm, level, resolve, ...callOptions } = checkOptions(
    optionsSchema,
    options,
    'options for exporting to LangChain',
  );
  const { tools } = exportTools(input, { level, resolve }, FUNCTION_NAME_RULE);
  const langChain = await importLangChain();
  const calls = new GuardedCalls(executor, callOptions);
  return tools.map((tool) => {
    const langChainCalls = new LangChainCalls(langChain, tool, calls, confirm);
    const made = new langChain.DynamicStructuredTool<Record<string, unknown>>({
      name: tool.name,
      description: tool.rendered.description,
      schema: shownSchema(tool),
      metadata: bridgeMetadataOf(tool.entry),
      verboseParsingErrors: true, // Shows the model the reason.
      func: (input, runManager, config) => langChainCalls.run(input, runManager, config ?? {}),
    });
    return made as unknown as LangChainTool;
  });
}

interface LangChainConfig {
  /** The model's call, if the tool is invoked with one. */
  readonly toolCall?: { readonly id?: string };
  readonly signal?: AbortSignal;
  readonly context?: unknown;
  readonly configurable?: unknown;
}

/** The calls to one tool. */
class LangChainCalls {
  constructor(
    readonly langChain: LangChain,
    readonly exported: ExportedTool,
    readonly calls: GuardedCalls,
    readonly confirm: Confirm | undefined,
  ) {}

  async run(
    input: unknown,
    events: { handleToolEvent?: (event: unknown) => Promise<unknown> } | undefined,
    { toolCall, signal, context, configurable }: LangChainConfig,
  ): Promise<unknown> {
    const call = { id: toolCall?.id ?? randomUUID(), name: this.exported.entry.name, input };
    const options = await this.calls.optionsFor(context ?? ownConfigurable(configurable), {
      signal,
      confirm: this.confirm,
    });
    const onProgress = (progress: unknown) =>
      void events?.handleToolEvent?.(progress).catch(() => undefined);
    const outcome = await this.calls.run(call, options, { onProgress });
    // An aborted call must throw instead of returning a result.
    signal?.throwIfAborted();
    return toolCall?.id === undefined
      ? resultOrThrow(outcome)
      : this.#message(toolCall.id, outcome);
  }

  /**
   * Returns the answer to a model's call. LangChain would mistake a plain list of objects for
   * message parts, and would end the run with an error.
   */
  #message(id: string, outcome: ToolOutcome): object {
    const { kind, text, content, data } = readOutcome(outcome);
    const facts = { tool_call_id: id, name: this.exported.name };
    return kind === 'result'
      ? new this.langChain.ToolMessage({
          ...facts,
          content: langChainContent(content),
          status: 'success',
          artifact: data,
        })
      : new this.langChain.ToolMessage({ ...facts, content: text, status: 'error' });
  }
}

/** The keys under `configurable` that LangGraph and LangChain's agents set themselves. */
const OF_LANGGRAPH = /^(?:__|checkpoint|langgraph_|ls_|thread_id$|run_id$|assistant_id$|graph_id$)/;

/** Returns the program's own values under `configurable`, or `undefined` if there are none. */
function ownConfigurable(configurable: unknown): unknown {
  if (!isPlainObject(configurable)) return undefined;
  const own = Object.entries(configurable).filter(([key]) => !/^(?:__|checkpoint)/.test(key));
  return own.every(([key]) => OF_LANGGRAPH.test(key)) ? undefined : Object.fromEntries(own);
}

/**
 * Returns the schema that LangChain uses to validate an input. A shortened schema allows additional
 * properties, because it doesn't list all parameters.
 */
function shownSchema({ level, rendered }: ExportedTool): Record<string, unknown> {
  const { additionalProperties, ...open } = objectSchema(rendered.inputSchema);
  return level === 'full' && additionalProperties !== undefined
    ? { ...open, additionalProperties }
    : open;
}

interface ForeignLangChainTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly schema: unknown;
  readonly metadata?: unknown;
  readonly returnDirect?: boolean;
  invoke(input: never, config?: never): Promise<unknown>;
}

/**
 * Converts LangChain tools to definitions with name, description, input schema, and `execute`.
 *
 * For whatever a tool doesn't declare, the strictest value is assumed. The input is validated
 * before the call, and then parsed by LangChain. Events are reported as progress. The answer of a
 * `returnDirect` tool halts the run. If the tool returns an error message, the call has failed.
 * Artifacts, callbacks, and `extras` are ignored.
 *
 * @throws ToolError `MISSING_PACKAGE` if `@langchain/core` isn't installed. `INVALID_ARGUMENT` for
 * invalid options. `INVALID_METADATA`, which lists every tool that can't be imported and why. For
 * example, a tool that a provider runs can't run elsewhere.
 */
export async function fromLangChainTools(
  tools: Iterable<ForeignLangChainTool>,
  options: ImportOptions = {},
): Promise<readonly ToolDefinition[]> {
  if (typeof tools !== 'object' || tools === null || !(Symbol.iterator in tools))
    throw new ToolError(
      'INVALID_ARGUMENT',
      `Expected a list of LangChain tools, got ${describeValue(tools)}. Call fromLangChainTools([tool, …]).`,
    );
  const langChain = await importLangChain();
  const named = Array.from(
    tools,
    (tool) => [typeof tool?.name === 'string' ? tool.name : '', tool] as const,
  );
  return importTools(named, (name, tool) => readTool(langChain, name, tool), options);
}

function readTool(langChain: LangChain, name: string, tool: ForeignLangChainTool): ForeignTool {
  if (typeof tool?.invoke !== 'function')
    throw refusedTool(
      name,
      'a tool that can be invoked',
      'a tool without invoke, which its provider runs',
      'Keep it in LangChain.',
    );
  const { description, metadata } = tool;
  return {
    description,
    metadata,
    inputSchema: checkedSchema(langChain, tool),
    execute: executeOf(langChain, tool as Invocable),
  };
}

/**
 * Returns a schema that validates like the tool's own schema, but passes the input on unchanged,
 * because LangChain converts it later.
 */
function checkedSchema(
  { toJsonSchema }: LangChain,
  { name, schema }: ForeignLangChainTool,
): ToolSchema {
  let json: JsonSchema;
  try {
    json = toJsonSchema(schema as Parameters<LangChain['toJsonSchema']>[0]);
  } catch {
    throw refusedTool(
      name,
      'a schema that JSON Schema can express',
      'a different kind of schema',
      'Give the tool a JSON Schema.',
    );
  }
  if (!isStandardSchema(schema)) return json;
  return standardSchema(schema['~standard'].vendor, json, async (value) => {
    const { issues } = await schema['~standard'].validate(value);
    return issues === undefined ? { value } : { issues };
  });
}

type Invocable = ForeignLangChainTool & {
  invoke(input: unknown, config: object): Promise<unknown>;
};

function executeOf({ isDirectToolOutput }: LangChain, tool: Invocable): Execute {
  return async (input, { signal, reportProgress, context }) => {
    const callbacks =
      reportProgress === undefined
        ? []
        : [{ handleToolEvent: (event: unknown) => reportProgress(event) }];
    const result = await tool.invoke(input, {
      ...without({ signal, context }),
      callbacks,
    });
    if (!isDirectToolOutput(result))
      return tool.returnDirect === true ? halt("this tool's answer ends the run", result) : result;
    const { content, status } = result as { readonly content?: unknown; readonly status?: unknown };
    if (content === undefined)
      return fail(
        'This tool returned a command, which only LangGraph can run. Call the tool in LangGraph.',
      );
    return status === 'error'
      ? fail(typeof content === 'string' ? content : JSON.stringify(content))
      : content;
  };
}

/** The parts of LangChain that are used here. */
type LangChain = Pick<typeof Tools, 'DynamicStructuredTool'> &
  Pick<typeof Messages, 'ToolMessage' | 'isDirectToolOutput'> &
  Pick<typeof Schemas, 'toJsonSchema'>;

async function importLangChain(): Promise<LangChain> {
  try {
    const { DynamicStructuredTool } = await import('@langchain/core/tools');
    const { ToolMessage, isDirectToolOutput } = await import('@langchain/core/messages/tool');
    const { toJsonSchema } = await import('@langchain/core/utils/json_schema');
    return { DynamicStructuredTool, ToolMessage, isDirectToolOutput, toJsonSchema };
  } catch (cause) {
    return missingPackage('@langchain/core')(cause);
  }
}
