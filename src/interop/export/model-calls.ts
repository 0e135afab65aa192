import { randomUUID } from '../../core/crypto.js';
import { ToolError } from '../../core/errors.js';
import { suggestNames } from '../../core/issues.js';
import { describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import type { ContentPart } from '../../tool/content.js';
import type { ExportedTools } from './exported-tools.js';
import type { NameCodec } from './name-codec.js';

/** A call that couldn't be read. */
interface RefusedCall {
  readonly id: string;
  /** The name in the model's call. */
  readonly name: string;
  readonly input?: undefined;
  /**
   * `TOOL_NOT_FOUND` if the model didn't get a tool with this name, `INVALID_INPUT` for any other
   * problem. The message is for the model.
   */
  readonly error: ToolError;
}

/**
 * A model's call, ready for an executor. The call has the tool's own name, or an `error` if it
 * couldn't be read.
 */
export type ModelCall = (Required<ToolCall> & { readonly error?: undefined }) | RefusedCall;

/** A result for the model: an outcome, or a call that couldn't be read. */
export type CallResult = ToolOutcome | RefusedCall;

/**
 * A call as found in a model's response. The call's input should be an object, or the JSON of an
 * object.
 */
export interface RawCall {
  readonly id: unknown;
  readonly name: unknown;
  readonly input: unknown;
}

/**
 * A list of tools for a client, with methods for reading its calls and answering them. The methods
 * aren't part of the list's JSON.
 */
export type ModelTools<Tool, Message> = Tool[] & {
  /** The list itself. */
  readonly tools: Tool[];
  /**
   * Returns the tool's own name for a name that the model uses, or `undefined` if the list has no
   * such tool.
   */
  nameOf(encoded: string): string | undefined;
  /**
   * Returns the calls in a model's response, for an executor. Never throws: a call that can't be
   * read has an `error`.
   *
   * @param response The client's response, or the part of it that contains the calls.
   */
  toCalls(response: unknown): ModelCall[];
  /**
   * Returns messages that contain the results, in the same order. Append these messages after the
   * model's own message.
   */
  toMessages(results: Iterable<CallResult>): Message[];
};

/**
 * The message format of one service: where its responses contain calls, and how to send results.
 */
export interface CallFormat<Message> {
  readonly find: (response: unknown) => readonly RawCall[];
  readonly answer: (answers: readonly CallAnswer[]) => Message[];
}

/** Adds the methods to a list, as non-enumerable properties. */
export function withCallMethods<Tool, Message>(
  tools: Tool[],
  exported: ExportedTools,
  { find, answer }: CallFormat<Message>,
): ModelTools<Tool, Message> {
  const { codec } = exported;
  const methods: Omit<ModelTools<Tool, Message>, keyof Tool[]> = {
    tools,
    nameOf: (encoded) => codec.decode(encoded),
    toCalls: (response) => {
      const seen = new Set<string>();
      return find(response).map((call) => readCall(call, seen, exported));
    },
    toMessages: (results) => answer([...results].map((result) => answerTo(result, codec))),
  };
  for (const [key, value] of Object.entries(methods))
    Object.defineProperty(tools, key, { value, enumerable: false });
  return tools as ModelTools<Tool, Message>;
}

function readCall(call: RawCall, seen: Set<string>, exported: ExportedTools): ModelCall {
  const { codec, restore } = exported;
  const id = typeof call.id === 'string' && call.id !== '' ? call.id : `${OWN_ID}${randomUUID()}`;
  const written = typeof call.name === 'string' ? call.name : '';
  try {
    if (seen.has(id))
      throw new ToolError(
        'INVALID_INPUT',
        `Expected a unique id for every call, got ${describeValue(id)} twice. This call didn't run. Repeat it.`,
      );
    seen.add(id);
    const name = codec.decode(written) ?? unknownName(written, exported);
    const input = parseArguments(call.input);
    if (!isPlainObject(input))
      throw new ToolError(
        'INVALID_INPUT',
        `Expected the arguments of ${written} to be one JSON object, got ${typeof call.input === 'string' ? "text that isn't a JSON object" : describeValue(call.input)}. Call it again.`,
      );
    return { id, name, input: restore.get(name)?.(input) ?? input };
  } catch (error) {
    return { id, name: written, error: error as ToolError };
  }
}

function unknownName(written: string, { codec, tools }: ExportedTools): never {
  const encoded = codec.encode(written); // A model may use a tool's own name instead of the exported name.
  const names = tools.map(({ name }) => name);
  const similar = encoded === undefined ? suggestNames(written, names) : [encoded];
  const advice = similar.length === 0 ? '' : `; did you mean ${similar.join(' or ')}?`;
  throw new ToolError(
    'TOOL_NOT_FOUND',
    `There is no tool named ${describeValue(written)}${advice}`,
  );
}

/**
 * The prefix of ids for calls that came without an id. These ids aren't sent back to the service.
 */
export const OWN_ID = 'call-';

/**
 * Parses the arguments in a model's call. Text that isn't JSON is returned unchanged. Empty text
 * becomes an empty object, because some models send it for a call without arguments.
 */
export function parseArguments(input: unknown): unknown {
  if (typeof input !== 'string') return input ?? {};
  try {
    return JSON.parse(input.trim() === '' ? '{}' : input);
  } catch {
    return input;
  }
}

/** Returns the objects in a list, or an empty list for any other value. */
export function objectsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value)
    ? value.filter(
        (each): each is Record<string, unknown> => typeof each === 'object' && each !== null,
      )
    : [];
}

/** Returns a field of a value if the value is an object. */
export function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

/** The answer to one call, before it's put in a service's format. */
export interface CallAnswer {
  readonly id: string;
  /** The tool's name as the model knows it. */
  readonly name: string;
  readonly failed: boolean;
  readonly text: string;
  /** The content parts for the model. `text` describes all these parts. */
  readonly content: readonly ContentPart[];
  /** The result as JSON. Missing if there is no result. */
  readonly data?: Json;
}

/**
 * Converts a result to an answer for a service. A pending call is answered as failed, because
 * services reject conversations in which a call has no answer.
 */
function answerTo(result: CallResult, codec: NameCodec): CallAnswer {
  if ('error' in result)
    return {
      id: result.id,
      name: result.name,
      failed: true,
      text: result.error.message,
      content: [],
    };
  const { kind, text, content, data } = readOutcome(result);
  const of = {
    id: result.callId,
    name: codec.encode(result.toolName) ?? result.toolName,
    text,
    content,
  };
  return kind === 'result' ? { ...of, failed: false, data: data! } : { ...of, failed: true };
}
