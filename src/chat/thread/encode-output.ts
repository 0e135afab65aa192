import { cloneFrozen, describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import type { ToolOutcome } from '../../safety/calls.js';
import type { ToolOutput } from './chat-message.js';
import { cloneMessage, DEEPEST_MESSAGE, isDeeper } from './data-depth.js';
import { outputSchema } from './message-schema.js';

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
  if (typeof value === 'string') return Object.freeze({ type: 'text', value: cut(value) });
  const text = JSON.stringify(value === undefined ? null : value, refuseLosses);
  if (text.length > LONGEST_RESULT) return Object.freeze({ type: 'text', value: cut(text) });
  const data = JSON.parse(text) as Json;
  return isDeeper(data, DEEPEST_RESULT) ? Object.freeze({ type: 'text', value: text }) : Object.freeze({ type: 'json', value: cloneFrozen(data) });
}

/** JSON would leave these out, or write null or an empty object without a word. */
function refuseLosses(key: string, value: unknown): unknown {
  const found = lossIn(value);
  if (found !== undefined) throw new TypeError(`${found}${key === '' ? '' : ` under ${JSON.stringify(key)}`}`);
  return value;
}

function lossIn(value: unknown): string | undefined {
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !isPlainObject(value)) {
    return Object.keys(value).length > 0 || value instanceof String || value instanceof Number || value instanceof Boolean ? undefined : 'an object of a class, without anything that JSON could show';
  }
  return typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value)) ? describeValue(value) : undefined;
}

/** An error as the model reads it. */
export function errorOutput(message: string): ToolOutput {
  return Object.freeze({ type: 'error-text', value: cut(message) });
}

export function deniedOutput(reason: string): ToolOutput {
  return Object.freeze({ type: 'execution-denied', reason: cut(reason) });
}

/** What the model reads of an outcome that needs nobody; `undefined` for those that wait for someone. */
export function encodeOutcome(outcome: ToolOutcome, encode: Encode): ToolOutput | undefined {
  switch (outcome.status) {
    case 'ok':
    case 'halt':
      try {
        return checked(encode(outcome.value));
      } catch (error) {
        return errorOutput(`${outcome.toolName} ran, but its result cannot be shown: expected plain data, found ${publicMessage(error)}`);
      }
    case 'error':
      return errorOutput(outcome.message);
    case 'denied':
      return deniedOutput(outcome.reason);
    case 'ask_user':
    case 'manual':
    case 'approval_required':
      return undefined;
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
