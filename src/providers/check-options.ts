import { ToolError } from '../core/errors.js';
import { describeValue, isPlainObject } from '../core/plain-data.js';

/** What an option must be: how an error message calls it, and whether a value is that. */
export interface OptionRule {
  readonly expected: string;
  readonly allows: (value: unknown) => boolean;
}

export const aFunction: OptionRule = { expected: 'a function', allows: (value) => typeof value === 'function' };
export const anObject: OptionRule = { expected: 'an object', allows: (value) => typeof value === 'object' && value !== null };
export const aName: OptionRule = { expected: 'a text that is not empty', allows: (value) => typeof value === 'string' && value.trim() !== '' };
export const aTable: OptionRule = { expected: 'a Map or a plain object', allows: (value) => value instanceof Map || isPlainObject(value) };

/** A finite number that is at least `least`. */
export function atLeast(least: number): OptionRule {
  return { expected: `a finite number of at least ${least}`, allows: (value) => typeof value === 'number' && Number.isFinite(value) && value >= least };
}

/** A whole number within bounds. */
export function wholeBetween(least: number, most: number): OptionRule {
  return { expected: `a whole number from ${least} to ${most}`, allows: (value) => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most };
}

/** One of a few texts. */
export function oneOf(...values: readonly string[]): OptionRule {
  return { expected: values.map((value) => `'${value}'`).join(' or '), allows: (value) => typeof value === 'string' && values.includes(value) };
}

/**
 * Checks an options object against its rules; options that are `undefined` count as missing.
 *
 * @throws ToolError `INVALID_ARGUMENT` for unknown, missing and wrong options: a misspelt one would change an answer without a word.
 */
export function requireOptions(options: unknown, rules: Readonly<Record<string, OptionRule>>, required: readonly string[] = []): void {
  if (!isPlainObject(options)) throw invalidArgument('options as an object', options);
  for (const [option, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, option)) throw invalidArgument(`only the options ${Object.keys(rules).join(', ')}`, option);
    if (value !== undefined && !rules[option]!.allows(value)) throw invalidArgument(`${option} as ${rules[option]!.expected}`, value);
  }
  for (const option of required) {
    if (!Object.hasOwn(options, option) || options[option] === undefined) throw invalidArgument(`the option ${option}`, undefined);
  }
}

export function invalidArgument(expected: string, found: unknown): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Expected ${expected}, found ${describeValue(found)}`);
}

/** The value under a name that may come from anywhere: `constructor` and `__proto__` are names like others. */
export function lookUp<T>(table: ReadonlyMap<string, T> | Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  if (table === undefined) return undefined;
  if (table instanceof Map) return (table as ReadonlyMap<string, T>).get(name);
  return Object.hasOwn(table, name) ? (table as Readonly<Record<string, T>>)[name] : undefined;
}
