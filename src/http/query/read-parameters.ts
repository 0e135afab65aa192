import { suggestNames } from '../../core/issues.js';
import { wrongParameter, type Parameter } from './parameter.js';

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
    if (++count > MOST_PARAMETERS) throw wrongParameter(name, `at most ${MOST_PARAMETERS} parameters`, name, 'name');
    const parameter = known.get(name);
    if (parameter === undefined) throw wrongParameter(name, known.size === 0 ? 'no parameters' : `only ${[...known.keys()].join(', ')}`, name, 'name', nearTo(name, [...known.keys()]));
    const value = parameter.read(text);
    if (value === undefined) throw wrongParameter(name, parameter.expected, text);
    const before = values.get(name);
    if (before === undefined) values.set(name, [value]);
    else if (parameter.repeatable) before.push(value);
    else throw wrongParameter(name, 'a parameter that is given once', text);
  }
  return new Asked(values);
}
