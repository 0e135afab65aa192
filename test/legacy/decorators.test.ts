import { describe, expect, it } from 'vitest';
import { tool } from '../../src/index.js';
import { describeDecorators } from '../tool/decorator-cases.js';
import { LEAST } from '../tool/sample-tools.js';

const seen: unknown[] = [];
function probe(...args: unknown[]): void {
  seen.push(args.map((each) => (typeof each === 'object' && each !== null && 'value' in each ? typeof each : each)));
}

@probe
class Probed {
  @probe
  method() {
    return seen;
  }
}

describe('this file', () => {
  it('is compiled with legacy decorators', () => {
    expect(new Probed().method()).toHaveLength(2);
  });

  it('hands decorators a prototype, a key and a descriptor', () => {
    expect(seen).toEqual([[Probed.prototype, 'method', 'object'], [Probed]]);
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
const misplaced = () => tool({ ...LEAST, name: 'misplaced' }) as (...target: any[]) => void;

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
    ['a getter', () => { class Bad { @misplaced() get value() { return 1; } } return Bad; }],
    ['a setter', () => { class Bad { @misplaced() set value(value: number) { void value; } } return Bad; }],
    ['a static getter', () => { class Bad { @misplaced() static get value() { return 1; } } return Bad; }],
    ['a field', () => { class Bad { @misplaced() field = 1; } return Bad; }],
    ['a static field', () => { class Bad { @misplaced() static field = 1; } return Bad; }],
    ['a parameter', () => { class Bad { method(@misplaced() value: number) { return value; } } return Bad; }],
  ],
});
