import { z } from 'zod';
import { ToolError, type ToolErrorCode } from '../core/errors.js';
import { expectedGot, invalidArgument, refusal, toIssues } from '../core/issues.js';
import {
  canonicalJson,
  cloneFrozen,
  describeValue,
  isPlainObject,
  type Json,
} from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';

/** Data that services may want to receive again with a message or a part of it. */
type ProviderOptions = Readonly<Record<string, Json>>;

/** The answer of a tool as the model reads it, in the shapes of the AI SDK. */
export type ToolOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: Json }
  | { readonly type: 'content'; readonly value: readonly Json[] }
  | { readonly type: 'error-text'; readonly value: string }
  | { readonly type: 'error-json'; readonly value: Json }
  | { readonly type: 'execution-denied'; readonly reason?: string };

/** A call of a tool in an assistant's message. */
export interface ToolCallPart {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  /** The arguments; text where the model wrote no JSON. */
  readonly input: Json;
  /** The arguments as the model's service sent them, where that is other text than `JSON.stringify(input)`. */
  readonly rawInput?: string;
  /** `true` where the model's service runs the tool itself, and gives the result in the same message. */
  readonly providerExecuted?: boolean;
  readonly providerOptions?: ProviderOptions;
}

/** The result of a call, in a message of the role `tool`. */
export interface ToolResultPart {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: ToolOutput;
  readonly providerOptions?: ProviderOptions;
}

type TextPart = {
  readonly type: 'text';
  readonly text: string;
  readonly providerOptions?: ProviderOptions;
};

/** Any other part: reasoning, files, images. It is passed on as it is. */
type OtherPart = { readonly type: string; readonly [field: string]: Json | undefined };

/** A model's answer: text, calls, or both. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: string | readonly (TextPart | ToolCallPart | OtherPart)[];
  readonly providerOptions?: ProviderOptions;
}

export type ToolMessage = {
  readonly role: 'tool';
  readonly content: readonly ToolResultPart[];
  readonly providerOptions?: ProviderOptions;
};

/** One message of a thread: plain data in the shape of the AI SDK's `ModelMessage`. */
export type ChatMessage =
  | {
      readonly role: 'system';
      readonly content: string;
      readonly providerOptions?: ProviderOptions;
    }
  | {
      readonly role: 'user';
      readonly content: string | readonly (TextPart | OtherPart)[];
      readonly providerOptions?: ProviderOptions;
    }
  | AssistantMessage
  | ToolMessage;

/** Returns the calls in an assistant's message, in its order. */
export function callsIn(message: AssistantMessage): readonly ToolCallPart[] {
  return typeof message.content === 'string'
    ? []
    : message.content.filter((part): part is ToolCallPart => part.type === 'tool-call');
}

/** Returns the calls of a message that tools here run: others are those of the model's service. */
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
 * Returns a message in which no call has an id that is missing, taken or used twice: results could not be told apart.
 *
 * Results of calls that the model's service ran itself stand in the same message, and follow.
 */
export function withUniqueIds(message: unknown, taken: Set<string>): unknown {
  if (!isPlainObject(message) || !Array.isArray(message['content'])) return message;
  const renamed = new Map<unknown, string>();
  const content = message['content'].map((part: unknown) => {
    if (!isPlainObject(part)) return part;
    const { type, toolCallId: given, providerExecuted } = part;
    if (type === 'tool-result' && renamed.has(given))
      return Object.freeze({ ...part, toolCallId: renamed.get(given) });
    if (type !== 'tool-call') return part;
    const base = typeof given === 'string' && given !== '' && given.length <= 256 ? given : 'call';
    let toolCallId = base;
    for (let copy = 2; taken.has(toolCallId); copy += 1) toolCallId = `${base}-${copy}`;
    taken.add(toolCallId);
    if (toolCallId === given) return part;
    if (providerExecuted === true) renamed.set(given, toolCallId);
    return Object.freeze({ ...part, toolCallId });
  });
  return Object.freeze({ ...message, content: Object.freeze(content) });
}

