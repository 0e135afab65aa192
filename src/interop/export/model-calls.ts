import { randomUUID } from '../../core/crypto.js';
import { ToolError } from '../../core/errors.js';
import { suggestNames } from '../../core/issues.js';
import { describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import type { ContentPart } from '../../tool/content.js';
import type { ExportedTools } from './exported-tools.js';
import type { NameCodec } from './name-codec.js';

/** A call that can't be read. */
interface RefusedCall {
  readonly id: string;
  /** The name as the model wrote it. */
  readonly name: string;
  readonly input?: undefined;
  /** `TOOL_NOT_FOUND` for a name that wasn't offered, `INVALID_INPUT` for everything else. The message is for the model. */
  readonly error: ToolError;
}

/** A call of a model, ready for an executor under the tool's own name, or with an `error`. */
export type ModelCall = (Required<ToolCall> & { readonly error?: undefined }) | RefusedCall;

/** A result for the model: an outcome, or a call that couldn't be read. */
export type CallResult = ToolOutcome | RefusedCall;

/** A call in a model's answer. Its input should be an object, or the JSON of an object. */
export interface RawCall {
  readonly id: unknown;
  readonly name: unknown;
  readonly input: unknown;
}

/** A list of tools for a client, with methods that lead back. The methods don't appear in its JSON. */
export type ModelTools<Tool, Message> = Tool[] & {
  /** The list itself. */
  readonly tools: Tool[];
  /** Returns the tool that the model means by a name; `undefined` for a name that wasn't offered. */
  nameOf(encoded: string): string | undefined;
  /**
   * Returns the calls in a model's answer, for an executor. It never throws: a call that can't be read has an `error`.
   *
   * @param response the answer of the client, or the part of it that holds the calls.
   */
  toCalls(response: unknown): ModelCall[];
  /** Returns the messages with the results, in the same order. They go after the model's own message. */
  toMessages(results: Iterable<CallResult>): Message[];
};

/** The format of one service: where its answers hold calls, and how results are sent. */
interface CallFormat<Message> {
  /** Finds the calls in an answer. */
  readonly find: (response: unknown) => readonly RawCall[];
  readonly answer: (answers: readonly CallAnswer[]) => Message[];
}

/** Adds the methods that lead back to a list, hidden from JSON and from loops over keys. */
export function withMethods<Tool, Message>(
  tools: Tool[],
  exported: ExportedTools,
  { find, answer }: CallFormat<Message>,
): ModelTools<Tool, Message> {
  const { codec, restore } = exported;
  const methods: Omit<ModelTools<Tool, Message>, keyof Tool[]> = {
    tools,
    nameOf: (encoded) => codec.decode(encoded),
    toCalls: (response) => {
      const seen = new Set<string>();
      return find(response).map((call): ModelCall => {
        const id =
          typeof call.id === 'string' && call.id !== '' ? call.id : `${OWN_ID}${randomUUID()}`;
        const written = typeof call.name === 'string' ? call.name : '';
        try {
          if (seen.has(id))
            throw new ToolError(
              'INVALID_INPUT',
              `Expected a different id for every call, got ${describeValue(id)} twice. This call was not run. Call it again.`,
            );
          seen.add(id);
          const name = codec.decode(written) ?? unknownName(written, exported);
          const input = parseArguments(call.input);
          if (!isPlainObject(input))
            throw new ToolError(
              'INVALID_INPUT',
              `Expected the arguments of ${written} as one JSON object, got ${typeof call.input === 'string' ? "text that isn't one" : describeValue(call.input)}. Call it again.`,
            );
          return { id, name, input: restore.get(name)?.(input) ?? input };
        } catch (error) {
          return { id, name: written, error: error as ToolError };
        }
      });
    },
    toMessages: (results) => answer([...results].map((result) => answerTo(result, codec))),
  };
  for (const [key, value] of Object.entries(methods))
    Object.defineProperty(tools, key, { value, enumerable: false });
  return tools as ModelTools<Tool, Message>;
}

function unknownName(written: string, { codec, tools }: ExportedTools): never {
  const encoded = codec.encode(written); // Models read a tool's own name in descriptions.
  const similar =
    encoded === undefined
      ? suggestNames(
          written,
          tools.map(({ name }) => name),
        )
      : [encoded];
  throw new ToolError(
    'TOOL_NOT_FOUND',
    `Expected a tool that was offered, got ${describeValue(written)}${similar.length === 0 ? '' : `; did you mean ${similar.join(' or ')}?`}`,
  );
}

/** The beginning of ids that are made here. A service that gave no id isn't sent one. */
export const OWN_ID = 'call-';

/** Parses the arguments that a model wrote. Text that isn't JSON stays text. Models may write nothing for a call without arguments. */
export function parseArguments(input: unknown): unknown {
  if (typeof input !== 'string') return input ?? {};
  try {
    return JSON.parse(input.trim() === '' ? '{}' : input);
  } catch {
    return input;
  }
}

/** Returns the objects in a list; none if it isn't a list. */
export function objectsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value)
    ? value.filter(
        (each): each is Record<string, unknown> => typeof each === 'object' && each !== null,
      )
    : [];
}

/** Returns a field of a value that may not be an object. */
export function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

/** The answer to one call. */
export interface CallAnswer {
  readonly id: string;
  /** The name by which the model knows the tool. */
  readonly name: string;
  readonly failed: boolean;
  readonly text: string;
  /** The parts that the model reads. `text` has all of them in words. */
  readonly content: readonly ContentPart[];
  /** The result as JSON; missing if there is no result. */
  readonly data?: Json;
}

/** Reads a result for a service. A pending call is answered as failed, because services refuse a conversation with an open call. */
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
