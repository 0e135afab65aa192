import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { aFunction, checkOptions, type FieldsOf } from '../../core/options.js';
import type { CallContext } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { bridgeShape, contextOf, executorOption, GuardedCalls, resultOf, type AskPerson, type CallExecutor } from '../bridge/guarded-calls.js';
import { exportedTools, type ExportedTool, type ExportInput, type ExportOptions } from '../export/export-input.js';
import { createNameCodec, FUNCTION_NAME_RULE } from '../export/name-codec.js';
import { objectSchema } from '../export/schema/object-schema.js';
import { metadataOf, type BridgeMetadata } from '../tool-annotations.js';
import { importLangChain, type LangChain } from './from-langchain-tools.js';

export interface LangChainToolsOptions extends ExportOptions, CallContext {
  /** Makes the calls: a `ToolExecutor`. */
  readonly executor: CallExecutor;
  /** Asks a user where the policy says `confirm`. @default the executor's own; without one such calls are errors */
  readonly confirm?: AskPerson;
}

/**
 * A `DynamicStructuredTool` of LangChain: it can be bound to models, given to agents and invoked.
 *
 * Written down here so that the published types need no LangChain; what it takes and gives is for LangChain's own to say.
 */
/* eslint-disable @typescript-eslint/no-explicit-any */
export interface LangChainTool {
  readonly lc_serializable: boolean;
  readonly lc_namespace: string[];
  readonly lc_id: string[];
  name: string;
  description: string;
  schema: Record<string, unknown>;
  returnDirect: boolean;
  metadata?: BridgeMetadata;
  invoke(input: any, config?: any): Promise<any>;
  call(input: any, config?: any, tags?: string[]): Promise<any>;
  batch(inputs: any[], options?: any, batchOptions?: any): Promise<any[]>;
  stream(input: any, options?: any): Promise<any>;
  transform(generator: AsyncGenerator<any>, options: any): AsyncGenerator<any>;
  getName(suffix?: string): string;
}
/* eslint-enable @typescript-eslint/no-explicit-any */

const schema = z.strictObject({
  ...bridgeShape,
  executor: executorOption,
  confirm: aFunction<AskPerson>().optional(),
} satisfies FieldsOf<LangChainToolsOptions>);

/**
 * The tools as structured tools of LangChain, by the names that models can be given (`a.b` becomes `a__b`).
 *
 * Every call goes through the executor. Invoked with arguments a tool gives its result, and throws a `ToolError` when there
 * is none; invoked with a model's tool call it gives a `ToolMessage`: the result as text, `artifact` the result as data, and
 * `status: 'error'` with a message for the model when there is none. LangChain has no form of waiting: what is awaited, such
 * as an approval or the answer of a manual tool, is an error that says so. Progress is told as tool events.
 *
 * ```js
 * const agent = createAgent({ model, tools: await toLangChainTools(registry, { executor }) });
 * ```
 *
 * @throws ToolError `MISSING_PACKAGE` when `@langchain/core` is not installed; `INVALID_ARGUMENT` with every wrong option or
 * for what can be no tools, `NOT_A_TOOL`, `DUPLICATE_TOOL`.
 */
export async function toLangChainTools(input: ExportInput, options: LangChainToolsOptions): Promise<LangChainTool[]> {
  const { executor, confirm, level, ...rest } = checkOptions(schema, options, 'options of the export to LangChain');
  const exported = exportedTools(input, { level });
  const langChain = await importLangChain();
  const names = createNameCodec(exported.map(({ entry }) => entry.name), FUNCTION_NAME_RULE);
  const calls = new GuardedCalls({ executor, context: contextOf(rest) });
  return exported.map((tool) => toTool(langChain, tool, names.encode(tool.entry.name)!, { executor, calls, confirm }));
}

interface Running {
  readonly executor: CallExecutor;
  readonly calls: GuardedCalls;
  readonly confirm: AskPerson | undefined;
}

function toTool({ DynamicStructuredTool, ToolMessage }: LangChain, tool: ExportedTool, name: string, { executor, calls, confirm }: Running): LangChainTool {
  const { entry, rendered } = tool;
  const made = new DynamicStructuredTool<Record<string, unknown>>({
    name,
    description: rendered.description,
    schema: schemaOf(tool),
    metadata: metadataOf(entry),
    verboseParsingErrors: true, // Otherwise the model is told that something is wrong, and not what.
    func: async (input, runManager, config) => {
      const { toolCall, signal } = (config ?? {}) as RunConfig;
      const id = toolCall?.id ?? randomUUID();
      const stop = executor.on?.((event) => {
        if (event.type === 'call-progress' && event.callId === id && event.toolName === entry.name) void runManager?.handleToolEvent?.(event.progress).catch(() => undefined);
      });
      try {
        const outcome = await calls.run(entry, { id, name: entry.name, input }, { signal, confirm });
        // What cancels a run must not become an answer in it.
        signal?.throwIfAborted();
        if (toolCall?.id === undefined) return resultOf(outcome);
        // Made here: LangChain would take lists of objects for parts of a message, and failures would end the agent's run.
        const { kind, text: content, data } = readOutcome(outcome);
        return new ToolMessage({ content, tool_call_id: toolCall.id, name, ...(kind === 'result' ? { status: 'success', artifact: data } : { status: 'error' }) });
      } finally {
        stop?.();
      }
    },
  });
  return made as unknown as LangChainTool;
}

interface RunConfig {
  /** There when a model's call is invoked. */
  readonly toolCall?: { readonly id?: string };
  readonly signal?: AbortSignal;
}

/**
 * LangChain checks the input against what the model is shown, and writes into the schema: it gets a copy.
 *
 * A shortened schema is left open: it does not show all parameters that the executor takes.
 */
function schemaOf({ entry, rendered }: ExportedTool): Record<string, unknown> {
  const { additionalProperties, ...open } = objectSchema(rendered.inputSchema);
  return rendered.inputSchema === entry.inputJsonSchema && additionalProperties !== undefined ? { ...open, additionalProperties } : open;
}