// Strict where tooldex reads, open where services have parts of their own.

export const json = z.custom<Json>((value) => value !== undefined, { error: 'plain data' });
export const id = z.string().min(1).max(512);
export const toolName = z.string().max(512);
const providerOptions = z
  .custom<ProviderOptions>(isPlainObject, { error: 'an object of plain data' })
  .optional();

export const outputSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), value: z.string() }),
  z.strictObject({ type: z.literal('json'), value: json }),
  z.strictObject({ type: z.literal('content'), value: z.array(json) }),
  z.strictObject({ type: z.literal('error-text'), value: z.string() }),
  z.strictObject({ type: z.literal('error-json'), value: json }),
  z.strictObject({ type: z.literal('execution-denied'), reason: z.string().optional() }),
]);

const text = z.strictObject({ type: z.literal('text'), text: z.string(), providerOptions });
const toolCall = z.strictObject({
  type: z.literal('tool-call'),
  toolCallId: id,
  toolName,
  input: json,
  rawInput: z.string().optional(),
  providerOptions,
  providerExecuted: z.boolean().optional(),
});
const toolResult = z.strictObject({
  type: z.literal('tool-result'),
  toolCallId: id,
  toolName,
  output: outputSchema,
  providerOptions,
});
const other = z.looseObject({
  type: z
    .string()
    .refine((type) => type !== 'text' && type !== 'tool-call', 'a part whose fields fit its type'),
});

export const assistantSchema = z.strictObject({
  role: z.literal('assistant'),
  content: z.union([z.string(), z.array(z.union([text, toolCall, other]))]),
  providerOptions,
});

/** The shape of one message of a thread. */
export const messageSchema = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string(), providerOptions }),
  z.strictObject({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(z.union([text, other]))]),
    providerOptions,
  }),
  assistantSchema,
  z.strictObject({ role: z.literal('tool'), content: z.array(toolResult), providerOptions }),
]);

/**
 * The depth to which one message or result may nest. Plain data may be 64 deep: this leaves room for what holds messages in
 * results and snapshots, which could not be read again otherwise.
 */
export const DEEPEST_MESSAGE = 48;

/** Returns a frozen copy of data that may be part of a thread. @throws ToolError `code` for what is not plain data, or nests deeper than 48. */
export function cloneMessage<T>(value: T, what: string, code: ToolErrorCode): T {
  const copy = clonePlain(value, what, code);
  if (isDeeper(copy, DEEPEST_MESSAGE))
    throw new ToolError(
      code,
      expectedGot(`${what} as plain data at most ${DEEPEST_MESSAGE} levels deep`, 'deeper data'),
    );
  return copy;
}

/** Returns a frozen copy of plain data. @throws ToolError `code` that names the place of anything else. */
export function clonePlain<T>(value: T, what: string, code: ToolErrorCode): T {
  try {
    return cloneFrozen(value);
  } catch (error) {
    const [expected = '', got = 'deeper data'] = publicMessage(error).split(', not ');
    throw new ToolError(code, expectedGot(`${what} as ${expected}`, got));
  }
}

/** Returns true if lists and objects nest in each other more than `depth` times. */
export function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((item) => isDeeper(item, depth - 1));
}

/** A thread in the form in which a model accepts it, and its calls without a result; none of these is in `messages` as answered. */
interface Thread {
  /** One tool message follows each message with calls, its results in the order of the calls. */
  readonly messages: readonly ChatMessage[];
  readonly open: readonly { readonly toolCallId: string; readonly toolName: string }[];
}

/**
 * Checks and copies messages, and brings the results of each turn together in the order of its calls.
 *
 * @throws ToolError `INVALID_ARGUMENT` naming every wrong message; `UNKNOWN_CALL` for results that no call asked for, and
 * `ALREADY_RESOLVED` for two different results of one call.
 */
