import { randomUUID } from '../../core/crypto.js';
import { ToolError } from '../../core/errors.js';
import { suggestNames } from '../../core/issues.js';
import { describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import type { ContentPart } from '../../tool/content.js';
import type { ExportedTools } from './exported-tools.js';
import type { NameCodec } from './name-codec.js';

/** A call that no executor can be asked for. */
interface RefusedCall {
  readonly id: string;
  /** The name as the model wrote it. */
  readonly name: string;
  readonly input?: undefined;
  /** `TOOL_NOT_FOUND` for a name that was not offered, `INVALID_INPUT` for everything else; the message is for the model. */
  readonly error: ToolError;
}

/** A call of a model: ready for an executor under the tool's own name, or with the `error` that keeps it from being run. */
export type ModelCall = (Required<ToolCall> & { readonly error?: undefined }) | RefusedCall;

/** A result that a model is told: an outcome, or a call that could not be read. */
export type CallResult = ToolOutcome | RefusedCall;

/** A call as it stands in a model's answer, of any shape; its input is an object, or the JSON of one as text. */
export interface RawCall {
  readonly id: unknown;
  readonly name: unknown;
  readonly input: unknown;
}

/** A list that goes to the client as it is, and has the way back: methods that do not appear in its JSON. */
export type ModelTools<Tool, Message> = Tool[] & {
  /** The list itself, for those who expect it under this name. */
  readonly tools: Tool[];
  /** Returns the tool that the model means by a name; undefined for a name that was not offered. */
  nameOf(encoded: string): string | undefined;
  /**
   * Returns the calls in a model's answer, for an executor. Never throws; what cannot be read has an `error`.
   *
   * @param response the answer of the client, or the part of it that holds the calls.
   * @param options `newId` makes the ids of calls that came without. @default random ones: a second call must not be taken for a repetition of the first
   */
  toCalls(response: unknown, options?: { readonly newId?: () => string }): ModelCall[];
  /** Returns the messages that tell the model what became of its calls, in the same order; they go after the model's own message. */
  toMessages(results: Iterable<CallResult>): Message[];
};

/** The form of one service: where calls stand in its answers, and how it is answered. */
interface CallFormat<Message> {
  /** Finds the calls in an answer. */
  readonly find: (response: unknown) => readonly RawCall[];
  readonly answer: (answers: readonly CallAnswer[]) => Message[];
}

/** Gives a list the methods that lead back, out of sight of JSON and of loops over keys. */
export function withMethods<Tool, Message>(
  tools: Tool[],
  exported: ExportedTools,
  { find, answer }: CallFormat<Message>,
): ModelTools<Tool, Message> {
  const { codec, restore } = exported;
  const methods: Omit<ModelTools<Tool, Message>, keyof Tool[]> = {
    tools,
    nameOf: (encoded) => codec.decode(encoded),
    toCalls: (response, { newId = () => `${OWN_ID}${randomUUID()}` } = {}) => {
      const seen = new Set<string>();
      return find(response).map((call): ModelCall => {
        const id = typeof call.id === 'string' && call.id !== '' ? call.id : newId();
        const written = typeof call.name === 'string' ? call.name : '';
        try {
          if (seen.has(id))
            throw new ToolError(
              'INVALID_INPUT',
              `Expected a different id for every call, got ${describeValue(id)} twice. This one was not run; call it again.`,
            );
          seen.add(id);
          const name = codec.decode(written) ?? unknownName(written, exported);
          const input = parseArguments(call.input);
          if (!isPlainObject(input))
            throw new ToolError(
              'INVALID_INPUT',
              `Expected the arguments of ${written} as one JSON object, got ${typeof call.input === 'string' ? 'text that is none' : describeValue(call.input)}. Call it again.`,
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
  const encoded = codec.encode(written); // The tool's own name, which models read in descriptions.
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

/** Begins the ids that are made here, so that they are not told to a service that gave none. */
export const OWN_ID = 'call-';

/** Parses the arguments that a model wrote; text that is no JSON stays text. Models write nothing at all for a call without arguments. */
export function parseArguments(input: unknown): unknown {
  if (typeof input !== 'string') return input ?? {};
  try {
    return JSON.parse(input.trim() === '' ? '{}' : input);
  } catch {
    return input;
  }
}

/** Returns the objects in a list, wherever it comes from; none where there is no list. */
export function objectsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value)
    ? value.filter(
        (each): each is Record<string, unknown> => typeof each === 'object' && each !== null,
      )
    : [];
}

/** Returns a field of something that may be no object. */
export function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

/** The answer to one call, as the model is told it. */
export interface CallAnswer {
  readonly id: string;
  /** The name by which the model knows the tool. */
  readonly name: string;
  readonly failed: boolean;
  readonly text: string;
  /** The parts that the model reads; `text` is all of them in words. */
  readonly content: readonly ContentPart[];
  /** The result as JSON has it; what is no result has none. */
  readonly data?: Json;
}

/** Reads a result for a service. Pending calls are answered as failed: services refuse a conversation with a call that has no answer. */
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
