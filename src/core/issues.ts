import Fuse from 'fuse.js/min-basic';
import type { z } from 'zod';
import { ToolError, type Issue } from './errors.js';
import { describeValue, isPromise } from './plain-data.js';

/**
 * Returns an error message that describes what was expected, the actual value, and how to fix it.
 */
export function expectedGot(expected: string, got: string, advice?: string): string {
  return `Expected ${expected}, got ${got}.${advice === undefined ? '' : ` ${advice}`}`;
}

/** Returns the error for an invalid argument. `got` is the actual value. */
export function invalidArgument(expected: string, got: unknown, advice?: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', expectedGot(expected, describeValue(got), advice));
}

/**
 * Returns the error for a value with several issues: a header, followed by one line per issue.
 * Programs can read the issues from `details.issues`.
 */
export function refusal(header: string, issues: readonly Issue[]): ToolError {
  return new ToolError('INVALID_ARGUMENT', `${header}:\n  ${formatIssues(issues)}`, {
    details: { issues },
  });
}

/** Advice for when a promise was passed instead of its value. */
export const AWAIT = 'Await it first.';

/**
 * Returns a function that throws `MISSING_PACKAGE` with advice on what to install.
 *
 * Write `await import()` with the package's literal name directly inside `try`, and call this
 * function in its `catch`. Then every bundler includes an installed package and tolerates a missing
 * one. webpack tolerates neither `import().catch()` nor a function around `import()`, and esbuild
 * needs the `await`.
 */
export function missingPackage(
  name: string,
  advice = `Run npm install ${name}.`,
): (cause: unknown) => never {
  return (cause) => {
    throw new ToolError(
      'MISSING_PACKAGE',
      `The package ${name} isn't installed or can't be loaded. ${advice}`,
      { details: { package: name }, cause },
    );
  };
}

/**
 * Returns the module of an optional package. Next builds with webpack put an empty module in place of
 * a missing package.
 *
 * @throws Error if the module is empty, for the `catch` around its `import()`.
 */
export function requireInstalled<Module extends object>(module: Module): Module {
  const content: unknown = 'default' in module ? module.default : module;
  if (typeof content === 'object' && content !== null && Object.keys(content).length === 0)
    throw new Error('The module is empty.');
  return module;
}

/** Returns the string unchanged. @throws ToolError `INVALID_ARGUMENT` for anything else. */
export function requireText(text: unknown): string {
  if (typeof text === 'string') return text;
  throw invalidArgument('a string', text);
}

/** Converts zod issues to tooldex's format: the path, what was expected, and the actual value. */
export function toIssues(error: z.ZodError, input: unknown): readonly Issue[] {
  return error.issues.flatMap((issue): readonly Issue[] => {
    const path = issue.path.filter((step): step is string | number => typeof step !== 'symbol');
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({
        path,
        message: unknownOption(
          key,
          issue.message.startsWith(KNOWN) ? issue.message.slice(KNOWN.length).split(', ') : [],
        ),
      }));
    const { secret = false, advice } = hintsOf(issue);
    const value = valueAt(input, path);
    const meant =
      issue.code === 'invalid_value' && !secret
        ? didYouMean(suggestValue(value, issue.values))
        : undefined;
    return [
      {
        path,
        message: expectedGot(
          expectationOf(issue),
          secret ? kindOf(value) : describeValue(value),
          advice ?? (isPromise(value) ? AWAIT : meant),
        ),
      },
    ];
  });
}

/**
 * Formats a path as in code, such as `list[0].name`. Names that aren't identifiers are put in
 * brackets.
 */
export function formatPath(path: Issue['path']): string {
  const steps = path.map((step, index) => {
    if (typeof step === 'number') return `[${step}]`;
    if (!/^[A-Za-z_$][\w$-]*$/.test(step)) return `[${JSON.stringify(step)}]`;
    return index === 0 ? step : `.${step}`;
  });
  return steps.join('');
}

/** Formats issues with one line per issue. Each line begins with the path. */
export function formatIssues(issues: readonly Issue[]): string {
  return issues
    .map(({ path, message }) => (path.length > 0 ? `${formatPath(path)}: ${message}` : message))
    .join('\n  ');
}

/** Matches the start of zod's own messages. All other messages come from the schema's author. */
const ZODS_WORDS = /^(?:Invalid |Too (?:big|small): )/;

/**
 * Returns true if the issue's message comes from zod, false if it comes from the schema's author.
 */
