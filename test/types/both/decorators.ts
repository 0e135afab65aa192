import { AccessMode, metadataOf, ok, tool, toolkit, ToolMetadataRegistry, type InputOf, type ToolContext } from 'tooldex';
import { Forecast, ForeignPlace, JsonPlace, Place } from './schemas.js';

const options = { name: 'forecast', description: 'Tells the weather', inputSchema: Place } as const;
const checked = { ...options, outputSchema: Forecast } as const;

@tool(options)
export class Fits {
  execute(input: InputOf<typeof Place>, context: ToolContext) {
    return context.signal?.aborted ? '' : input.city.repeat(input.days);
  }
}

@tool(options)
export class TakesLess {
  execute({ city }: { city: string }) {
    return city;
  }
}

@tool({ ...options, accessMode: 'readonly', dangerFor: ({ days }) => (days > 3 ? 'high' : 'low'), conflictKeys: ({ city }) => [city] })
export class TakesNothing {
  constructor(readonly apiKey: string) {}
  execute() {}
}

@tool(checked)
export class AnswersLater {
  async execute({ days }: InputOf<typeof Place>) {
    return ok({ celsius: days });
  }
}

@tool(checked)
export abstract class LeavesItToSubclasses {
  abstract execute(input: { city: string }): { celsius: number };
}

@tool({ ...options, inputSchema: JsonPlace })
export class PlainJsonSchema {
  execute(input: { city: string }) {
    return input.city;
  }
}

@tool({ ...options, inputSchema: ForeignPlace })
export class OtherLibrary {
  execute(input: { city: string; days: number }) {
    return input.city;
  }
}

@tool({ ...options, manual: true, dangerFor: ({ days }) => (days > 3 ? 'high' : 'low') })
export class AnsweredByOthers {}

export class Toolkit {
  readonly #unit = 'celsius';

  @tool(options)
  forecast({ city }: InputOf<typeof Place>) {
    return `${city} ${this.#unit}`;
  }

  @tool({ ...checked, name: 'climate', accessMode: AccessMode.READONLY })
  async climate(input: InputOf<typeof Place>, context: ToolContext) {
    return { celsius: context.signal ? input.days : 0 };
  }

  @tool({ ...options, name: 'units' })
  static units() {
    return ['celsius'];
  }
}
new ToolMetadataRegistry().registerAll([Fits, new TakesNothing('key'), AnsweredByOthers, Toolkit, new Toolkit()]);
// A container may know the constructor's arguments.
new ToolMetadataRegistry().register(TakesNothing);

// @ts-expect-error city is a string
@tool(options)
export class WrongType {
  execute(input: { city: number }) {
    return input.city;
  }
}

// @ts-expect-error the schema has no zip
@tool(options)
export class AsksForMore {
  execute(input: { city: string; zip: string }) {
    return input.zip;
  }
}

// @ts-expect-error celsius is a number
@tool(checked)
export class WrongAnswer {
  execute() {
    return { celsius: 'warm' };
  }
}

// @ts-expect-error celsius is a number, also in a promise
@tool(checked)
export class WrongPromise {
  async execute() {
    return { celsius: 'warm' };
  }
}

// @ts-expect-error execute is missing
@tool(options)
export class NoExecute {
  run() {}
}

// @ts-expect-error execute is missing, and no user or provider answers the calls
@tool({ ...options, manual: false })
export class NotManual {}

// @ts-expect-error execute is an instance method
@tool(options)
export class StaticExecute {
  static execute() {}
}

// @ts-expect-error execute is public
@tool(options)
export class PrivateExecute {
  private execute() {}
}

export class PrivateMethod {
  // @ts-expect-error a private method can't be called from outside
  @tool(options)
  private find(_: { city: string }) {
    return 1;
  }

  find2() {
    return this.find({ city: '' });
  }
}

@(new ToolMetadataRegistry().tool(options))
export class RegistersItself {
  execute({ city }: { city: string }) {
    return city;
  }
}

// @ts-expect-error zip is not in the schema
@(new ToolMetadataRegistry().tool(options))
export class RegistersMore {
  execute({ zip }: { zip: string }) {
    return zip;
  }
}

const withContainer = new ToolMetadataRegistry({ resolve: async (Class, call) => [new Class(), call?.toolName] });
withContainer.register(Fits, { prefix: 'eu_' });
// @ts-expect-error the prefix is text
withContainer.register(Fits, { prefix: 1 });
const [ofFits] = metadataOf(Fits);
void [ofFits?.name, ofFits?.declaredOn, ofFits?.method, ofFits?.static];

