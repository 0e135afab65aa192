import { describeValue } from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';
import type { ToolOutcome } from '../safety/calls.js';
import { plainValue, unshownText } from '../safety/read-outcome.js';
import { cloneMessage, DEEPEST_MESSAGE, isDeeper, outputSchema, type ToolOutput } from './thread.js';

/** What a message puts around a result. */
const DEEPEST_RESULT = DEEPEST_MESSAGE - 5;

/** Makes what the model reads of a call's value. It throws for values it cannot make text or data of. */
export type Encode = (value: unknown) => ToolOutput;

/** Characters of one result that a model is shown; what is longer is cut, and says so. */
export const LONGEST_RESULT = 65_536;

/**
 * Makes what a model reads of a value: text stays text, everything else is JSON. The same value gives the same bytes.
 *
 * Of more than 65,536 characters the model reads the beginning, as text; data nested very deep is given as text too.
 *
 * @throws TypeError for functions, symbols, big integers, cycles, and objects such as a `Map` that JSON would show as empty.
 */
export function encodeValue(value: unknown): ToolOutput {
  const { text, data } = plainValue(value);
  if (typeof value === 'string' || text.length > LONGEST_RESULT || isDeeper(data, DEEPEST_RESULT)) return Object.freeze({ type: 'text', value: cut(text) });
  return Object.freeze({ type: 'json', value: data });
}

/** An error as the model reads it. */
export function errorOutput(message: string): ToolOutput {
  return Object.freeze({ type: 'error-text', value: cut(message) });
}

export function deniedOutput(reason: string): ToolOutput {
  return Object.freeze({ type: 'execution-denied', reason: cut(reason) });
}

/** What a model reads of a value that cannot be made text or data of, and for programs why. */
export interface Unshown {
  readonly unshown: string;
  readonly reason: string;
}

/** Returns what the model reads of a tool's value. What an encoder of the caller throws may say anything: models do not read it. */
export function encodeOutcome(outcome: Extract<ToolOutcome, { status: 'ok' | 'halt' }>, encode: Encode): ToolOutput | Unshown {
  try {
    return checked(encode(outcome.value));
  } catch (error) {
    const reason = publicMessage(error);
    return { unshown: encode === encodeValue ? unshownText(outcome.toolName, reason) : `${outcome.toolName} ran, but its result cannot be shown: it could not be encoded`, reason };
  }
}

/** What an encoder made that is not ours. @throws TypeError for what is no output: the thread would be refused by every model. */
function checked(output: ToolOutput): ToolOutput {
  const copy = cloneMessage(output);
  if (!outputSchema.safeParse(copy).success) throw new TypeError(`${describeValue(copy)} of encode, and no output such as { type: 'text', value }`);
  return copy;
}

function cut(text: string): string {
  if (text.length <= LONGEST_RESULT) return text;
  const marker = `\n… cut: ${text.length - LONGEST_RESULT} more characters`;
  return text.slice(0, LONGEST_RESULT - marker.length).replace(/[\ud800-\udbff]$/, '') + marker;
}
