import { z } from 'zod';
import { ToolError } from '../core/errors.js';
import { refusal, toIssues } from '../core/issues.js';
import { canonicalJson, cloneFrozen, describeValue, isPlainObject, type Json } from '../core/plain-data.js';

/** What services may want to hear again with a message or a part of it. */
type ProviderOptions = Readonly<Record<string, Json>>;

/** What a tool answered, as the model reads it. The shapes are those of the AI SDK. */
export type ToolOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: Json }
  | { readonly type: 'content'; readonly value: readonly Json[] }
  | { readonly type: 'error-text'; readonly value: string }
  | { readonly type: 'error-json'; readonly value: Json }
  | { readonly type: 'execution-denied'; readonly reason?: string };

export interface ToolCallPart {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  /** The arguments; text where the model wrote no JSON. */
  readonly input: Json;
  /** Set where the model's service runs the tool itself, and gives the result in the same message. */
  readonly providerExecuted?: boolean;
  readonly providerOptions?: ProviderOptions;
}

export interface ToolResultPart {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: ToolOutput;
  readonly providerOptions?: ProviderOptions;
}

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly providerOptions?: ProviderOptions;
}

/** Any other part: reasoning, files, images. It is carried as it is. */
export interface OtherPart {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: string | readonly (TextPart | ToolCallPart | OtherPart)[];
  readonly providerOptions?: ProviderOptions;
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly content: readonly ToolResultPart[];
  readonly providerOptions?: ProviderOptions;
}

/** One message of a thread: plain data in the shape of the AI SDK's `ModelMessage`. */
export type ChatMessage =
  | { readonly role: 'system'; readonly content: string; readonly providerOptions?: ProviderOptions }
  | { readonly role: 'user'; readonly content: string | readonly (TextPart | OtherPart)[]; readonly providerOptions?: ProviderOptions }
  | AssistantMessage
  | ToolMessage;

/** The calls in an assistant's message, in its order. */
export function callsIn(message: AssistantMessage): readonly ToolCallPart[] {
  return typeof message.content === 'string' ? [] : message.content.filter((part): part is ToolCallPart => part.type === 'tool-call');
}

/** The text of an assistant's message. */
export function textOf({ content }: AssistantMessage): string {
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? (part as TextPart).text : '')).join('');
}

// Strict where tooldex reads, open where services have parts of their own.

const json = z.custom<Json>((value) => value !== undefined, { error: 'plain data' });
const record = z.custom<Readonly<Record<string, Json>>>(isPlainObject, { error: 'an object of plain data' });
const id = z.string().min(1).max(512);
const toolName = z.string().max(512);
const providerOptions = record.optional();

const output = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), value: z.string() }),
  z.strictObject({ type: z.literal('json'), value: json }),
  z.strictObject({ type: z.literal('content'), value: z.array(json) }),
  z.strictObject({ type: z.literal('error-text'), value: z.string() }),
  z.strictObject({ type: z.literal('error-json'), value: json }),
  z.strictObject({ type: z.literal('execution-denied'), reason: z.string().optional() }),
]);
export const outputSchema = output;

const text = z.strictObject({ type: z.literal('text'), text: z.string(), providerOptions });
const toolCall = z.strictObject({ type: z.literal('tool-call'), toolCallId: id, toolName, input: json, providerOptions, providerExecuted: z.boolean().optional() });
const toolResult = z.strictObject({ type: z.literal('tool-result'), toolCallId: id, toolName, output, providerOptions });
const OWN_TYPES: ReadonlySet<string> = new Set(['text', 'tool-call']);
const other = z.looseObject({ type: z.string().refine((type) => !OWN_TYPES.has(type), 'a part whose fields fit its type') });

const assistant = z.strictObject({ role: z.literal('assistant'), content: z.union([z.string(), z.array(z.union([text, toolCall, other]))]), providerOptions });
export const assistantSchema = assistant;

/** One message of a thread, in the AI SDK's shape. */
export const messageSchema = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string(), providerOptions }),
  z.strictObject({ role: z.literal('user'), content: z.union([z.string(), z.array(z.union([text, other]))]), providerOptions }),
  assistant,
  z.strictObject({ role: z.literal('tool'), content: z.array(toolResult), providerOptions }),
]);

/**
 * How deep one message or result may nest. Plain data may be 64 deep: this leaves room for what holds messages in results
 * and snapshots, which could not be read again otherwise.
 */
export const DEEPEST_MESSAGE = 48;

/** A frozen copy of data that may be part of a thread. @throws TypeError as `cloneFrozen` does, and for data nested deeper than 48. */
export function cloneMessage<T>(value: T): T {
  const copy = cloneFrozen(value);
  if (isDeeper(copy, DEEPEST_MESSAGE)) throw new TypeError(`plain data at most ${DEEPEST_MESSAGE} levels deep`);
  return copy;
}

