import { z } from 'zod';
import { Priority } from '../../core/enums.js';
import { aFunction, checkOptions, type FieldsOf } from '../../core/options.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { exportedTools, levelShape, type ExportInput, type ExportOptions } from './export-input.js';
import { answerTo, fieldOf, objectsIn, withMethods, type CallResult, type ModelTools, type RawCall } from './model-calls.js';
import { createNameCodec, FUNCTION_NAME_RULE } from './name-codec.js';
import { objectSchema, type ObjectSchema } from './schema/object-schema.js';
import { ANTHROPIC_PARAMETER_RULE, renameParameters } from './schema/parameter-names.js';

interface CacheControl {
  type: 'ephemeral';
  ttl?: '5m' | '1h';
}

export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: ObjectSchema;
  defer_loading?: boolean;
  cache_control?: CacheControl;
}

/** The service's own search over the tools that are not loaded yet. */
export type AnthropicToolSearch =
  | { type: 'tool_search_tool_regex_20251119'; name: 'tool_search_tool_regex'; cache_control?: CacheControl }
  | { type: 'tool_search_tool_bm25_20251119'; name: 'tool_search_tool_bm25'; cache_control?: CacheControl };

/** The answers to the calls of one message: the service wants them all in the next. */
export interface AnthropicMessage {
  role: 'user';
  content: { type: 'tool_result'; tool_use_id: string; content: string; is_error?: boolean }[];
}

export interface AnthropicOptions extends ExportOptions {
  /**
   * Which tools the model finds by search instead of seeing them at once; the service's search tool is then the first of the
   * list. `true`: all but those of priority critical; a number: those after the first so many. @default false
   */
  readonly deferLoading?: boolean | number | ((entry: ToolEntry) => boolean);
  /** By which of the service's searches. @default 'bm25', which takes plain words */
  readonly toolSearch?: 'bm25' | 'regex';
  /** Marks the last tool that is loaded at once, so that the service keeps the list; true means five minutes. @default false */
  readonly cacheControl?: boolean | '5m' | '1h';
}

const schema = z.strictObject({
  ...levelShape,
  deferLoading: z
    .union([z.boolean(), z.number().int().min(0), aFunction<(entry: ToolEntry) => boolean>()], 'true, false, a whole number or a function')
    .default(false),
  toolSearch: z.enum(['bm25', 'regex']).default('bm25'),
  cacheControl: z.union([z.boolean(), z.enum(['5m', '1h'])], 'true, false, 5m or 1h').default(false),
} satisfies FieldsOf<AnthropicOptions>);

const SEARCH_NAMES = ['tool_search_tool_bm25', 'tool_search_tool_regex'] as const;

/**
 * The tools as Anthropic's Messages API takes them: `client.messages.create({ model, messages, tools: toAnthropicTools(selection) })`.
 *
 * Equal input gives equal bytes, in the given order, whatever is deferred. The list and the schemas are copies that the
 * caller may change. Parameters whose names the service refuses (`$filter`) are renamed, and `toCalls` gives them back.
 *
 * @throws ToolError `INVALID_ARGUMENT`, `NOT_A_TOOL` or `DUPLICATE_TOOL`.
 */
export function toAnthropicTools(input: ExportInput, options: AnthropicOptions = {}): ModelTools<AnthropicTool | AnthropicToolSearch, AnthropicMessage> {
  const { level, deferLoading, toolSearch, cacheControl } = checkOptions(schema, options, 'options of the export to Anthropic');
  const exported = exportedTools(input, { level });
  const codec = createNameCodec(exported.map(({ entry }) => entry.name), { ...FUNCTION_NAME_RULE, reserved: SEARCH_NAMES });
  const restore = new Map<string, (input: unknown) => unknown>();
  const isDeferred = deferral(deferLoading);
  const tools = exported.map(({ entry, rendered }, place): AnthropicTool => {
    const renamed = renameParameters(objectSchema(rendered.inputSchema), ANTHROPIC_PARAMETER_RULE);
    restore.set(entry.name, renamed.restore);
    const tool: AnthropicTool = { name: codec.encode(entry.name)!, description: rendered.description, input_schema: renamed.schema };
    return isDeferred(entry, place) ? { ...tool, defer_loading: true } : tool;
  });
  const search: AnthropicToolSearch[] = tools.some((tool) => tool.defer_loading === true) ? [searchTool(toolSearch)] : [];
  const list = [...search, ...tools];
  if (cacheControl !== false) markCached(list, cacheControl);
  return withMethods(list, { codec, restore }, tools.map(({ name }) => name), rawCalls, toMessages);
}

function deferral(deferLoading: NonNullable<AnthropicOptions['deferLoading']>): (entry: ToolEntry, place: number) => boolean {
  if (typeof deferLoading === 'function') return (entry) => deferLoading(entry);
  if (typeof deferLoading === 'number') return (_, place) => place >= deferLoading;
  return (entry) => deferLoading && entry.priority !== Priority.CRITICAL;
}

function searchTool(kind: 'bm25' | 'regex'): AnthropicToolSearch {
  return kind === 'bm25' ? { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' } : { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' };
}

/** A mark on a deferred tool is refused. */
function markCached(list: readonly (AnthropicTool | AnthropicToolSearch)[], ttl: true | '5m' | '1h'): void {
  const last = list.findLast((tool) => !('defer_loading' in tool));
  if (last !== undefined) last.cache_control = ttl === true ? { type: 'ephemeral' } : { type: 'ephemeral', ttl };
}

/** From a message or its content. What the service runs itself (`server_tool_use`) is not ours. */
function rawCalls(response: unknown): RawCall[] {
  const blocks = objectsIn(Array.isArray(response) ? response : fieldOf(response, 'content')).filter(({ type }) => type === 'tool_use');
  return blocks.map((block) => ({ id: block['id'], name: block['name'], input: block['input'] }));
}

function toMessages(results: Iterable<CallResult>): AnthropicMessage[] {
  const content = [...results].map(answerTo).map(({ id, failed, text }) => ({ type: 'tool_result' as const, tool_use_id: id, content: text, ...(failed ? { is_error: true } : {}) }));
  return content.length === 0 ? [] : [{ role: 'user', content }];
}
