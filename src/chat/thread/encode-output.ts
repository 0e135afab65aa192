import { cloneFrozen, describeValue, type Json } from '../../core/plain-data.js';
import type { ToolOutcome } from '../../execution/tool-outcome.js';
import type { ToolOutput } from './chat-message.js';

/** Makes what the model reads of a call's value. It throws for values it cannot make text or data of. */
export type Encode = (value: unknown) => ToolOutput;

/** Characters of one result that a model is shown; what is longer is cut, and says so. */
export const LONGEST_RESULT = 65_536;

/**
 * Makes what a model reads of a value: text stays text, everything else is JSON. The same value gives the same bytes.
 *
 * @throws TypeError for functions, symbols, big integers, cycles and whatever else is no plain data.
 */
export function encodeValue(value: unknown): ToolOutput {
  if (typeof value === 'string') return Object.freeze({ type: 'text', value: cut(value) });
  const text = JSON.stringify(value === undefined ? null : value, refuseLosses);
  return text.length <= LONGEST_RESULT ? Object.freeze({ type: 'json', value: cloneFrozen(JSON.parse(text) as Json) }) : Object.freeze({ type: 'text', value: cut(text) });
}

/** JSON would leave these out or write null without a word. */
function refuseLosses(key: string, value: unknown): unknown {
  if (typeof value === 'function' || typeof value === 'symbol' || (typeof value === 'number' && !Number.isFinite(value))) throw new TypeError(`${describeValue(value)}${key === '' ? '' : ` under ${JSON.stringify(key)}`}`);
  return value;
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
        return cloneFrozen(encode(outcome.value));
      } catch (error) {
        return errorOutput(`${outcome.toolName} ran, but its result cannot be shown: expected plain data, found ${error instanceof Error ? error.message : 'something else'}`);
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

function cut(text: string): string {
  if (text.length <= LONGEST_RESULT) return text;
  const marker = `\n… cut: ${text.length - LONGEST_RESULT} more characters`;
  return text.slice(0, LONGEST_RESULT - marker.length).replace(/[\ud800-\udbff]$/, '') + marker;
}