/** Whether lists and objects nest in each other more than `depth` times. */
export function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((item) => isDeeper(item, depth - 1));
}

/** A call of a thread that has no result. */
export interface OpenCall {
  readonly toolCallId: string;
  readonly toolName: string;
}

/** A thread as it was given, brought into the form in which a model accepts it. */
export interface Thread {
  /** With one tool message after each message with calls, its results in the order of the calls. */
  readonly messages: readonly ChatMessage[];
  /** Calls without a result; none of them is in `messages` as answered. */
  readonly open: readonly OpenCall[];
}

/**
 * Checks and copies messages, and brings the results of each turn together in the order of its calls.
 *
 * @throws ToolError `INVALID_ARGUMENT` naming every wrong message; results that no call asked for, and two different
 * results of one call, are wrong too.
 */
export function readThread(given: unknown): Thread {
  if (!Array.isArray(given)) throw new ToolError('INVALID_ARGUMENT', `Expected messages as a list, found ${describeValue(given)}`);
  let copied: readonly unknown[];
  try {
    copied = given.map(cloneMessage);
  } catch (error) {
    throw new ToolError('INVALID_ARGUMENT', `Expected messages of plain data, found ${error instanceof Error ? error.message : 'something else'}`);
  }
  const parsed = messageSchema.array().safeParse(copied);
  if (!parsed.success) {
    const issues = toIssues(parsed.error, copied);
    throw refusal('The messages are refused', issues);
  }
  return joinResults(copied as readonly ChatMessage[]);
}

function joinResults(given: readonly ChatMessage[]): Thread {
  const messages: ChatMessage[] = [];
  const open: OpenCall[] = [];
  for (let at = 0; at < given.length; ) {
    const message = given[at++]!;
    if (message.role === 'tool') throw unasked(message.content[0]?.toolCallId);
    messages.push(message);
    const results: ToolResultPart[] = [];
    for (let next = given[at]; next?.role === 'tool'; next = given[++at]) results.push(...next.content);
    if (message.role === 'assistant') {
      const answered = inOrderOf(message, results, open);
      if (answered.length > 0) messages.push(Object.freeze({ role: 'tool', content: Object.freeze(answered) }));
    } else if (results.length > 0) throw unasked(results[0]!.toolCallId);
  }
  return Object.freeze({ messages: Object.freeze(messages), open: Object.freeze(open) });
}

/** The results of one turn, each once; calls without one are added to `open`. */
function inOrderOf(message: AssistantMessage, results: readonly ToolResultPart[], open: OpenCall[]): ToolResultPart[] {
  const calls = callsIn(message);
  const asked = new Set(calls.map(({ toolCallId }) => toolCallId));
  if (asked.size < calls.length) throw new ToolError('INVALID_ARGUMENT', 'Expected calls of one message with different ids, found two with the same; their results could not be told apart');
  const byId = new Map<string, ToolResultPart>();
  for (const result of results) {
    const { toolCallId } = result;
    if (!asked.has(toolCallId)) throw unasked(toolCallId);
    const before = byId.get(toolCallId);
    if (before !== undefined && canonicalJson(before.output) !== canonicalJson(result.output)) throw new ToolError('ALREADY_RESOLVED', `Expected one result of the call ${describeValue(toolCallId)}, found two that differ`, { details: { callId: toolCallId } });
    byId.set(toolCallId, before ?? result);
  }
  return calls.flatMap(({ toolCallId, toolName, providerExecuted }) => {
    const result = byId.get(toolCallId);
    // A service that runs its own tools puts their results into its message.
    if (result === undefined && providerExecuted !== true) open.push(Object.freeze({ toolCallId, toolName }));
    return result === undefined ? [] : [result];
  });
}

function unasked(callId: string | undefined): ToolError {
  return new ToolError('UNKNOWN_CALL', `Expected results of calls in the assistant's message before them, found one of the call ${describeValue(callId)}`, { details: { callId } });
}

/** @throws ToolError `OPEN_TOOL_CALLS` when calls have no result: every model service refuses such a thread. */
export function assertAnswered({ open }: Thread): void {
  if (open.length === 0) return;
  const named = open.map(({ toolCallId, toolName }) => `${toolCallId} (${toolName})`);
  const shown = `${named.slice(0, 10).join(', ')}${named.length > 10 ? ` and ${named.length - 10} more` : ''}`;
  throw new ToolError('OPEN_TOOL_CALLS', `Expected a result for every call, found none for ${shown}; append a tool message with their results, and ask again`, { details: { callIds: open.map(({ toolCallId }) => toolCallId) } });
}
