import { invalidArgument } from '../../core/issues.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { requireRegistry } from '../../selection/selection-request.js';
import { createNameCodec, FUNCTION_NAME_RULE, GEMINI_NAME_RULE } from '../export/name-codec.js';

/** A part of a message that calls a tool, or contains the result of a call. */
type Part =
  | { readonly is: 'call'; readonly id: unknown; readonly name: string }
  | { readonly is: 'result'; readonly id: unknown; readonly name?: string | undefined };

/**
 * Returns the names of the registered tools that a conversation still needs: tools whose calls have
 * no result yet, because the user hasn't approved them, or has approved them but they haven't run.
 *
 * If you select tools for each request, pass the names as `include`. Otherwise, the selection for the
 * user's answer can lack the tool that the answer is for, and the framework drops the call.
 *
 * ```ts
 * selectTools(registry, { text, include: openToolNames(messages, registry) });
 * ```
 *
 * @param messages UI or model messages of AI SDK 6 and 7, messages or items of OpenAI's two
 * interfaces and OpenAI Agents, Anthropic's messages, Gemini's contents, or LangChain's messages.
 * Anything else in the list is ignored.
 * @throws ToolError `INVALID_ARGUMENT` if the arguments aren't a list and a registry.
 * @returns The names in the registry, even if an export has encoded them, in the order of their
 * calls. Names that no registered tool has are left out.
 */
export function openToolNames(
  messages: Iterable<unknown>,
  registry: ToolMetadataRegistry,
): readonly string[] {
  requireRegistry(registry, 'openToolNames(messages, registry)');
  if (typeof messages !== 'object' || messages === null || !(Symbol.iterator in messages))
    throw invalidArgument(
      'a list of messages as the first argument',
      messages,
      'Call openToolNames(messages, registry).',
    );
  const open: Extract<Part, { is: 'call' }>[] = [];
  for (const message of messages)
    for (const part of partsOf(message)) {
      if (part.is === 'call') {
        open.push(part);
        continue;
      }
      const answered = open.findIndex((call) => isResultOf(part, call));
      if (answered !== -1) open.splice(answered, 1);
    }
  return Object.freeze([...new Set(open.flatMap(({ name }) => registeredNames(name, registry)))]);
}

function isResultOf(result: Part, call: Part): boolean {
  return result.id === undefined ? call.name === result.name : call.id === result.id;
}

/** Yields a message's calls and results. Only messages of the model can contain calls. */
function* partsOf(message: unknown): Generator<Part> {
  const fields = fieldsOf(message);
  if (fields === undefined) return;
  const isModel = MODEL_ROLES.has(fields['role'] ?? fields['type'] ?? 'assistant');
  for (const item of [fields, ...itemsIn(fields)]) {
    const part = readPart(item);
    if (part !== undefined && (part.is === 'result' || isModel || item === fields)) yield part;
    if (isFinished(item)) yield { is: 'result', id: item['toolCallId'] };
  }
}

/** The roles of the model's messages: `model` is Gemini's, and `ai` is LangChain's. */
const MODEL_ROLES: ReadonlySet<unknown> = new Set(['assistant', 'model', 'ai', 'constructor']);

type Fields = Readonly<Record<string, unknown>>;

/** Returns a message's fields. LangChain's stored messages have them in `kwargs` or `data`. */
function fieldsOf(message: unknown): Fields | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const fields = message as Fields;
  for (const inner of [fields['kwargs'], fields['data']])
    if (isPlainObject(inner)) return { type: fields['type'], ...inner };
  return fields;
}

function* itemsIn(fields: Fields): Generator<Fields> {
  for (const list of [fields['content'], fields['parts'], fields['tool_calls']])
    if (Array.isArray(list))
      for (const item of list as readonly unknown[])
        if (typeof item === 'object' && item !== null) yield item as Fields;
}

/** Reads one part in the form of any of the frameworks. */
function readPart(item: Fields): Part | undefined {
  const { type } = item;
  switch (type) {
    case 'tool-call':
    case 'dynamic-tool':
      return call(item['toolCallId'], item['toolName']);
    case 'tool-result':
    case 'tool-error':
      return { is: 'result', id: item['toolCallId'] };
    case 'tool_use':
      return call(item['id'], item['name']);
    case 'tool_result':
      return { is: 'result', id: item['tool_use_id'] };
    case 'function_call':
    case 'custom_tool_call':
      return call(item['call_id'] ?? item['callId'], item['name']);
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'function_call_result':
      return { is: 'result', id: item['call_id'] ?? item['callId'] };
  }
  if (typeof type === 'string' && type.startsWith('tool-') && 'state' in item)
    return call(item['toolCallId'], type.slice('tool-'.length));
  if ('tool_call_id' in item) return { is: 'result', id: item['tool_call_id'] };
  return readNested(item);
}

/** Reads a part that names the function in a member: OpenAI's chat calls and Gemini's parts. */
function readNested(item: Fields): Part | undefined {
  const { functionCall, functionResponse } = item;
  if (isPlainObject(functionCall)) return call(functionCall['id'], functionCall['name']);
  if (isPlainObject(functionResponse))
    return { is: 'result', id: functionResponse['id'], name: text(functionResponse['name']) };
  for (const inner of [item['function'], item['custom']])
    if (isPlainObject(inner)) return call(item['id'], inner['name']);
  // A call in LangChain's `tool_calls`.
  return 'args' in item ? call(item['id'], item['name']) : undefined;
}

function call(id: unknown, name: unknown): Part | undefined {
  return typeof name === 'string' ? { is: 'call', id, name } : undefined;
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined);

/** Returns true for a part of a UI message that contains the call together with its result. */
function isFinished({ state }: Fields): boolean {
  return typeof state === 'string' && state.startsWith('output-');
}

/**
 * Returns the tools that an exported name can stand for. How a name was encoded depends on the other
 * tools of the export, which aren't known here, so there can be two.
 */
function registeredNames(exported: string, registry: ToolMetadataRegistry): readonly string[] {
  const entry = registry.get(exported);
  if (entry !== undefined) return [entry.name];
  const names = [...registry].map(({ name }) => name);
  const found: string[] = [];
  for (const rule of [FUNCTION_NAME_RULE, GEMINI_NAME_RULE]) {
    const together = createNameCodec(names, rule).decode(exported);
    if (together !== undefined) found.push(together);
    for (const name of names)
      if (createNameCodec([name], rule).encode(name) === exported) found.push(name);
  }
  return found;
}
