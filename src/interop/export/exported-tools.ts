import type { CallResult } from './call-answers.js';
import type { CallReader, ModelCall, RawCall, ReadCallsOptions } from './model-calls.js';
import { readCalls } from './model-calls.js';

/** What an export is beside the list of tools. None of it appears in its JSON. */
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

/** Gives a list its way back, out of sight of JSON and of loops over keys. */
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
