import { z } from 'zod';
import { ToolError, type ToolErrorCode } from '../core/errors.js';
import { invalidArgument, refusal, toIssues } from '../core/issues.js';
import { canonicalJson, cloneFrozen, isPlainObject, type Json } from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';

// Messages have the AI SDK's formats.
// The schemas are strict about fields that tooldex reads, and allow parts that services add.

export const json = z.custom<Json>((value) => value !== undefined, { error: 'plain data' });
export const id = z.string().min(1).max(512);
export const toolName = z.string().max(512);
/** Data from a service that must be sent back with the same message or part. */
const providerOptions = z
  .custom<Readonly<Record<string, Json>>>(isPlainObject, { error: 'an object of plain data' })
  .exactOptional();

export const outputSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), value: z.string() }),
  z.strictObject({ type: z.literal('json'), value: json }),
  z.strictObject({ type: z.literal('content'), value: z.array(json).readonly() }),
  z.strictObject({ type: z.literal('error-text'), value: z.string() }),
  z.strictObject({ type: z.literal('error-json'), value: json }),
  z.strictObject({
    type: z.literal('execution-denied'),
    reason: z.string().exactOptional(),
  }),
]);
/** A tool's output as the model reads it. */
export type ToolOutput = Readonly<z.output<typeof outputSchema>>;

const text = z.strictObject({ type: z.literal('text'), text: z.string(), providerOptions });
type TextPart = z.output<typeof text>;

const toolCall = z.strictObject({
  type: z.literal('tool-call'),
  toolCallId: id,
  toolName,
  /** The arguments, or text if the model didn't write valid JSON. */
  input: json,
  /**
   * The arguments as the model's service sent them, if that differs from `JSON.stringify(input)`.
   */
  rawInput: z.string().exactOptional(),
  /** True if the model's service ran the tool itself. If so, the result is in the same message. */
  providerExecuted: z.boolean().exactOptional(),
  providerOptions,
});
/** A tool call in an assistant's message. */
export type ToolCallPart = Readonly<z.output<typeof toolCall>>;

const toolResult = z.strictObject({
  type: z.literal('tool-result'),
  toolCallId: id,
  toolName,
  output: outputSchema,
  providerOptions,
});
/** The result of a call, in a message with the role `tool`. */
export type ToolResultPart = Readonly<z.output<typeof toolResult>>;

/** Any other part, such as reasoning, a file or an image. Other parts are passed on unchanged. */
const other = z.looseObject({
  type: z
    .string()
    .refine((type) => type !== 'text' && type !== 'tool-call', 'a part whose fields fit its type'),
});

export const assistantSchema = z.strictObject({
  role: z.literal('assistant'),
  content: z.union([z.string(), z.array(z.union([text, toolCall, other])).readonly()]),
  providerOptions,
});
/** A model's answer: text, calls, or both. */
export type AssistantMessage = Readonly<z.output<typeof assistantSchema>>;

const toolMessage = z.strictObject({
  role: z.literal('tool'),
  content: z.array(toolResult).readonly(),
  providerOptions,
});
export type ToolMessage = Readonly<z.output<typeof toolMessage>>;

export const messageSchema = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string(), providerOptions }),
  z.strictObject({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(z.union([text, other])).readonly()]),
    providerOptions,
  }),
  assistantSchema,
  toolMessage,
]);
/** One message of a thread, as plain data. */
export type ChatMessage = Readonly<z.output<typeof messageSchema>>;

/** Returns the calls in an assistant's message, in order. */
export function callsIn({ content }: AssistantMessage): readonly ToolCallPart[] {
  return typeof content === 'string'
    ? []
    : content.filter((part): part is ToolCallPart => part.type === 'tool-call');
}

/** Returns the calls in a message without the calls that the model's service ran itself. */
export function ownCallsIn(message: AssistantMessage): readonly ToolCallPart[] {
  return callsIn(message).filter(({ providerExecuted }) => providerExecuted !== true);
}

/** Returns the text of an assistant's message. */
export function textOf({ content }: AssistantMessage): string {
  return typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? (part as TextPart).text : '')).join('');
}

/**
 * Returns a message in which every call has a unique id. Replaces an id that is missing, already
 * taken or used twice, because the results of two such calls couldn't be told apart. Also replaces
 * the id in a result that the model's service put into the same message.
 */
export function withUniqueIds(message: unknown, taken: Set<unknown>): unknown {
  if (!isPlainObject(message) || !Array.isArray(message['content'])) return message;
  const renamed = new Map<unknown, string>();
  const content = message['content'].map((part: unknown) => {
    if (!isPlainObject(part)) return part;
    const { type, toolCallId: writtenId, providerExecuted } = part;
    if (type === 'tool-result' && renamed.has(writtenId))
      return { ...part, toolCallId: renamed.get(writtenId) };
    if (type !== 'tool-call') return part;
    const base =
      typeof writtenId === 'string' && writtenId !== '' && writtenId.length <= 256
        ? writtenId
        : 'call';
    let toolCallId = base;
    for (let copy = 2; taken.has(toolCallId); copy += 1) toolCallId = `${base}-${copy}`;
    taken.add(toolCallId);
    if (providerExecuted === true) renamed.set(writtenId, toolCallId);
    return { ...part, toolCallId };
  });
  return { ...message, content };
}

