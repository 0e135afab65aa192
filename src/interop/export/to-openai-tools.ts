import { z } from 'zod';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import type { JsonSchema } from '../../tool/schema/standard-schema.js';
import { exportedTools, levelShape, type ExportedTool, type ExportInput, type ExportOptions } from './export-input.js';
import { answerTo, fieldOf, objectsIn, withMethods, type CallResult, type ModelTools, type RawCall } from './model-calls.js';
import { createNameCodec, FUNCTION_NAME_RULE } from './name-codec.js';
import { objectSchema, type ObjectSchema } from './schema/object-schema.js';
import { strictSchema, withoutNulls } from './schema/strict-schema.js';
import { mapSchemas, typesOf } from './schema/walk-schema.js';

export interface OpenAIChatTool {
  type: 'function';
  function: { name: string; description: string; parameters: Record<string, unknown>; strict?: boolean };
}

export interface OpenAIResponsesTool {
  type: 'function';
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  strict: boolean;
}

/** An answer to one call, in the chat API. */
export interface OpenAIChatMessage {
  role: 'tool';
  tool_call_id: string;
  content: string;
}

/** An answer to one call, in the responses API. */
export interface OpenAIResponsesMessage {
  type: 'function_call_output';
  call_id: string;
  output: string;
}

export interface OpenAIOptions extends ExportOptions {
  /** For which of the two interfaces. @default 'chat' */
  readonly api?: 'chat' | 'responses';
  /**
   * Whether the service holds the model to the schema, where a tool's schema has the form that this needs. @default false
   *
   * Optional parameters are then nullable, and `toCalls` takes their nulls out. Tools with free keys, with values of any type
   * or shown as a stub stay as they are.
   */
  readonly strict?: boolean;
  /** Characters of a description; longer ones are cut. @default 1,024, above which the service refuses the whole request */
  readonly maxDescription?: number;
}

/** Source: the service's own refusal, "string too long. Expected a string with maximum length 1024". */
const MAX_DESCRIPTION = 1_024;

const schema = z.strictObject({
  ...levelShape,
  api: z.enum(['chat', 'responses']).default('chat'),
  strict: z.boolean().default(false),
  maxDescription: z.number().min(1).or(z.literal(Infinity)).default(MAX_DESCRIPTION),
} satisfies FieldsOf<OpenAIOptions>);

/**
 * The tools as OpenAI's APIs take them: `client.chat.completions.create({ model, messages, tools: toOpenAITools(selection) })`,
 * and with `api: 'responses'` the same for `client.responses.create`.
 *
 * Equal input gives equal bytes, in the given order. The list and the schemas are copies that the caller may change. The
 * service takes at most 128 tools and no empty list; make a selection of a large registry first.
 *
 * @throws ToolError `INVALID_ARGUMENT`, `NOT_A_TOOL` or `DUPLICATE_TOOL`.
 */
export function toOpenAITools(input: ExportInput, options: OpenAIOptions & { readonly api: 'responses' }): ModelTools<OpenAIResponsesTool, OpenAIResponsesMessage>;
export function toOpenAITools(input: ExportInput, options?: OpenAIOptions & { readonly api?: 'chat' }): ModelTools<OpenAIChatTool, OpenAIChatMessage>;
export function toOpenAITools(input: ExportInput, options: OpenAIOptions = {}): ModelTools<OpenAIChatTool, OpenAIChatMessage> | ModelTools<OpenAIResponsesTool, OpenAIResponsesMessage> {
  const { api, strict, maxDescription, level } = checkOptions(schema, options, 'options of the export to OpenAI');
  const exported = exportedTools(input, { level });
  const codec = createNameCodec(exported.map(({ entry }) => entry.name), FUNCTION_NAME_RULE);
  const restore = new Map<string, (input: unknown) => unknown>();
  const functions = exported.map((tool) => {
    const { parameters, isStrict } = parametersOf(tool, strict, restore);
    return { name: codec.encode(tool.entry.name)!, description: limitText(tool.rendered.description, maxDescription), parameters, strict: isStrict };
  });
  const reader = { codec, restore };
  const names = functions.map(({ name }) => name);
  if (api === 'responses') {
    const tools = functions.map((each): OpenAIResponsesTool => ({ type: 'function', ...each }));
    return withMethods(tools, reader, names, responsesCalls, (results) => answers(results).map(({ id, text }): OpenAIResponsesMessage => ({ type: 'function_call_output', call_id: id, output: text })));
  }
  const tools = functions.map(({ strict: isStrict, ...each }): OpenAIChatTool => ({ type: 'function', function: isStrict ? { ...each, strict: true } : each }));
  return withMethods(tools, reader, names, chatCalls, (results) => answers(results).map(({ id, text }): OpenAIChatMessage => ({ role: 'tool', tool_call_id: id, content: text })));
}

function parametersOf({ entry, level, rendered }: ExportedTool, strict: boolean, restore: Map<string, (input: unknown) => unknown>): { parameters: ObjectSchema; isStrict: boolean } {
  const loose = objectSchema(rendered.inputSchema);
  // A stub hides the optional parameters, and a closed schema would forbid them.
  const closed = strict && level !== 'stub' ? strictSchema(loose) : undefined;
  if (closed === undefined) return { parameters: mapSchemas(loose, withItems) as ObjectSchema, isStrict: false };
  restore.set(entry.name, (input) => withoutNulls(input, loose));
  return { parameters: closed, isStrict: true };
}

/** The service refuses "array schema missing items", although a list without them is one of anything. */
function withItems(each: JsonSchema): JsonSchema {
  return typesOf(each).includes('array') && each['items'] === undefined ? { ...each, items: {} } : each;
}

/** From a completion, its message, or a list of tool calls. */
function chatCalls(response: unknown): RawCall[] {
  const message = fieldOf(objectsIn(fieldOf(response, 'choices'))[0], 'message') ?? response;
  const calls = objectsIn(Array.isArray(message) ? message : fieldOf(message, 'tool_calls'));
  return calls.map((call) => ({ id: call['id'], name: fieldOf(call['function'], 'name'), input: fieldOf(call['function'], 'arguments') }));
}

/** From a response or its output. */
function responsesCalls(response: unknown): RawCall[] {
  const items = objectsIn(Array.isArray(response) ? response : fieldOf(response, 'output')).filter(({ type }) => type === 'function_call');
  return items.map((item) => ({ id: item['call_id'], name: item['name'], input: item['arguments'] }));
}

function answers(results: Iterable<CallResult>): { id: string; text: string }[] {
  return [...results].map(answerTo).map(({ id, failed, text }) => ({ id, text: failed ? JSON.stringify({ error: text }) : text }));
}

/** Returns a text of at most so many characters, none of them halved. */
function limitText(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