// @ts-expect-error zip is not in the schema of another library either
@tool({ ...options, inputSchema: ForeignPlace })
export class AsksOtherLibraryForMore {
  execute(input: { zip: string }) {
    return input.zip;
  }
}

export class BadToolkit {
  // @ts-expect-error city is a string
  @tool(options)
  wrongType(input: { city: number }) {
    return input.city;
  }

  // @ts-expect-error the schema has no zip
  @tool(options)
  asksForMore(input: { city: string; zip: string }) {
    return input.zip;
  }

  // @ts-expect-error celsius is a number
  @tool(checked)
  wrongAnswer() {
    return { celsius: 'warm' };
  }

  // @ts-expect-error static methods are also checked
  @tool(options)
  static wrongStatic(input: { city: number }) {
    return input.city;
  }

  // @ts-expect-error a property isn't a method
  @tool(options)
  property = 'forecast';

  // @ts-expect-error a property with a function isn't a method
  @tool(options)
  arrow = ({ city }: { city: string }) => city;

  // @ts-expect-error a getter isn't a method
  @tool(options)
  get getter() {
    return 'forecast';
  }
}

// @ts-expect-error description is missing
@tool({ name: 'forecast', inputSchema: Place })
export class NoDescription {
  execute() {}
}

// @ts-expect-error inputSchema is missing
@tool({ name: 'forecast', description: 'Tells the weather' })
export class NoInputSchema {
  execute() {}
}

// @ts-expect-error "read" isn't an access mode
@tool({ ...options, accessMode: 'read' })
export class WrongLiteral {
  execute() {}
}

// @ts-expect-error zip is not in the schema
@tool({ ...options, conflictKeys: ({ zip }) => [zip] })
export class WrongKeys {
  execute() {}
}

// @ts-expect-error the options are not optional
@tool
export class NoOptions {
  execute() {}
}

// When decorators are called as functions, they return the class with the types of its constructor,
// methods, and instances.
const Called = tool(options)(
  class {
    constructor(readonly unit: string) {}
    execute({ city }: InputOf<typeof Place>) {
      return `${city} ${this.unit}`;
    }
    static readonly units: readonly string[] = ['celsius'];
  },
);
const called: string = new Called('celsius').execute({ city: 'Rome', days: 1 });
const known: readonly string[] = Called.units;
new ToolMetadataRegistry().register(new Called('celsius'));
void [called, known];
// @ts-expect-error unit is a string
new Called(7);
// @ts-expect-error city is a string
tool(options)(class { execute(input: { city: number }) { return input.city; } });
// @ts-expect-error execute is missing
tool(options)(class { run() {} });
// @ts-expect-error celsius is a number
tool(checked)(class { execute() { return { celsius: 'warm' }; } });
tool({ ...options, manual: true })(class {});

@toolkit({ category: 'weather', accessMode: 'readonly', timeoutMs: 1000, requiresConsent: true })
export class Weather {
  @tool(options)
  forecast({ city }: InputOf<typeof Place>) {
    return city;
  }
}
const weather: string = new Weather().forecast({ city: 'Rome', days: 1 });

const Climate = toolkit({ category: 'weather' }, { forecast: { ...options, name: 'toolkit_forecast' }, climate: { ...checked, name: 'toolkit_climate' } })(
  class {
    constructor(readonly unit = 'celsius') {}
    forecast({ city }: InputOf<typeof Place>, context: ToolContext) {
      return context.signal?.aborted ? '' : city;
    }
    climate() {
      return { celsius: 20 };
    }
    other(count: number) {
      return count;
    }
  },
);
const count: number = new Climate('kelvin').other(1);
new ToolMetadataRegistry().register(Climate);
void [weather, count];
// @ts-expect-error a method is missing
toolkit({}, { forecast: options })(class { climate() {} });
// @ts-expect-error city is a string
toolkit({}, { forecast: options })(class { forecast(input: { city: number }) { return input.city; } });
// @ts-expect-error celsius is a number
toolkit({}, { climate: checked })(class { climate() { return { celsius: 'warm' }; } });
// @ts-expect-error "read" isn't an access mode
toolkit({ accessMode: 'read' });
// @ts-expect-error a toolkit has no name
toolkit({ name: 'weather' });
// @ts-expect-error this option doesn't exist
toolkit({ acessMode: 'readonly' });
// @ts-expect-error description is missing
toolkit({}, { forecast: { name: 'forecast', inputSchema: Place } });

export class NoToolkit {
  // @ts-expect-error only a class can declare defaults
  @toolkit({ category: 'weather' })
  forecast() {}
}