export function isWordedByZod({ message }: z.core.$ZodIssue): boolean {
  return ZODS_WORDS.test(message);
}

/**
 * Returns what a zod issue expects, worded to follow "Expected".
 *
 * @param forModel True to omit the schema author's message, because the advice already contains it.
 */
export function expectationOf(issue: z.core.$ZodIssue, forModel = false): string {
  const words = isWordedByZod(issue) ? undefined : issue.message.replace(/^expected /i, ''); // A refinement's message can be a whole sentence.
  switch (issue.code) {
    case 'invalid_value':
      return `${issue.values.length === 1 ? '' : 'one of '}${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'invalid_type':
      return typeWords(issue.expected);
    case 'too_big':
      return `${issue.exact === true ? 'exactly' : issue.inclusive === false ? 'less than' : 'at most'} ${amount(issue.maximum, issue.origin)}`;
    case 'too_small':
      return `${issue.exact === true ? 'exactly' : issue.inclusive === false ? 'more than' : 'at least'} ${amount(issue.minimum, issue.origin)}`;
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return 'only known parameters';
    case 'invalid_union':
      return (!forModel && words) || unionOf(issue, forModel);
    case 'invalid_format':
      return (!forModel && words) || formatOf(issue);
    default:
      return (!forModel && words) || 'a value that the schema accepts';
  }
}

/**
 * Returns what the branches of a union expect, or the values that distinguish the branches. Each
 * branch is described by its first issue.
 */
function unionOf(issue: z.core.$ZodIssueInvalidUnion, forModel: boolean): string {
  const { options } = issue as { readonly options?: unknown };
  if (issue.errors.length === 0 && Array.isArray(options) && options.length > 0)
    return `one of ${options.map((value) => JSON.stringify(value)).join(', ')}`;
  const expected = issue.errors.flatMap(([first]) => {
    if (first === undefined) return [];
    const each = expectationOf(first, forModel);
    return first.path.length === 0
      ? [each]
      : [`an object whose ${first.path.join('.')} is ${each}`];
  });
  return [...new Set(expected)].join(', or ') || 'another value';
}

function formatOf(issue: z.core.$ZodIssueInvalidStringFormat): string {
  const { format, pattern, prefix, suffix, includes, message } =
    issue as z.core.$ZodIssueInvalidStringFormat &
      Readonly<Record<'prefix' | 'suffix' | 'includes', string | undefined>>;
  if (prefix !== undefined) return `text that begins with ${JSON.stringify(prefix)}`;
  if (suffix !== undefined) return `text that ends with ${JSON.stringify(suffix)}`;
  if (includes !== undefined) return `text that contains ${JSON.stringify(includes)}`;
  return format === 'regex'
    ? `text that matches ${pattern}`
    : `a valid ${message.startsWith('Invalid ') ? message.slice(8) : format}`;
}

/** The words after "Expected" in the message for a missing value. */
export const REQUIRED = 'a value (it is required)';

/** Translates a zod or JSON Schema type name into plain English. */
export function typeWords(type: string): string {
  return EXPECTED[type] ?? type;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  nonoptional: REQUIRED,
  int: 'a whole number',
  integer: 'a whole number',
};

/** Returns the kind of a value without the value itself, for fields that can contain secrets. */
export function kindOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.trim() === '' ? 'a blank string' : 'a string';
    case 'number':
    case 'bigint':
      return 'a number';
    case 'boolean':
      return 'true or false';
    default:
      return describeValue(value);
  }
}

/** Additional information about a failed refinement. Pass this object to zod as `params`. */
export interface IssueHints {
  /** The advice, as a complete sentence. */
  readonly advice?: string;
  /** Shows the kind of the value instead of the value. */
  readonly secret?: boolean;
}

function hintsOf(issue: z.core.$ZodIssue): IssueHints {
  return issue.code === 'custom' ? ((issue.params ?? {}) as IssueHints) : {};
}

function amount(bound: number | bigint, origin: string): string {
  if (origin === 'string') return bound === 1 ? '1 character' : `${bound} characters`;
  if (origin === 'date') return new Date(Number(bound)).toISOString();
  if (origin === 'array' || origin === 'set') return bound === 1 ? '1 entry' : `${bound} entries`;
  return String(bound);
}

/** The maximum number of names in one message. */
const MOST_NAMED = 30;
/** The prefix of the messages that `knownKeys` passes to zod. */
const KNOWN = 'known: ';

/**
 * Returns a message with the keys that an object accepts, for `safeParse(value, { error: knownKeys
 * })`. `toIssues` uses this message to suggest names for unknown keys.
 *
 * zod reveals the object that rejected a key only during parsing. The issue's message therefore
 * contains the keys that this object accepts.
 */
export function knownKeys(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'unrecognized_keys') return undefined;
  const { shape } = (
    issue.inst as unknown as { readonly _zod: { readonly def: { readonly shape?: object } } }
  )._zod.def;
  return shape === undefined ? undefined : `${KNOWN}${Object.keys(shape).join(', ')}`;
}

/** Names that other libraries use for tooldex options. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['maxSteps', 'maxTurns'],
  ['maxIterations', 'maxTurns'],
]);

/** Returns the message for an unknown option, with the closest name or a list of all names. */
export function unknownOption(option: string, options: readonly string[]): string {
  const begun = options
    .filter((name) => name.startsWith(option) || name === OTHER_NAMES.get(option))
    .sort((one, other) => one.length - other.length);
  const close =
    begun.length > 0 && begun.length <= 4 ? begun : suggestNames(option, options).slice(0, 1);
  const advice =
    close.length > 0
      ? `Did you mean ${close.map((name) => JSON.stringify(name)).join(' or ')}?`
      : options.length > 0 && options.length <= MOST_NAMED
        ? `Known options: ${options.join(', ')}.`
        : undefined;
  return expectedGot('a known option', describeValue(option), advice);
}

/** Words that people use instead of an enum's values. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['dangerous', 'high'],
  ['destructive', 'critical'],
  ['harmless', 'safe'],
  ['expensive', 'high'],
  ['cheap', 'low'],
  ['read', 'read_only'],
  ['shell', 'execute'],
  ['http', 'network'],
  ['db', 'database'],
]);

/** Returns the known value that was probably meant, ignoring case and punctuation. */
export function suggestValue(written: unknown, allowed: readonly unknown[]): string | undefined {
  const letters = (text: string) => text.toLowerCase().replace(/[^a-z]/g, '');
  if (typeof written !== 'string' || letters(written) === '') return undefined;
  const words = [letters(written), letters(MEANT.get(letters(written)) ?? written)];
  const names = allowed.filter((name) => typeof name === 'string');
  return (
    names.find((name) => words.includes(letters(name))) ??
    suggestNames(written.toLowerCase(), names)[0]
  );
}

function didYouMean(value: unknown): string | undefined {
  return value === undefined ? undefined : `Did you mean ${JSON.stringify(value)}?`;
}

/** Returns the error for a value that isn't in an enum, with the closest value as a suggestion. */
export function unknownValue(
  written: unknown,
  allowed: Readonly<Record<string, string | number>>,
): ToolError {
  // A numbered value can also be written as its name, in lowercase.
  const names = Object.entries(allowed).map(([name, value]) =>
    typeof value === 'number' ? name.toLowerCase() : value,
  );
  const numbers = Object.values(allowed).filter((value) => typeof value === 'number');
  const values = [...names, ...numbers].map((value) => JSON.stringify(value));
  const meant = suggestValue(written, names);
  return invalidArgument(`one of ${values.join(', ')}`, written, didYouMean(meant));
}

/** The maximum length of names for which suggestions are made. */
const LONGEST = 64;
/**
 * The maximum number of names to compare. Models often invent names, and each comparison takes
 * about 30 µs.
 */
const MOST_COMPARED = 500;
/** The maximum difference in length between a name and its misspelling. */
const LENGTH_DIFFERENCE = 4;

/** Returns up to three known names that are similar to `asked`, best match first. */
export function suggestNames(asked: string, names: readonly string[]): readonly string[] {
  if (asked.length > LONGEST) return [];
  const candidates = names
    .filter(
      (name) => Math.abs(name.length - asked.length) <= LENGTH_DIFFERENCE || name.includes(asked),
    )
    .slice(0, MOST_COMPARED);
  return new Fuse(candidates, { threshold: 0.4 })
    .search(asked, { limit: 3 })
    .map(({ item }) => item);
}

function valueAt(input: unknown, path: Issue['path']): unknown {
  return path.reduce<unknown>((value, step) => {
    if (typeof value === 'object' && value !== null)
      return (value as Record<PropertyKey, unknown>)[step];
    return step === 0 ? value : undefined; // Treats a single value as a list with one item.
  }, input);
}