/**
 * The maximum depth of one message or result. Plain data may be 64 levels deep, but results and
 * snapshots add levels around messages.
 */
export const DEEPEST_MESSAGE = 48;

/**
 * Returns a frozen copy of data for a thread. @throws ToolError `code` unless the value is plain
 * data at most 48 levels deep.
 */
export function cloneMessage<T>(value: T, what: string, code: ToolErrorCode): T {
  const copy = clonePlain(value, what, code);
  if (!isDeeper(copy, DEEPEST_MESSAGE)) return copy;
  throw new ToolError(
    code,
    `Expected ${what} as plain data at most ${DEEPEST_MESSAGE} levels deep, got deeper data.`,
  );
}

/** Returns a frozen copy of plain data. @throws ToolError `code` if the value isn't plain data. */
export function clonePlain<T>(value: T, what: string, code: ToolErrorCode): T {
  try {
    return cloneFrozen(value);
  } catch (error) {
    throw new ToolError(code, `Expected ${what} as ${publicMessage(error)}.`);
  }
}

/** Returns true if lists and objects are nested more than `depth` levels deep. */
export function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((item) => isDeeper(item, depth - 1));
}

/** A thread in the form that models accept, and its calls without a result. */
interface Thread {
  /**
   * Each message with calls is followed by one tool message, which contains the results in the
   * order of the calls.
   */
  readonly messages: readonly ChatMessage[];
  readonly open: readonly ToolCallPart[];
}

/**
 * Checks and copies messages, and merges each turn's results in call order.
 *
 * @throws ToolError `INVALID_ARGUMENT` listing every invalid message, `UNKNOWN_CALL` for a result
 * without a call, and `ALREADY_RESOLVED` for two different results of one call.
 */
function readThread(thread: unknown): Thread {
  if (!Array.isArray(thread)) throw invalidArgument('messages as a list', thread);
  // Uses this copy instead of zod's, which would lose an argument named `__proto__`.
  const copy = thread.map((message: unknown, at) =>
    cloneMessage(message, `messages[${at}]`, 'INVALID_ARGUMENT'),
  ) as readonly ChatMessage[];
  const parsed = messageSchema.array().safeParse(copy);
  if (!parsed.success) throw refusal('The messages are invalid', toIssues(parsed.error, copy));
  const messages: ChatMessage[] = [];
  const open: ToolCallPart[] = [];
  let results: ToolResultPart[] = [];
  const joinResults = () => {
    const last = messages.at(-1);
    const content = inOrderOf(last?.role === 'assistant' ? callsIn(last) : [], results, open);
    if (content.length > 0) messages.push(Object.freeze({ role: 'tool', content }));
    results = [];
  };
  for (const message of copy) {
    if (message.role === 'tool') results.push(...message.content);
    else {
      joinResults();
      messages.push(message);
    }
  }
  joinResults();
  return { messages: Object.freeze(messages), open };
}

/** Returns the results of one turn without duplicates. Adds calls without a result to `open`. */
function inOrderOf(
  calls: readonly ToolCallPart[],
  results: readonly ToolResultPart[],
  open: ToolCallPart[],
): readonly ToolResultPart[] {
  const byId = new Map<string, ToolResultPart | undefined>();
  for (const { toolCallId } of calls) byId.set(toolCallId, undefined);
  if (byId.size < calls.length)
    throw new ToolError(
      'INVALID_ARGUMENT',
      "Two calls in one message have the same id, so their results couldn't be told apart. Give each call its own id.",
    );
  for (const result of results) {
    const { toolCallId: callId } = result;
    const before = byId.get(callId);
    if (!byId.has(callId))
      throw new ToolError(
        'UNKNOWN_CALL',
        `There is a result for ${JSON.stringify(callId)}, but the assistant's message before it contains no such call. Remove the result.`,
        { details: { callId } },
      );
    if (before !== undefined && canonicalJson(before.output) !== canonicalJson(result.output))
      throw new ToolError(
        'ALREADY_RESOLVED',
        `The call ${JSON.stringify(callId)} has two different results. Pass only one.`,
        { details: { callId } },
      );
    byId.set(callId, before ?? result);
  }
  // A service that runs its own tools puts the results into the assistant's message.
  open.push(
    ...calls.filter(
      (call) => byId.get(call.toolCallId) === undefined && call.providerExecuted !== true,
    ),
  );
  return Object.freeze([...byId.values()].filter((result) => result !== undefined));
}

/**
 * Returns messages in the form that models accept. @throws ToolError `OPEN_TOOL_CALLS` for a call
 * without a result, and the errors of `readThread`.
 */
export function closedMessages(thread: unknown): readonly ChatMessage[] {
  const { messages, open } = readThread(thread);
  assertAnswered(open);
  return messages;
}

/**
 * Throws `OPEN_TOOL_CALLS` if calls have no result, because every model service rejects such a
 * thread.
 */
function assertAnswered(open: Thread['open']): void {
  if (open.length === 0) return;
  const named = open.slice(0, 10).map(({ toolCallId, toolName }) => `${toolCallId} (${toolName})`);
  const rest = open.length > 10 ? ` and ${open.length - 10} more` : '';
  throw new ToolError(
    'OPEN_TOOL_CALLS',
    `These calls have no result: ${named.join(', ')}${rest}. Append a tool message with their results, and try again.`,
    { details: { callIds: open.map(({ toolCallId }) => toolCallId) } },
  );
}
