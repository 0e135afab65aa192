import { ToolError } from '../core/errors.js';
import { describeValue, isPlainObject } from '../core/plain-data.js';

/** @throws ToolError `INVALID_ARGUMENT` for what is no text. */
export function requireText(text: unknown): string {
  if (typeof text === 'string') return text;
  throw invalidArgument('a text', text);
}

/**
 * Checks an options object of which every known option has a kind.
 *
 * @throws ToolError `INVALID_ARGUMENT`; a misspelt option that was ignored would change an answer without a word.
 */
export function requireOptions(options: unknown, known: Readonly<Record<string, 'number' | 'filter'>>): void {
  if (!isPlainObject(options)) throw invalidArgument('options as an object', options);
  for (const [option, value] of Object.entries(options)) {
    if (!Object.hasOwn(known, option)) throw invalidArgument(`only the options ${Object.keys(known).join(', ')}`, option);
    if (value === undefined) continue;
    if (known[option] === 'number' && (typeof value !== 'number' || Number.isNaN(value))) throw invalidArgument(`${option} as a number`, value);
    if (known[option] === 'filter' && typeof value !== 'function' && !isPlainObject(value)) throw invalidArgument(`${option} as a filter or a function`, value);
  }
}

export function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

export function invalidArgument(expected: string, found: unknown): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Expected ${expected}, found ${describeValue(found)}`);
}
