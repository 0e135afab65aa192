import { describe, expect, it } from 'vitest';
import { tool } from '../../src/index.js';
import { describeDecorators } from './decorator-cases.js';
import { LEAST } from './sample-tools.js';

const seen: unknown[] = [];
function probe(_: unknown, context: { readonly kind: string; readonly name?: string | symbol | undefined }): void {
  seen.push([context.kind, context.name]);
}

@probe
class Probed {
  @probe
  method() {
    return seen;
  }
}

describe('this file', () => {
  it('is compiled with standard decorators', () => {
    expect(new Probed().method()).toHaveLength(2);
  });

  it('hands decorators a context', () => {
    expect(seen).toEqual([
      ['method', 'method'],
      ['class', 'Probed'],
    ]);
  });
});

const made = { count: 0 };
const subtract = Symbol('subtract');

@tool({ ...LEAST, name: 'greet', description: 'Greets a person' })
class Greet {
  constructor(private readonly greeting = 'Hello') {
    made.count++;
  }

  execute({ name }: { name: string }) {
    return `${this.greeting} ${name}`;
  }
}

class LoudGreet extends Greet {
  override execute(input: { name: string }) {
    return super.execute(input).toUpperCase();
  }
}

@tool({ ...LEAST, name: 'greet_again', accessMode: 'readonly' })
class GreetAgain extends Greet {}

@tool({ ...LEAST, name: 'explosive', accessMode: 'readonly', keywords: ['bang'] })
class Explosive {
  constructor() {
    throw new Error('constructed');
  }

  execute() {
    return 1;
  }
}

class Calculator {
  #calls = 0;

  constructor() {
    made.count++;
  }

  @tool({ ...LEAST, name: 'add' })
  add({ a, b }: { a: number; b: number }): unknown {
    return { sum: a + b, calls: ++this.#calls };
  }

  @tool({ ...LEAST, name: 'subtract' })
  [subtract]({ a, b }: { a: number; b: number }) {
    return a - b;
  }

  @tool({ ...LEAST, name: 'version' })
  static version() {
    return `1 of ${this.name}`;
  }
}

class BetterCalculator extends Calculator {
  override add({ a, b }: { a: number; b: number }) {
    return 10 * (a + b);
  }

  @tool({ ...LEAST, name: 'minus' })
  override [subtract]({ a, b }: { a: number; b: number }) {
    return a - b;
  }

  @tool({ ...LEAST, name: 'multiply' })
  multiply({ a, b }: { a: number; b: number }) {
    return a * b;
  }
}

@tool({ ...LEAST, name: 'whole' })
class Both {
  execute() {
    return 'whole';
  }

  @tool({ ...LEAST, name: 'part' })
  part() {
    return 'part';
  }
}

class Plain {
  execute() {
    return 1;
  }
}

/** For the compiler a decorator of anything: what the real one refuses at run time. */
const misplaced = () => tool({ ...LEAST, name: 'misplaced' }) as (...target: unknown[]) => void;

describeDecorators({
  made,
  Greet,
  LoudGreet,
  GreetAgain,
  Explosive,
  Calculator,
  BetterCalculator,
  Both,
  Plain,
  refused: [
    ['a private method', () => class { @misplaced() #hidden() { return 1; } use() { return this.#hidden(); } }],
    ['a static private method', () => class { @misplaced() static #hidden() { return 1; } static use() { return this.#hidden(); } }],
    ['a getter', () => class { @misplaced() get value() { return 1; } }],
    ['a setter', () => class { @misplaced() set value(value: number) { void value; } }],
    ['a field', () => class { @misplaced() field = 1; }],
    ['an accessor', () => class { @misplaced() accessor value = 1; }],
  ],
});
