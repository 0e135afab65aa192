import { z } from 'zod';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import { mapSchemas } from '../../tool/render-tool.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import { objectSchema, type ObjectSchema } from '../schema/object-schema.js';
import { typesOf } from '../schema/walk-schema.js';
import {
  exportTools,
  exportShape,
  type ExportInput,
  type ExportOptions,
} from './exported-tools.js';
import {
  fieldOf,
  objectsIn,
  withCallMethods,
  type CallAnswer,
  type CallFormat,
  type ModelTools,
  type RawCall,
} from './model-calls.js';
import { FUNCTION_NAME_RULE } from './name-codec.js';
import { openAIContent } from './result-content.js';

/** A tool in the format of OpenAI's Chat Completions API. */
export interface OpenAIChatTool {
  type: 'function';
  function: {
    name: string;
    description: string;
    parameters: ObjectSchema;
  };
}

/** A tool in the format of OpenAI's Responses API. */
export type OpenAIResponsesTool = { type: 'function'; strict: false } & OpenAIChatTool['function'];

/** The answer to one call, for the Chat Completions API. */
type OpenAIChatMessage = { role: 'tool'; tool_call_id: string; content: string };

/** The answer to one call, for the Responses API. */
type OpenAIResponsesMessage = {
  type: 'function_call_output';
  call_id: string;
  output: ReturnType<typeof openAIContent>;
};

interface OpenAIOptions extends ExportOptions {
  /** The API to which you pass the tools. @default 'chat' */
  readonly api?: 'chat' | 'responses';
  /**
   * The maximum length of a description in characters. Longer descriptions are truncated.
   * @default 1,024, because the service rejects longer descriptions
   */
  readonly maxDescription?: number;
}

const schema = z.strictObject({
  ...exportShape,
  api: z.enum(['chat', 'responses']).default('chat'),
  maxDescription: z.number().min(1).or(z.literal(Infinity)).default(1_024),
} satisfies FieldsOf<OpenAIOptions>);

/**
 * Returns the tools in the format of OpenAI's APIs: `client.chat.completions.create({ model,
 * messages, tools: toOpenAITools(selection) })`. With `api: 'responses'`, pass the tools to
 * `client.responses.create`.
 *
 * Equal input produces identical bytes. You can modify the list and its schemas. OpenAI accepts at
 * most 128 tools and rejects an empty list, so select tools from a large registry first.
 *
 * @throws ToolError `INVALID_ARGUMENT`, `NOT_A_TOOL` or `DUPLICATE_TOOL`.
 */
export function toOpenAITools(
  input: ExportInput,
  options: OpenAIOptions & { readonly api: 'responses' },
): ModelTools<OpenAIResponsesTool, OpenAIResponsesMessage>;
export function toOpenAITools(
  input: ExportInput,
  options?: OpenAIOptions & { readonly api?: 'chat' },
): ModelTools<OpenAIChatTool, OpenAIChatMessage>;
export function toOpenAITools(
  input: ExportInput,
  options: OpenAIOptions = {},
):
  | ModelTools<OpenAIChatTool, OpenAIChatMessage>
  | ModelTools<OpenAIResponsesTool, OpenAIResponsesMessage> {
  const { api, maxDescription, level, resolve } = checkOptions(
    schema,
    options,
    'options for exporting to OpenAI',
  );
  const exported = exportTools(input, { level, resolve }, FUNCTION_NAME_RULE);
  const functions = exported.tools.map(({ name, rendered }) => ({
    name,
    description: limitText(rendered.description, maxDescription),
    parameters: mapSchemas(objectSchema(rendered.inputSchema), withItems) as ObjectSchema,
  }));
  // By default, the Responses API makes schemas strict, and rejects schemas that it can't make strict.
  return api === 'responses'
    ? withCallMethods<OpenAIResponsesTool, OpenAIResponsesMessage>(
        functions.map((each) => ({ type: 'function', ...each, strict: false })),
        exported,
        RESPONSES,
      )
    : withCallMethods<OpenAIChatTool, OpenAIChatMessage>(
        functions.map((each) => ({ type: 'function', function: each })),
        exported,
        CHAT,
      );
}

const RESPONSES: CallFormat<OpenAIResponsesMessage> = {
  find: responsesCalls,
  answer: (answers) =>
    answers.map((each) => ({
      type: 'function_call_output',
      call_id: each.id,
      output: each.failed ? answerText(each) : openAIContent(each.content),
    })),
};
const CHAT: CallFormat<OpenAIChatMessage> = {
  find: chatCalls,
  answer: (answers) =>
    answers.map((each) => ({ role: 'tool', tool_call_id: each.id, content: answerText(each) })),
};

/**
 * Adds `items` to an array schema without `items`, because OpenAI rejects such a schema ("array
 * schema missing items").
 */
function withItems(each: JsonSchema): JsonSchema {
  return typesOf(each).includes('array') && each['items'] === undefined
    ? { ...each, items: {} }
    : each;
}

/** Finds the calls in a completion, in its message, or in a list of tool calls. */
function chatCalls(response: unknown): RawCall[] {
  const message = fieldOf(objectsIn(fieldOf(response, 'choices'))[0], 'message') ?? response;
  const calls = objectsIn(Array.isArray(message) ? message : fieldOf(message, 'tool_calls'));
  return calls.map((call) => ({
    id: call['id'],
    name: fieldOf(call['function'], 'name'),
    input: fieldOf(call['function'], 'arguments'),
  }));
}

/** Finds the calls in a response or its output. */
function responsesCalls(response: unknown): RawCall[] {
  const items = objectsIn(Array.isArray(response) ? response : fieldOf(response, 'output')).filter(
    ({ type }) => type === 'function_call',
  );
  return items.map((item) => ({
    id: item['call_id'],
    name: item['name'],
    input: item['arguments'],
  }));
}

function answerText({ failed, text }: CallAnswer): string {
  return failed ? JSON.stringify({ error: text }) : text;
}

/** Truncates a text to a maximum length, without cutting a character in two. */
function limitText(text: string, longest: number): string {
  return text.length <= longest
    ? text
    : `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
