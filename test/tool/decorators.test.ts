import { expect, it } from 'vitest';
import { tool, toolkit, ToolMetadataRegistry } from '../../src/index.js';
import { describeDecorators } from './decorator-cases.js';
import { LEAST } from './sample-tools.js';

const seen: unknown[] = [];
@((_: unknown, { kind, name }: ClassDecoratorContext) => void seen.push(kind, name))
class Probed {}

it("this file's decorators receive a context", () => {
  expect(seen).toEqual(['class', Probed.name]);
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

@tool({ ...LEAST, name: 'field' })
class Field {
  execute = ({ name }: { name: string }) => `${this.greeting} ${name}`;
  readonly greeting = 'Hello';
}

@tool({ ...LEAST, name: 'inherited_field' })
class InheritedField extends Field {}

@tool({ ...LEAST, name: 'assigned' })
class Assigned {
  execute: (input: { name: string }) => string;

  constructor() {
    this.execute = ({ name }) => `Hello ${name}`;
  }
}

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

@toolkit({ category: 'notes', accessMode: 'readonly' })
class Notes {
  @tool({ ...LEAST, name: 'note_find' })
  find({ text }: { text: string }) {
    return `found ${text}`;
  }

  @tool({ ...LEAST, name: 'note_add', category: 'drafts', accessMode: 'write' })
  add() {
    return 'added';
  }

  @tool({ ...LEAST, name: 'note_count' })
  static count() {
    return 0;
  }
}

class MoreNotes extends Notes {
  @tool({ ...LEAST, name: 'note_list' })
  list() {
    return [];
  }
}

@toolkit({ dangerLevel: 'high' })
class SentNotes extends Notes {
  @tool({ ...LEAST, name: 'note_send' })
  send() {
    return 'sent';
  }
}

class Plain {
  execute() {
    return 1;
  }
}

/** A decorator that the compiler accepts anywhere, to test errors at run time. */
const misplaced = () => tool({ ...LEAST, name: 'misplaced' }) as (...target: unknown[]) => void;

// The compiler accepts these decorators anywhere, as in a program without types.
type Anything = (...target: unknown[]) => void;
const bare = tool as Anything;
const bareToolkit = toolkit as Anything;

const declareVisit = (registry: ToolMetadataRegistry, answer = 'visited') => {
  @registry.tool({ ...LEAST, name: 'visit' })
  @toolkit({ category: 'web' })
  class Visit {
    execute() {
      return answer;
    }

    @tool({ ...LEAST, name: 'visit_count' })
    count() {
      return 1;
    }
  }
  return Visit;
};

const declareOtherVisit = (registry: ToolMetadataRegistry) => {
  @registry.tool({ ...LEAST, name: 'visit' })
  class OtherVisit {
    execute() {
      return 1;
    }
  }
  return OtherVisit;
};

const declarePage = (registry: ToolMetadataRegistry) => {
  @registry.tool({ ...LEAST, name: 'page' })
  class ShowPage {
    constructor(readonly page: { readonly title: string }) {}

    execute() {
      return this.page.title;
    }
  }
  return ShowPage;
};

describeDecorators({
  made,
  Greet,
  LoudGreet,
  GreetAgain,
  Fields: [Field, InheritedField, Assigned],
  Explosive,
  Calculator,
  BetterCalculator,
  Both,
  Notes,
  MoreNotes,
  SentNotes,
  declareVisit,
  declareOtherVisit,
  declarePage,
  Plain,
  mistakes: [
    [
      '@toolkit above @registry.tool',
      () => {
        @toolkit({ category: 'web' })
        @(new ToolMetadataRegistry().tool({ ...LEAST, name: 'early' }))
        class Early {
          execute() {
            return 1;
          }
        }
        return Early;
      },
      'Make @registry.tool the topmost decorator.',
    ],
    [
      '@registry.tool on a method',
      () =>
        class {
          @(new ToolMetadataRegistry().tool({ ...LEAST, name: 'early' }) as Anything) run() {
            return 1;
          }
        },
      'Declare methods with @tool, and register their class.',
    ],
    [
      '@tool without parentheses on a class',
      () => {
        @bare
        class Bare {
          execute() {
            return 1;
          }
        }
        return Bare;
      },
      'expected @tool({…}) with its options, got @tool without options. Write @tool({ name, description, inputSchema }).',
    ],
    [
      '@toolkit without parentheses',
      () => {
        @bareToolkit
        class Bare {
          execute() {
            return 1;
          }
        }
        return Bare;
      },
      'expected @toolkit({…}) with its options, got @toolkit without options.',
    ],
    [
      'two @tool on one class',
      () => {
        @tool({ ...LEAST, name: 'second' })
        @tool({ ...LEAST, name: 'first' })
        class Twice {
          execute() {
            return 1;
          }
        }
        return Twice;
      },
      'Tool "second": expected one @tool on a class, got a second @tool in addition to the tool "first".',
    ],
    [
      'a method that contradicts its toolkit',
      () => {
        @toolkit({ accessMode: 'readonly' })
        class Wrong {
          @tool({ ...LEAST, name: 'wrong', sideEffects: 'write' }) run() {
            return 1;
          }
        }
        return Wrong;
      },
      'Tool "wrong" is invalid',
    ],
  ],
  refused: [
    [
      'a private method',
      () =>
        class {
          @misplaced() #hidden() {
            return 1;
          }
          use() {
            return this.#hidden();
          }
        },
    ],
    [
      'a getter',
      () =>
        class {
          @misplaced() get value() {
            return 1;
          }
        },
    ],
    [
      'a field',
      () =>
        class {
          @misplaced() field = 1;
        },
    ],
  ],
});