export function readThread(given: unknown): Thread {
  if (!Array.isArray(given)) throw invalidArgument('messages as a list', given);
  const copied = given.map((message: unknown, at) =>
    cloneMessage(message, `messages[${at}]`, 'INVALID_ARGUMENT'),
  );
  const parsed = messageSchema.array().safeParse(copied);
  if (!parsed.success) throw refusal('The messages are refused', toIssues(parsed.error, copied));
  const messages: ChatMessage[] = [];
  const open: ToolCallPart[] = [];
  // What was checked, and not zod's copy: that loses keys called `__proto__`, which arguments may have.
  const thread = copied as readonly ChatMessage[];
  for (let at = 0; at < thread.length;) {
    const message = thread[at++]!;
    if (message.role === 'tool') throw unasked(message.content[0]?.toolCallId);
    messages.push(message);
    const results: ToolResultPart[] = [];
    for (let next = thread[at]; next?.role === 'tool'; next = thread[++at])
      results.push(...next.content);
    const answered = inOrderOf(message.role === 'assistant' ? callsIn(message) : [], results, open);
    if (answered.length > 0)
      messages.push(Object.freeze({ role: 'tool', content: Object.freeze(answered) }));
  }
  return Object.freeze({
    messages: Object.freeze(messages),
    open: Object.freeze(
      open.map(({ toolCallId, toolName }) => Object.freeze({ toolCallId, toolName })),
    ),
  });
}

/** Returns the results of one turn, each once; calls without one are added to `open`. */
function inOrderOf(
  calls: readonly ToolCallPart[],
  results: readonly ToolResultPart[],
  open: ToolCallPart[],
): ToolResultPart[] {
  const asked = new Set(calls.map(({ toolCallId }) => toolCallId));
  if (asked.size < calls.length)
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        'calls of one message with different ids',
        'two with the same',
        'Their results could not be told apart.',
      ),
    );
  const byId = new Map<string, ToolResultPart>();
  for (const result of results) {
    const { toolCallId } = result;
    if (!asked.has(toolCallId)) throw unasked(toolCallId);
    const before = byId.get(toolCallId);
    if (before !== undefined && canonicalJson(before.output) !== canonicalJson(result.output))
      throw new ToolError(
        'ALREADY_RESOLVED',
        expectedGot(`one result of the call ${describeValue(toolCallId)}`, 'two that differ'),
        { details: { callId: toolCallId } },
      );
    byId.set(toolCallId, before ?? result);
  }
  // A service that runs its own tools puts their results into its message.
  open.push(
    ...calls.filter(
      ({ toolCallId, providerExecuted }) => !byId.has(toolCallId) && providerExecuted !== true,
    ),
  );
  return calls.flatMap(({ toolCallId }) => byId.get(toolCallId) ?? []);
}

function unasked(callId: string | undefined): ToolError {
  return new ToolError(
    'UNKNOWN_CALL',
    expectedGot(
      "results of calls in the assistant's message before them",
      `one of the call ${describeValue(callId)}`,
    ),
    { details: { callId } },
  );
}

/** Returns messages as a model accepts them. @throws ToolError `OPEN_TOOL_CALLS` for calls without result, and as `readThread` does. */
export function closedMessages(given: unknown): readonly ChatMessage[] {
  const { messages, open } = readThread(given);
  assertAnswered(open);
  return messages;
}

/** Throws `OPEN_TOOL_CALLS` when calls have no result: every model service refuses such a thread. */
export function assertAnswered(open: Thread['open']): void {
  if (open.length === 0) return;
  const named = open.slice(0, 10).map(({ toolCallId, toolName }) => `${toolCallId} (${toolName})`);
  const rest = open.length > 10 ? ` and ${open.length - 10} more` : '';
  throw new ToolError(
    'OPEN_TOOL_CALLS',
    expectedGot(
      'a result for every call',
      `none for ${named.join(', ')}${rest}`,
      'Append a tool message with their results, and ask again.',
    ),
    { details: { callIds: open.map(({ toolCallId }) => toolCallId) } },
  );
}
