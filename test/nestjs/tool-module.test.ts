import { Inject, Injectable, Module, Scope, type Provider, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  SafetyPolicy,
  tool,
  ToolExecutor,
  toolkit,
  ToolMetadataRegistry,
} from '../../src/index.js';
import { ToolModule, type ToolModuleOptions } from '../../src/nestjs.js';

const Nothing = z.object({});
const readonly = { inputSchema: Nothing, accessMode: 'readonly' } as const;

class Greetings {
  readonly word: string = 'Hello';
}

@toolkit({ category: 'greetings' })
class Greeter {
  #greeted = 0;
  constructor(private readonly greetings: Greetings) {}

  @tool({ name: 'greet', description: 'Greets', ...readonly })
  greet() {
    this.#greeted += 1;
    return `${this.greetings.word} ${this.#greeted}`;
  }
}
// Does what `@Inject()` does on a parameter, because only legacy decorators can decorate parameters.
Inject(Greetings)(Greeter, undefined, 0);

@Module({ providers: [Greetings, Greeter], exports: [Greetings] })
class GreetingModule {}

let visits = 0;

@Injectable({ scope: Scope.REQUEST })
@tool({ name: 'visit', description: 'Counts instances and calls', ...readonly })
class Visit {
  readonly #visit = (visits += 1);
  #calls = 0;
  execute() {
    this.#calls += 1;
    return [this.#visit, this.#calls];
  }
}

/** A class declared as a singleton. One of its dependencies makes Nest create it for each call. */
@tool({ name: 'revisit', description: 'Uses a visit', ...readonly })
class Revisit {
  constructor(private readonly visit: Visit) {}
  execute() {
    return this.visit.execute();
  }
}
Inject(Visit)(Revisit, undefined, 0);

@Injectable({ scope: Scope.TRANSIENT })
@tool({ name: 'pass', description: 'Counts calls', ...readonly })
class Pass {
  #calls = 0;
  execute() {
    return (this.#calls += 1);
  }
}

class NoTool {}

@Module({ providers: [Visit, Revisit, Pass, NoTool] })
class VisitModule {}

async function start(root: Type<unknown>) {
  const app = await NestFactory.createApplicationContext(root, {
    logger: false,
    abortOnError: false,
  });
  onTestFinished(() => app.close());
  const executor = app.get(ToolExecutor);
  const run = async (name: string) => {
    const outcome = await executor.execute({ id: crypto.randomUUID(), name, input: {} });
    return outcome.status === 'ok' ? outcome.value : outcome;
  };
  return { app, registry: app.get(ToolMetadataRegistry), executor, run };
}

function application(options?: Parameters<typeof ToolModule.forRoot>[0]): Type<unknown> {
  @Module({ imports: [ToolModule.forRoot(options), GreetingModule, VisitModule] })
  class Application {}
  return Application;
}

describe('ToolModule', () => {
  it('registers only the tools of providers', async () => {
    const { registry } = await start(application());
    expect([...registry].map(({ name }) => name).sort()).toEqual([
      'greet',
      'pass',
      'revisit',
      'visit',
    ]);
    expect(registry.require('greet').category).toBe('greetings');
  });

  it("runs a singleton's tool on its one instance, with the service that Nest injects", async () => {
    const { run } = await start(application());
    expect([await run('greet'), await run('greet')]).toEqual(['Hello 1', 'Hello 2']);
  });

  it('creates a new instance for each call in request and transient scope, even if only a dependency has that scope', async () => {
    const { run } = await start(application());
    const [first, second, third] = [await run('visit'), await run('visit'), await run('revisit')];
    expect([first, second, third]).toEqual([
      [visits - 2, 1],
      [visits - 1, 1],
      [visits, 1],
    ]);
    expect([await run('pass'), await run('pass')]).toEqual([1, 1]);
  });

  it('registers only the tools of included modules', async () => {
    const { registry } = await start(application({ include: [GreetingModule] }));
    expect([...registry].map(({ name }) => name)).toEqual(['greet']);
  });

  it('passes its options to the executor and the registry, and creates a policy for the registry', async () => {
    const { registry, run } = await start(
      application({
        hints: { greet: { keywords: ['ahoy'] } },
        policy: (registry) =>
          new SafetyPolicy({ registry, rules: [{ tools: 'greet', verdict: 'deny' }] }),
      }),
    );
    expect(registry.search('ahoy').map(({ toolName }) => toolName)).toEqual(['greet']);
    expect(await run('greet')).toMatchObject({ status: 'denied' });
    await expect(start(application({ timeoutMs: -1 }))).rejects.toThrow('timeoutMs');
  });

  it('gets its options from a factory with injected dependencies', async () => {
    const asked: unknown[] = [];
    @Module({
      imports: [
        ToolModule.forRootAsync({
          imports: [GreetingModule],
          inject: [Greetings],
          include: [GreetingModule],
          useFactory: async (greetings: Greetings): Promise<ToolModuleOptions> => {
            asked.push(greetings.word);
            return { policy: { decide: () => Promise.reject(new Error('closed')) } };
          },
        }),
        VisitModule,
      ],
    })
    class Application {}
    const { registry, run } = await start(Application);
    expect(asked).toEqual(['Hello']);
    expect([...registry].map(({ name }) => name)).toEqual(['greet']);
    expect(await run('greet')).toMatchObject({ status: 'denied' });
  });

  it('provides the registry and the executor to other modules', async () => {
    const seen: number[] = [];
    @Module({
      imports: [ToolModule.forRoot(), GreetingModule],
      providers: [
        {
          provide: 'size',
          inject: [ToolMetadataRegistry, ToolExecutor],
          useFactory: (registry: ToolMetadataRegistry) => seen.push(registry.size),
        },
      ],
    })
    class Application {}
    await start(Application);
    expect(seen).toEqual([1]);
  });

  it('finds classes provided by a factory or under another token, and registers an alias only once', async () => {
    @Module({
      imports: [ToolModule.forRoot()],
      providers: [
        { provide: Greeter, useFactory: () => new Greeter({ word: 'Moin' }) },
        { provide: 'pass', useClass: Pass },
        { provide: 'alias', useExisting: Greeter },
      ],
    })
    class Application {}
    const { registry, run } = await start(Application);
    expect(registry.size).toBe(2);
    expect([await run('greet'), await run('pass'), await run('pass')]).toEqual(['Moin 1', 1, 1]);
  });

  abstract class Post {
    abstract send(): string;
  }

  @toolkit({ category: 'mail' })
  class Mail extends Post {
    constructor(private readonly host: string) {
      super();
    }

    @tool({
      name: 'send',
      description: 'Sends a mail',
      inputSchema: Nothing,
      accessMode: 'readonly',
    })
    send() {
      return this.host;
    }
  }

  it.each<[shape: string, provider: Provider]>([
    ['a value behind a string', { provide: 'MAIL', useValue: new Mail('smtp') }],
    ['a value behind a symbol', { provide: Symbol('mail'), useValue: new Mail('smtp') }],
    ['a value behind an abstract class', { provide: Post, useValue: new Mail('smtp') }],
    ['a value behind its class', { provide: Mail, useValue: new Mail('smtp') }],
    ['a factory behind a string', { provide: 'MAIL', useFactory: () => new Mail('smtp') }],
    ['a factory behind a symbol', { provide: Symbol('m'), useFactory: () => new Mail('smtp') }],
    [
      'an async factory behind an abstract class',
      { provide: Post, useFactory: async () => Promise.resolve(new Mail('smtp')) },
    ],
    [
      'a class behind a symbol',
      {
        provide: Symbol('m'),
        useClass: class extends Mail {
          constructor() {
            super('smtp');
          }
        },
      },
    ],
    [
      'a class behind an abstract class',
      {
        provide: Post,
        useClass: class extends Mail {
          constructor() {
            super('smtp');
          }
        },
      },
    ],
  ])('finds the tools of %s', async (_, provider) => {
    @Module({ imports: [ToolModule.forRoot()], providers: [provider] })
    class Application {}
    expect(await (await start(Application)).run('send')).toBe('smtp');
  });

  it('refuses a second ToolModule with options', async () => {
    @Module({ imports: [ToolModule.forRoot(), ToolModule.forRoot({ timeoutMs: 5 })] })
    class Application {}
    await expect(start(Application)).rejects.toThrow(
      'Expected one ToolModule in an application, got 2. Import it once, in the root module.',
    );
  });

  it('closes the executor together with the application', async () => {
    const { app, executor } = await start(application());
    let closed = 0;
    const close = executor.close.bind(executor);
    executor.close = () => ((closed += 1), close());
    await app.close();
    expect(closed).toBe(1);
  });
});
