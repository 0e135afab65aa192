import { describe, expect, it } from 'vitest';
import { tool, toolkit, ToolMetadataRegistry } from '../../src/index.js';
import { describeDecorators } from '../tool/decorator-cases.js';
import { LEAST } from '../tool/sample-tools.js';

const seen: unknown[] = [];
function probe(...args: unknown[]): void {
  seen.push(
    args.map((each) =>
      typeof each === 'object' && each !== null && 'value' in each ? typeof each : each,
    ),
  );
}

@probe
class Probed {
  @probe
  method() {
    return seen;
  }
}

describe('this test file', () => {
  it('is compiled with legacy decorators', () => {
    expect(new Probed().method()).toHaveLength(2);
  });

  it('calls decorators with a prototype, a key, and a descriptor', () => {
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
const misplaced = () => tool({ ...LEAST, name: 'misplaced' }) as (...target: any[]) => void;

// The compiler accepts these decorators anywhere, as in a program without types.
type Anything = (...target: any[]) => void;
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
      () => {
        class Early {
          @(new ToolMetadataRegistry().tool({ ...LEAST, name: 'early' }) as Anything) run() {
            return 1;
          }
        }
        return Early;
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
      '@tool without parentheses on a method',
      () => {
        class Bad {
          @bare run() {
            return 1;
          }
        }
        return Bad;
      },
      'got @tool without options.',
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
      '@toolkit on a method',
      () => {
        class Bad {
          @(toolkit({}) as Anything) run() {
            return 1;
          }
        }
        return Bad;
      },
      'expected @toolkit on a class',
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
      'two @tool on one method',
      () => {
        class Bad {
          @tool({ ...LEAST, name: 'second' }) @tool({ ...LEAST, name: 'first' }) run() {
            return 1;
          }
        }
        return Bad;
      },
      'expected one @tool on method run, got a second',
    ],
    [
      'two @toolkit on one class',
      () => {
        @toolkit({})
        @toolkit({})
        class Twice {
          execute() {
            return 1;
          }
        }
        return Twice;
      },
      'expected one @toolkit on a class, got a second one.',
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
    [
      'a name among the defaults',
      () => toolkit({ name: 'notes' } as object),
      'name: Expected a known option, got "name".',
    ],
  ],
  refused: [
    [
      'a getter',
      () => {
        class Bad {
          @misplaced() get value() {
            return 1;
          }
        }
        return Bad;
      },
    ],
    [
      'a setter',
      () => {
        class Bad {
          @misplaced() set value(value: number) {
            void value;
          }
        }
        return Bad;
      },
    ],
    [
      'a static getter',
      () => {
        class Bad {
          @misplaced() static get value() {
            return 1;
          }
        }
        return Bad;
      },
    ],
    [
      'a field',
      () => {
        class Bad {
          @misplaced() field = 1;
        }
        return Bad;
      },
    ],
    [
      'a static field',
      () => {
        class Bad {
          @misplaced() static field = 1;
        }
        return Bad;
      },
    ],
    [
      'a parameter',
      () => {
        class Bad {
          method(@misplaced() value: number) {
            return value;
          }
        }
        return Bad;
      },
    ],
  ],
});
