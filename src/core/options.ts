import { z } from 'zod';
import type { Clock } from './clock.js';
import { AWAIT, expectedGot, knownKeys, refusal, toIssues, type IssueHints } from './issues.js';
import { LIMITS } from './limits.js';
import { describeValue, isPlainObject } from './plain-data.js';

/**
 * Checks an options object against the one declaration of its fields, and returns them with their defaults, frozen.
 *
 * `undefined` counts as no options. The object itself is not changed.
 *
 * @param declaration a schema, or a function made with `once` that returns it.
 * @param what the options in the plural: "options of the executor", "conditions of the filter".
 * @throws ToolError `INVALID_ARGUMENT` with every unknown, missing and wrong option; `details.issues` lists them.
 */
export function checkOptions<S extends z.ZodType>(
  declaration: S | (() => S),
  options: unknown,
  what: string,
): Readonly<z.output<S>> {
  const schema = typeof declaration === 'function' ? declaration() : declaration;
  const header = `The ${what} are refused`;
  const given = options === undefined ? {} : options;
  // An object of a class may have members that were never meant as options.
  if (!isPlainObject(given))
    throw refusal(header, [
      {
        path: [],
        message: expectedGot(
          'a plain object',
          instanceOf(given) ?? describeValue(given),
          given instanceof Promise ? AWAIT : wrapIn(schema, given),
        ),
      },
    ]);
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  // Parsed again for better messages only: a map of messages makes every check ten times slower.
  throw refusal(
    header,
    toIssues(schema.safeParse(given, { error: knownKeys }).error ?? parsed.error, given),
  );
}

/**
 * Returns a function that makes a value when it is first called, and returns the same one from then on.
 *
 * Schemas are made this way where the root entry point leads: made while modules load, they took half of the time of
 * `import 'tooldex'`.
 */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Returns the advice for a value that came in place of the options with it. */
function wrapIn(schema: z.ZodType, given: unknown): string | undefined {
  const fields = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  if (typeof given === 'string' && fields.includes('text')) return 'Write { text: … }.';
  if (isObject(given) && fields.includes('executor') && 'executeAll' in given)
    return 'Write { executor }.';
  return isObject(given) && fields.includes('registry') && 'registerAll' in given
    ? 'Write { registry }.'
    : undefined;
}

/** Returns which class an object is of; its constructor may be anything. */
export function instanceOf(value: unknown): string | undefined {
  if (!isObject(value) || Array.isArray(value) || value instanceof Promise) return undefined;
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
 * The fields of a schema that declares exactly the options of the interface `T`, none missing and none more:
 * `z.strictObject({ … } satisfies FieldsOf<SomeOptions>)`.
 */
export type FieldsOf<T> = {
  readonly [Option in keyof T]-?: z.ZodType<unknown, T[Option] | undefined>;
};

/** A field for a function. */
export function aFunction<T>(what = 'a function'): z.ZodType<T, T> {
  return z.custom<T>((value) => typeof value === 'function', what);
}

/** A field for an object that does something: known by its methods, as it may come from another copy of the package. */
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

/** A field for an object whose members are checked elsewhere. */
export function anObject<T>(what = 'an object'): z.ZodType<T, T> {
  return z.custom<T>((value) => isObject(value) && !(value instanceof Promise), what);
}

/** A field for a string that is not blank. */
export const text = () =>
  z.string().refine((value) => value.trim() !== '', 'a string that is not blank');

/** A field for a whole number. */
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

/** A field for milliseconds that a timer can hold. */
export function milliseconds(least = 1, most: number = LIMITS.timerMs): z.ZodType<number, number> {
  return z.custom<number>(
    (value) => typeof value === 'number' && value >= least && value <= most,
    `milliseconds from ${least} to ${most}`,
  );
}

/** A field for a list or anything else that can be gone through. */
export function iterable<T>(what: string): z.ZodType<Iterable<T>, Iterable<T>> {
  return z.custom<Iterable<T>>(
    (value) =>
      isObject(value) && typeof (value as Partial<Iterable<T>>)[Symbol.iterator] === 'function',
    what,
  );
}

/** A field for one value or a list of values; a list comes out. */
export function oneOrMore<T, Given>(
  item: z.ZodType<T, Given>,
): z.ZodType<readonly T[], Given | readonly Given[]> {
  return z.preprocess(
    (value): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : [value]),
    z.array(item),
  ) as unknown as z.ZodType<readonly T[], Given | readonly Given[]>;
}

/** A field for what may be secret: messages name only the kind of value that came. */
export function secret<T>(
  what: string,
  allows: (value: unknown) => boolean,
  advice?: string,
): z.ZodType<T, T> {
  const hints: IssueHints = { secret: true, ...(advice === undefined ? {} : { advice }) };
  return z.custom<T>(allows, { error: what, params: { ...hints } });
}

/** A field for a clock. */
export const clock = () => withMethods<Clock>('a clock', 'now');
/** A field for an AbortSignal. */
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
