/** An error in an expression. The error's position counts from 1. */
export class ExpressionProblem extends Error {}

/** Maximum nesting of parentheses, signs and powers. Deeper nesting would exhaust the stack. */
const MAX_DEPTH = 100;
const NUMBER = /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const NAME = /[A-Za-z][A-Za-z0-9]*/y;
const BLANKS = /\s*/y;

interface MathFunction {
  readonly least: number;
  readonly most: number;
  readonly apply: (...values: number[]) => number;
}

const one = (apply: (value: number) => number): MathFunction => ({ least: 1, most: 1, apply });
const many = (apply: (...values: number[]) => number): MathFunction => ({
  least: 1,
  most: 100,
  apply,
});

/**
 * Constants and functions are in maps, because an object would also contain names such as
 * `constructor`.
 */
const CONSTANTS: ReadonlyMap<string, number> = new Map([
  ['pi', Math.PI],
  ['e', Math.E],
]);
/** Functions with one argument that have the same name in `Math`. */
const OF_ONE_VALUE = [
  ...(['abs', 'sign', 'sqrt', 'cbrt', 'round', 'floor', 'ceil', 'trunc', 'exp'] as const),
  ...(['log10', 'log2', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan'] as const),
];
const FUNCTIONS: ReadonlyMap<string, MathFunction> = new Map([
  ...OF_ONE_VALUE.map((name) => [name, one((value) => Math[name](value))] as const),
  ['ln', one(Math.log)],
  ['min', many(Math.min)],
  ['max', many(Math.max)],
  ['sum', many((...values) => values.reduce((total, value) => total + value, 0))],
  ['avg', many((...values) => values.reduce((total, value) => total + value, 0) / values.length)],
]);

/** All names that an expression may use. */
const KNOWN_NAMES: readonly string[] = [...CONSTANTS.keys(), ...FUNCTIONS.keys()];

/**
 * Evaluates an arithmetic expression.
 *
 * Precedence from low to high: `+ -`, then `* / %`, then signs, then `^`, which is
 * right-associative. So `-2^2` is -4.
 *
 * @throws ExpressionProblem if the text isn't an expression or its value isn't a finite number.
 */
export function evaluate(text: string): number {
  const parser = new Parser(text);
  const value = parser.whole();
  if (!Number.isFinite(value))
    throw new ExpressionProblem(
      'The result is undefined or too large. Check for division by zero, roots and powers.',
    );
  return value === 0 ? 0 : value; // JSON has no negative zero.
}

class Parser {
  #at = 0;
  #depth = 0;

  constructor(private readonly text: string) {}

  whole(): number {
    const value = this.#sum();
    if (this.#peek() !== undefined) throw this.#expected('an operator or the end');
    return value;
  }

  #sum(): number {
    let value = this.#product();
    for (;;) {
      if (this.#take('+')) value += this.#product();
      else if (this.#take('-')) value -= this.#product();
      else return value;
    }
  }

  #product(): number {
    let value = this.#signed();
    for (;;) {
      if (this.#take('*')) value *= this.#signed();
      else if (this.#take('/')) value /= this.#signed();
      else if (this.#take('%')) value %= this.#signed();
      else return value;
    }
  }

  #signed(): number {
    return this.#deeper(() => {
      if (this.#take('-')) return -this.#signed();
      if (this.#take('+')) return this.#signed();
      const base = this.#primary();
      return this.#take('^') ? base ** this.#signed() : base;
    });
  }

  #primary(): number {
    if (this.#take('(')) {
      const value = this.#sum();
      if (!this.#take(')')) throw this.#expected('")"');
      return value;
    }
    const number = this.#match(NUMBER);
    if (number !== undefined) return Number(number);
    const start = this.#at;
    const name = this.#match(NAME)?.toLowerCase();
    if (name === undefined) throw this.#expected('a number, a name or "("');
    const constant = CONSTANTS.get(name);
    if (constant !== undefined) return constant;
    const known = FUNCTIONS.get(name);
    if (known === undefined)
      throw new ExpressionProblem(
        `Unknown name "${name.slice(0, 30)}" at character ${start + 1}. The known names are ${KNOWN_NAMES.join(', ')}.`,
      );
    return this.#call(name, known);
  }

  #call(name: string, { least, most, apply }: MathFunction): number {
    if (!this.#take('(')) throw this.#expected(`"(" after ${name}`);
    const values: number[] = [];
    do values.push(this.#sum());
    while (this.#take(','));
    if (!this.#take(')')) throw this.#expected('"," or ")"');
    if (values.length < least || values.length > most)
      throw new ExpressionProblem(
        `expected ${most === 1 ? '1 value' : `${least} to ${most} values`} for ${name}, found ${values.length}`,
      );
    return apply(...values);
  }

  #deeper(work: () => number): number {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH)
      throw new ExpressionProblem(
        `The expression is nested more than ${MAX_DEPTH} levels deep. Compute it in parts.`,
      );
    const value = work();
    this.#depth -= 1;
    return value;
  }

  #peek(): string | undefined {
    this.#match(BLANKS);
    return this.text[this.#at];
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at += 1;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #expected(what: string): ExpressionProblem {
    const found = this.#peek();
    return new ExpressionProblem(
      `Expected ${what}, got ${found === undefined ? 'the end' : JSON.stringify(found)} at character ${this.#at + 1}.`,
    );
  }
}
