import { versionFilter } from '../../capability/capability-query.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot, suggestNames } from '../../core/issues.js';
import { describeValue, type Json } from '../../core/plain-data.js';

/** One parameter of a route, with its allowed values: requests are read and described by it. */
export interface Parameter<T = unknown> {
  readonly description: string;
  /** The allowed value, as error messages name it. */
  readonly expected: string;
  /** The JSON Schema of one value. */
  readonly schema: Readonly<Record<string, Json>>;
  /** Allows the parameter more than once. */
  readonly repeatable: boolean;
  /** Returns the value of a text; `undefined` for a wrong one. */
  readonly read: (text: string) => T | undefined;
}

/** Characters of one value; names, labels and constraints are far shorter. */
const LONGEST_VALUE = 512;

export function text(
  description: string,
  { repeatable = true, longest = LONGEST_VALUE } = {},
): Parameter<string> {
  return {
    description,
    expected: `a text of 1 to ${longest} characters`,
    schema: { type: 'string', minLength: 1, maxLength: longest },
    repeatable,
    read: (value) => (value.trim() === '' || value.length > longest ? undefined : value),
  };
}

export function oneOf<T extends string>(
  values: readonly T[],
  description: string,
  { repeatable = true } = {},
): Parameter<T> {
  return {
    description,
    expected: `one of ${values.join(', ')}`,
    schema: { type: 'string', enum: values },
    repeatable,
    read: (value) => values.find((each) => each === value),
  };
}

export function trueOrFalse(description: string): Parameter<boolean> {
  return {
    description,
    expected: 'true or false',
    schema: { type: 'boolean' },
    repeatable: false,
    read: (value) => (value === 'true' ? true : value === 'false' ? false : undefined),
  };
}

export function wholeBetween(
  least: number,
  most: number,
  preset: number,
  description: string,
): Parameter<number> {
  return {
    description,
    expected: `a whole number from ${least} to ${most}`,
    schema: { type: 'integer', minimum: least, maximum: most, default: preset },
    repeatable: false,
    read: (value) =>
      /^\d{1,9}$/.test(value) && Number(value) >= least && Number(value) <= most
        ? Number(value)
        : undefined,
  };
}

/** A share; `80` is refused, since it may mean 80 % or be a slip. */
export function share(description: string): Parameter<number> {
  return {
    description,
    expected: 'a number from 0 to 1, such as 0.8',
    schema: { type: 'number', minimum: 0, maximum: 1 },
    repeatable: false,
    read: (value) =>
      /^(?:0?\.\d{1,9}|0|1(?:\.0{1,9})?|0\.\d{1,9})$/.test(value) ? Number(value) : undefined,
  };
}

export function versionRange(description: string): Parameter<string> {
  return {
    description,
    expected: "a version constraint such as '>=1.2', '^1' or '1.x || >=2'",
    schema: { type: 'string', minLength: 1 },
    repeatable: true,
    read: (value) => {
      if (value.replaceAll(',', '').trim() === '') return undefined;
      try {
        versionFilter(value);
        return value;
      } catch {
        return undefined;
      }
    },
  };
}

/** A list of known names, separated by commas. */
export function namesOf(
  known: readonly string[],
  description: string,
): Parameter<readonly string[]> {
  const set = new Set(known);
  return {
    description,
    expected: `names of ${known.join(', ')}, separated by commas`,
    schema: { type: 'string' },
    repeatable: true,
    read: (value) => {
      const names = value.split(',').map((name) => name.trim());
      return names.every((name) => set.has(name)) ? names : undefined;
    },
  };
}

/** The refusal of a value, which names its parameter. */
export function wrongParameter(
  parameter: string,
  expected: string,
  found: string | undefined,
  what: 'value' | 'name' = 'value',
  advice?: string,
): ToolError {
  const got = found === undefined ? 'none' : describeValue(found);
  const message =
    what === 'name'
      ? expectedGot(expected, `the parameter ${got}`, advice)
      : expectedGot(`${parameter} as ${expected}`, got, advice);
  return new ToolError('INVALID_ARGUMENT', message, {
    details: { parameter: parameter.slice(0, 60), expected, found: (found ?? 'none').slice(0, 60) },
  });
}

/** The largest number of parameters of a request, which bounds its work. */
const MOST_PARAMETERS = 50;

/** The parameters that a route knows. It is a map because their names come from outside. */
export type Parameters = ReadonlyMap<string, Parameter>;

/** The parameters of a request: every value in order; those that were not given are missing. */
export class Asked {
  readonly #values: ReadonlyMap<string, readonly unknown[]>;

  constructor(values: ReadonlyMap<string, readonly unknown[]>) {
    this.#values = values;
  }

  /** The parameters that were given. */
  get names(): readonly string[] {
    return [...this.#values.keys()];
  }

  /** Returns the values of a parameter; the caller knows their type from the parameter's declaration. */
  all<T>(name: string): readonly T[] | undefined {
    return this.#values.get(name) as readonly T[] | undefined;
  }

  /** Returns the same request with only some of its parameters. */
  only(names: readonly string[]): Asked {
    return new Asked(new Map([...this.#values].filter(([name]) => names.includes(name))));
  }

  one<T>(name: string): T | undefined {
    return this.all<T>(name)?.[0];
  }
}

/** Returns the advice for an unknown name. */
export function nearTo(name: string, known: readonly string[]): string | undefined {
  const [near] = suggestNames(name, known);
  return near === undefined ? undefined : `Did you mean ${JSON.stringify(near)}?`;
}

/**
 * Reads the query of a request against the parameters of its route.
 *
 * @throws ToolError `INVALID_ARGUMENT` for an unknown parameter, a wrong value, or one value too many: an ignored
 * filter would silently widen the answer. Its details have `parameter`, `expected` and `found`.
 */
export function readParameters(query: string, known: Parameters): Asked {
  const values = new Map<string, unknown[]>();
  let count = 0;
  for (const [name, text] of new URLSearchParams(query)) {
    if (++count > MOST_PARAMETERS)
      throw wrongParameter(name, `at most ${MOST_PARAMETERS} parameters`, name, 'name');
    const parameter = known.get(name);
    if (parameter === undefined)
      throw wrongParameter(
        name,
        known.size === 0 ? 'no parameters' : `only ${[...known.keys()].join(', ')}`,
        name,
        'name',
        nearTo(name, [...known.keys()]),
      );
    const value = parameter.read(text);
    if (value === undefined) throw wrongParameter(name, parameter.expected, text);
    const before = values.get(name);
    if (before === undefined) values.set(name, [value]);
    else if (parameter.repeatable) before.push(value);
    else throw wrongParameter(name, 'a parameter that is given once', text);
  }
  return new Asked(values);
}
