import { z } from 'zod';
import type { Clock } from './clock.js';
import { AWAIT, expectedGot, knownKeys, refusal, toIssues, type IssueHints } from './issues.js';
import { LIMITS } from './limits.js';
import { describeValue, isPlainObject, isPromise } from './plain-data.js';

/**
 * Validates an options object against a schema of its fields. Returns the options with defaults
 * applied, frozen.
 *
 * `undefined` is treated as an empty object. The original object isn't changed.
 *
 * @param declaration A schema, or a function created with `once` that returns the schema.
 * @param what Describes the options in the plural: "options of the executor", "conditions of the
 * filter".
 * @throws ToolError `INVALID_ARGUMENT` with every unknown, missing, and invalid option.
 * `details.issues` lists these options.
 */
export function checkOptions<S extends z.ZodType>(
  declaration: S | (() => S),
  options: unknown,
  what: string,
): Readonly<z.output<S>> {
  const schema = typeof declaration === 'function' ? declaration() : declaration;
  const header = `Invalid ${what}`;
  const values = options === undefined ? {} : options;
  // A class instance can have members that were never meant as options.
  if (!isPlainObject(values))
    throw refusal(header, [
      {
        path: [],
        message: expectedGot(
          'a plain object',
          instanceOf(values) ?? describeValue(values),
          isPromise(values) ? AWAIT : wrapIn(schema, values),
        ),
      },
    ]);
  const parsed = schema.safeParse(values);
  if (parsed.success) return Object.freeze(parsed.data);
  // Parses again to get better messages.
  // A custom error map makes every check ten times slower, so only failed checks use it.
  throw refusal(
    header,
    toIssues(schema.safeParse(values, { error: knownKeys }).error ?? parsed.error, values),
  );
}

/**
 * Returns a function that creates a value on its first call and returns the same value afterwards.
 *
 * All modules that the root entry point loads create their schemas with this function. Creating the
 * schemas at load time would double the time of `import 'tooldex'`.
 */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Returns advice for a value that was passed directly instead of in an options object. */
function wrapIn(schema: z.ZodType, values: unknown): string | undefined {
  const fields = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  if (typeof values === 'string' && fields.includes('text')) return 'Write { text: … }.';
  if (isObject(values) && fields.includes('executor') && 'executeAll' in values)
    return 'Write { executor }.';
  return isObject(values) && fields.includes('registry') && 'registerAll' in values
    ? 'Write { registry }.'
    : undefined;
}

/**
 * Returns "an instance of", followed by the class name. The object's `constructor` property can be
 * anything.
 */
export function instanceOf(value: unknown): string | undefined {
  if (!isObject(value) || Array.isArray(value) || isPromise(value)) return undefined;
  try {
    const name: unknown = (value as { readonly constructor?: { readonly name?: unknown } })
      .constructor?.name;
    return typeof name === 'string' && /^[A-Z]\w{0,60}$/.test(name) && name !== 'Object'
      ? `an instance of ${name}`
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The shape of a schema that declares exactly the options of the interface `T`: `z.strictObject({ …
 * } satisfies FieldsOf<SomeOptions>)`.
 */
export type FieldsOf<T> = {
  readonly [Option in keyof T]-?: z.ZodType<unknown, T[Option] | undefined>;
};

/** Returns a schema for a function. */
export function aFunction<T>(what = 'a function'): z.ZodType<T, T> {
  return z.custom<T>((value) => typeof value === 'function', what);
}

/**
 * Returns a schema for an object with these methods. The object's class isn't checked, because the
 * object can come from another copy of the package.
 */
export function withMethods<T>(
  what: string,
  ...methods: readonly (keyof T & string)[]
): z.ZodType<T, T> {
  return z.custom<T>(
    (value) =>
      (isObject(value) || typeof value === 'function') &&
      methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function'),
    what,
  );
}

/** Returns a schema for an object whose members are checked elsewhere. */
export function anObject<T>(what = 'an object'): z.ZodType<T, T> {
  return z.custom<T>((value) => isObject(value) && !isPromise(value), what);
}

/** Returns a schema for a string that isn't blank. */
export const text = () =>
  z.string().refine((value) => value.trim() !== '', "a string that isn't blank");

/** Returns a schema for an integer. */
export function wholeBetween(
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): z.ZodType<number, number> {
  const what =
    most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  return z.custom<number>(
    (value) =>
      Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most,
    `a whole number ${what}`,
  );
}

/** Returns a schema for a number of milliseconds that is valid for a timer. */
export function milliseconds(least = 1, most: number = LIMITS.timerMs): z.ZodType<number, number> {
  return z.custom<number>(
    (value) => typeof value === 'number' && value >= least && value <= most,
    `milliseconds from ${least} to ${most}`,
  );
}

/** Returns a schema for a list or any other iterable. */
export function iterable<T>(what: string): z.ZodType<Iterable<T>, Iterable<T>> {
  return z.custom<Iterable<T>>(
    (value) =>
      isObject(value) && typeof (value as Partial<Iterable<T>>)[Symbol.iterator] === 'function',
    what,
  );
}

/**
 * Returns a schema for a single value or a list of values. The schema's output is always a list.
 */
export function oneOrMore<T, Given>(
  item: z.ZodType<T, Given>,
): z.ZodType<readonly T[], Given | readonly Given[]> {
  return z.preprocess(
    (value): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : [value]),
    z.array(item),
  ) as unknown as z.ZodType<readonly T[], Given | readonly Given[]>;
}

/** Returns a schema for a value that can be secret. Messages mention only the kind of the value. */
export function secret<T>(
  what: string,
  allows: (value: unknown) => boolean,
  advice?: string,
): z.ZodType<T, T> {
  const hints: IssueHints = { secret: true, ...(advice === undefined ? {} : { advice }) };
  return z.custom<T>(allows, { error: what, params: { ...hints } });
}

/** Returns a schema for a clock. */
export const clock = () => withMethods<Clock>('a clock', 'now');
/** Returns a schema for an AbortSignal. */
export const signal = () =>
  z.custom<AbortSignal>(
    (value) =>
      isObject(value) &&
      typeof (value as Partial<AbortSignal>).aborted === 'boolean' &&
      typeof (value as Partial<AbortSignal>).addEventListener === 'function',
    'an AbortSignal',
  );

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
