import { describeValue } from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';
import type { ToolOutcome } from '../safety/calls.js';
import { plainValue, unshownText } from '../safety/read-outcome.js';
import { cloneMessage, DEEPEST_MESSAGE, isDeeper, outputSchema, type ToolOutput } from './thread.js';

/** The depth of a result: less what a message puts around it. */
const DEEPEST_RESULT = DEEPEST_MESSAGE - 5;
/** Characters of one result that a model is shown; a longer one is cut, and says so. */
export const LONGEST_RESULT = 65_536;

/**
 * Makes what a model reads of a value: text stays text, everything else is JSON. The same value gives the same bytes.
 *
 * The model reads the beginning, as text, of anything longer than 65,536 characters; data nested very deep is given as text too.
 *
 * @throws TypeError for functions, symbols, big integers, cycles, and objects such as a `Map` that JSON would show as empty.
 */
export function encodeValue(value: unknown): ToolOutput {
  const { text, data } = plainValue(value);
  if (typeof value === 'string' || text.length > LONGEST_RESULT || isDeeper(data, DEEPEST_RESULT)) return Object.freeze({ type: 'text', value: cut(text) });
  return Object.freeze({ type: 'json', value: data });
}

/** Returns an error as the model reads it. */
export function errorOutput(message: string): ToolOutput {
  return Object.freeze({ type: 'error-text', value: cut(message) });
}

export function deniedOutput(reason: string): ToolOutput {
  return Object.freeze({ type: 'execution-denied', reason: cut(reason) });
}

/** The text that a model reads instead of a value that cannot be encoded, and the reason for programs. */
export interface Unshown {
  readonly unshown: string;
  readonly reason: string;
}

/** Returns what the model reads of a tool's value. An encoder of the caller may throw anything: models do not read its message. */
export function encodeOutcome({ toolName, value }: Extract<ToolOutcome, { status: 'ok' | 'halt' }>, encode: (value: unknown) => ToolOutput): ToolOutput | Unshown {
  try {
    const output = cloneMessage(encode(value), 'the output of encode', 'INVALID_RESULT');
    if (!outputSchema.safeParse(output).success) throw new TypeError(`Expected an output such as { type: 'text', value } of encode, got ${describeValue(output)}.`);
    return output;
  } catch (error) {
    const reason = publicMessage(error);
    return { unshown: encode === encodeValue ? unshownText(toolName, reason) : `${toolName} ran, but its result cannot be shown: it could not be encoded`, reason };
  }
}

function cut(text: string): string {
  if (text.length <= LONGEST_RESULT) return text;
  const marker = `\n… cut: ${text.length - LONGEST_RESULT} more characters`;
  return text.slice(0, LONGEST_RESULT - marker.length).replace(/[\ud800-\udbff]$/, '') + marker;
}
