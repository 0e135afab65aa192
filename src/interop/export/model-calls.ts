import { randomUUID } from 'node:crypto';
import { ToolError } from '../../core/errors.js';
import { suggestNames } from '../../core/issues.js';
import { describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import type { ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import type { NameCodec } from './name-codec.js';

/** A call of a model, ready for an executor. */
export interface ReadCall {
  readonly id: string;
  /** The tool's own name. */
  readonly name: string;
  readonly input: unknown;
  readonly error?: undefined;
}

/** A call that no executor can be asked for. */
export interface RefusedCall {
  readonly id: string;
  /** As the model wrote it. */
  readonly name: string;
  readonly input?: undefined;
  /** `TOOL_NOT_FOUND` for a name that was not offered, `INVALID_INPUT` for everything else; the message is for the model. */
  readonly error: ToolError;
}

export type ModelCall = ReadCall | RefusedCall;

export interface ReadCallsOptions {
  /** Makes the ids of calls that came without. @default random ones: a second call must not be taken for a repetition of the first */
  readonly newId?: () => string;
}

/** A call as it stands in a model's answer, of any shape. */
export interface RawCall {
  readonly id: unknown;
  readonly name: unknown;
  /** An object, or its JSON as text. */
  readonly input: unknown;
}

/** How the calls of one export are understood. */
export interface CallReader {
  readonly codec: NameCodec;
  /** Undoes what the export changed in a tool's parameters, by the tool's own name. */
  readonly restore: ReadonlyMap<string, (input: unknown) => unknown>;
}

/** Begins the ids that are made here, so that they are not told to a service that gave none. */
export const OWN_ID = 'call-';

/** Reads the calls of a model's answer. Never throws: what is wrong with a call is its `error`. */
export function readCalls(raw: readonly RawCall[], { codec, restore }: CallReader, offered: readonly string[], { newId = () => `${OWN_ID}${randomUUID()}` }: ReadCallsOptions = {}): ModelCall[] {
  const seen = new Set<string>();
  return raw.map((call): ModelCall => {
    const id = typeof call.id === 'string' && call.id !== '' ? call.id : newId();
    const written = typeof call.name === 'string' ? call.name : '';
    const refuse = (code: 'TOOL_NOT_FOUND' | 'INVALID_INPUT', message: string): RefusedCall => ({ id, name: written, error: new ToolError(code, message) });
    if (seen.has(id)) return refuse('INVALID_INPUT', `Expected a different id for every call, got ${describeValue(id)} twice. This one was not run; call it again.`);
    seen.add(id);
    const name = codec.decode(written);
    if (name === undefined) {
      const encoded = codec.encode(written); // The tool's own name, which models read in descriptions.
      const similar = encoded === undefined ? suggestNames(written, offered) : [encoded];
      return refuse('TOOL_NOT_FOUND', `Expected a tool that was offered, got ${describeValue(written)}${similar.length === 0 ? '' : `; did you mean ${similar.join(' or ')}?`}`);
    }
    const input = parsed(call.input);
    if (!isPlainObject(input)) return refuse('INVALID_INPUT', `Expected the arguments of ${written} as one JSON object, got ${typeof call.input === 'string' ? 'text that is none' : describeValue(call.input)}. Call it again.`);
    return { id, name, input: restore.get(name)?.(input) ?? input };
  });
}

/** Models write nothing at all for a call without arguments. */
function parsed(input: unknown): unknown {
  if (input === undefined || input === null) return {};
  if (typeof input !== 'string') return input;
  if (input.trim() === '') return {};
  try {
    return JSON.parse(input);
  } catch {
    return undefined;
  }
}

/** The methods of an export beside its list of tools. They do not appear in its JSON. */
export interface ExportMethods<Tool, Message> {
  /** The list itself, for those who expect it under this name. */
  readonly tools: Tool[];
  /** The tool that the model means by a name; undefined for a name that was not offered. */
  nameOf(encoded: string): string | undefined;
  /**
   * The calls in a model's answer, for an executor. Never throws; what cannot be read has an `error`.
   *
   * @param response the answer of the client, or the part of it that holds the calls.
   */
  toCalls(response: unknown, options?: ReadCallsOptions): ModelCall[];
  /** The messages that tell the model what became of its calls, in the same order; they go after the model's own message. */
  toMessages(results: Iterable<CallResult>): Message[];
}

/** A list that goes to the client as it is, and knows the way back. */
export type ModelTools<Tool, Message> = Tool[] & ExportMethods<Tool, Message>;

/** Gives a list the methods that lead back, out of sight of JSON and of loops over keys. */
export function withMethods<Tool, Message>(
  tools: Tool[],
  reader: CallReader,
  names: readonly string[],
  rawCalls: (response: unknown) => readonly RawCall[],
  toMessages: (results: Iterable<CallResult>) => Message[],
): ModelTools<Tool, Message> {
  const methods: ExportMethods<Tool, Message> = {
    tools,
    nameOf: (encoded) => reader.codec.decode(encoded),
    toCalls: (response, options) => readCalls(rawCalls(response), reader, names, options),
    toMessages,
  };
  for (const [key, value] of Object.entries(methods)) Object.defineProperty(tools, key, { value, enumerable: false });
  return tools as ModelTools<Tool, Message>;
}

/** The objects in a list, wherever it comes from; none where there is no list. */
export function objectsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((each): each is Record<string, unknown> => typeof each === 'object' && each !== null) : [];
}

/** A field of something that may be no object. */
export function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

/** What a model can be told of: outcomes, and the calls that could not be read. */
export type CallResult = ToolOutcome | RefusedCall;

/** The answer to one call, as the model is told it. */
export interface CallAnswer {
  readonly id: string;
  /** The tool's own name, or what the model wrote when there is no such tool. */
  readonly name: string;
  readonly failed: boolean;
  readonly text: string;
  /** The result as JSON has it; what is no result has none. */
  readonly data?: Json;
}

/** Reads a result for a service. Calls that wait are answered as failed: services refuse a conversation with a call that has no answer. */
export function answerTo(result: CallResult): CallAnswer {
  if ('error' in result) return { id: result.id, name: result.name, failed: true, text: result.error.message };
  const { kind, text, data } = readOutcome(result);
  const of = { id: result.callId, name: result.toolName, text };
  return kind === 'result' ? { ...of, failed: false, data: data! } : { ...of, failed: true };
}
