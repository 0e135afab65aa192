import { z } from 'zod';
import { Priority } from '../../core/enums.js';
import { aFunction, checkOptions, type FieldsOf } from '../../core/options.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { objectSchema, type ObjectSchema } from '../schema/object-schema.js';
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
  type ModelTools,
  type RawCall,
} from './model-calls.js';
import { ANTHROPIC_PARAMETER_RULE, FUNCTION_NAME_RULE, renameParameters } from './name-codec.js';
import { anthropicContent } from './result-content.js';

type CacheControl = { type: 'ephemeral'; ttl?: '5m' | '1h' };

/** A tool in the format of Anthropic's Messages API. */
export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: ObjectSchema;
  defer_loading?: boolean;
  cache_control?: CacheControl;
}

/** The service's search tool, with which the model finds tools that aren't loaded yet. */
type AnthropicToolSearch = (
  | { type: 'tool_search_tool_regex_20251119'; name: 'tool_search_tool_regex' }
  | { type: 'tool_search_tool_bm25_20251119'; name: 'tool_search_tool_bm25' }
) & { cache_control?: CacheControl };

/**
 * The answers to the calls in one message. The service requires that the next message contains all
 * these answers.
 */
type AnthropicMessage = {
  role: 'user';
  content: {
    type: 'tool_result';
    tool_use_id: string;
    content: ReturnType<typeof anthropicContent>;
    is_error?: boolean;
  }[];
};

interface AnthropicOptions extends ExportOptions {
  /**
   * Defers tools: the model doesn't see them at once, but finds them by searching. If any tool is
   * deferred, the service's search tool comes first in the list. `true` defers all tools except
   * tools with priority `critical`. A number is the count of tools at the start of the list that
   * aren't deferred.
   * @default false
   */
  readonly deferLoading?: boolean | number | ((entry: ToolEntry) => boolean);
  /**
   * The search that the service uses for deferred tools. @default 'bm25', which accepts plain words
   */
  readonly toolSearch?: 'bm25' | 'regex';
  /**
   * Lets the service cache the list, up to the last tool that isn't deferred. `true` means five
   * minutes.
   * @default false
   */
  readonly cacheControl?: boolean | '5m' | '1h';
}

const schema = z.strictObject({
  ...exportShape,
  deferLoading: z
    .union(
      [z.boolean(), z.number().int().min(0), aFunction<(entry: ToolEntry) => boolean>()],
      'true, false, a whole number or a function',
    )
    .default(false),
  toolSearch: z.enum(['bm25', 'regex']).default('bm25'),
  cacheControl: z
    .union([z.boolean(), z.enum(['5m', '1h'])], 'true, false, 5m or 1h')
    .default(false),
} satisfies FieldsOf<AnthropicOptions>);

const SEARCHES = {
  bm25: { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
  regex: { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
} as const satisfies Record<string, AnthropicToolSearch>;

/**
 * Returns the tools in the format of Anthropic's Messages API: `client.messages.create({ model,
 * messages, tools: toAnthropicTools(selection) })`.
 *
 * Equal input produces identical bytes. You can modify the list and its schemas. Parameters whose
 * names the service rejects (`$filter`) are renamed, and `toCalls` restores the original names.
 *
 * @throws ToolError `INVALID_ARGUMENT`, `NOT_A_TOOL` or `DUPLICATE_TOOL`.
 */
export function toAnthropicTools(
  input: ExportInput,
  options: AnthropicOptions = {},
): ModelTools<AnthropicTool | AnthropicToolSearch, AnthropicMessage> {
  const { level, resolve, deferLoading, toolSearch, cacheControl } = checkOptions(
    schema,
    options,
    'options for exporting to Anthropic',
  );
  const exported = exportTools(
    input,
    { level, resolve },
    FUNCTION_NAME_RULE,
    Object.values(SEARCHES).map(({ name }) => name),
  );
  const isDeferred = deferral(deferLoading);
  const list: (AnthropicTool | AnthropicToolSearch)[] = [];
  let lastLoaded: AnthropicTool | AnthropicToolSearch | undefined;
  for (const [place, { entry, name, rendered }] of exported.tools.entries()) {
    const renamed = renameParameters(objectSchema(rendered.inputSchema), ANTHROPIC_PARAMETER_RULE);
    exported.restore.set(entry.name, renamed.restore);
    const tool: AnthropicTool = {
      name,
      description: rendered.description,
      input_schema: renamed.schema,
    };
    if (isDeferred(entry, place)) tool.defer_loading = true;
    else lastLoaded = tool;
    list.push(tool);
  }
  if (list.some((tool) => 'defer_loading' in tool)) {
    const search = { ...SEARCHES[toolSearch] };
    list.unshift(search);
    lastLoaded ??= search;
  }
  // The service rejects a cache mark on a deferred tool.
  if (cacheControl !== false && lastLoaded !== undefined)
    lastLoaded.cache_control = {
      type: 'ephemeral',
      ...(typeof cacheControl === 'string' && { ttl: cacheControl }),
    };
  return withCallMethods(list, exported, { find: callsIn, answer });
}

function deferral(
  deferLoading: NonNullable<AnthropicOptions['deferLoading']>,
): (entry: ToolEntry, place: number) => boolean {
  if (typeof deferLoading === 'function') return (entry) => deferLoading(entry);
  if (typeof deferLoading === 'number') return (_, place) => place >= deferLoading;
  return (entry) => deferLoading && entry.priority !== Priority.CRITICAL;
}

/**
 * Finds the calls in a message or its content, except the calls that the service runs itself
 * (`server_tool_use`).
 */
function callsIn(response: unknown): RawCall[] {
  const blocks = objectsIn(
    Array.isArray(response) ? response : fieldOf(response, 'content'),
  ).filter(({ type }) => type === 'tool_use');
  return blocks.map((block) => ({ id: block['id'], name: block['name'], input: block['input'] }));
}

function answer(answers: readonly CallAnswer[]): AnthropicMessage[] {
  const content = answers.map(({ id, failed, text, content }) => ({
    type: 'tool_result' as const,
    tool_use_id: id,
    content: failed ? text : anthropicContent(content),
    ...(failed && { is_error: true }),
  }));
  return content.length === 0 ? [] : [{ role: 'user', content }];
}
