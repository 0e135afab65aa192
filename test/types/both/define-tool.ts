import { AccessMode, askUser, CostTier, DangerLevel, defineTool, ExecutionCategory, fail, halt, ok, Priority, SideEffect, Stage, type InputOf, type ToolContext, type ToolDefinition, type ToolSchema } from 'tooldex';
import { z } from 'zod';
import { Forecast, ForeignForecast, ForeignPlace, JsonPlace, MutableJsonPlace, Place, Untyped } from './schemas.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assertType<_T extends true>(): void {}

const basics = { name: 'forecast' as const, description: 'Tells the weather of the next days' };
const answered = { ...basics, execute: () => 1 };

// The input of execute has the type that the schema returns after parsing.
defineTool({
  ...basics,
  inputSchema: Place,
  execute(input, context) {
    assertType<Equal<typeof input, { city: string; days: number }>>();
    assertType<Equal<typeof context, ToolContext>>();
    context.signal?.throwIfAborted();
    return input.city.repeat(input.days);
  },
});
defineTool({ ...basics, inputSchema: Place, execute: ({ city, days }) => city.repeat(days) });
defineTool({ ...basics, inputSchema: Place, execute: async ({ city }) => city.length });
defineTool({ ...basics, inputSchema: Place, execute: () => undefined });
// A manually created promise takes its type from the output schema. Without an output schema, it can
// have any type.
defineTool({ ...basics, inputSchema: Place, execute: ({ city, days }) => new Promise((resolve) => setTimeout(() => resolve(city), days)) });
defineTool({ ...basics, inputSchema: JsonPlace, execute: ({ city, days }: { city: string; days: number }) => new Promise((resolve) => setTimeout(() => resolve(city), days)) });
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: ({ days }) => new Promise((resolve) => setTimeout(() => resolve({ celsius: days }), days)) });
// @ts-expect-error celsius is a number
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: ({ days }) => new Promise((resolve) => setTimeout(() => resolve({ celsius: 'warm' }), days)) });
defineTool({ ...basics, inputSchema: z.object({}), execute: () => {} });
// @ts-expect-error zip is not in the schema
defineTool({ ...basics, inputSchema: Place, execute: ({ zip }) => zip });
// @ts-expect-error days is a number
defineTool({ ...basics, inputSchema: Place, execute: ({ days }) => days.trim() });
// @ts-expect-error city is a string
defineTool({ ...basics, inputSchema: Place, execute: (input: { city: number }) => input.city });
// @ts-expect-error execute requires more properties than the schema has
defineTool({ ...basics, inputSchema: Place, execute: (input: { city: string; zip: string }) => input.zip });
// @ts-expect-error execute is called with two arguments
defineTool({ ...basics, inputSchema: Place, execute: (input: { city: string }, context: ToolContext, third: string) => third });
// @ts-expect-error execute is a function
defineTool({ ...basics, inputSchema: Place, execute: 'forecast' });

// The result has the type of the output schema, as a plain value, as a promise, or in a result helper.
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: () => ({ celsius: 20 }) });
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: async () => ({ celsius: 20 }) });
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: () => ok({ celsius: 20 }) });
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: () => halt('done', { celsius: 20 }) });
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: ({ city }) => (city === '' ? askUser('Which city?') : fail('no weather there')) });
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: ({ city }) => (city === '' ? fail('no city') : { celsius: 20 }) });
// @ts-expect-error celsius is a number
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: () => ({ celsius: 'warm' }) });
// @ts-expect-error celsius is missing
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: () => ({}) });
// @ts-expect-error celsius is a number, also in a promise
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: async () => ({ celsius: 'warm' }) });
// @ts-expect-error celsius is a number, also in a result
defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: () => ok({ celsius: 'warm' }) });

// The other functions of a tool get the same input.
defineTool({
  ...answered,
  inputSchema: Place,
  dangerFor: (input) => {
    assertType<Equal<typeof input, { city: string; days: number }>>();
    return input.days > 3 ? DangerLevel.HIGH : 'low';
  },
  conflictKeys: ({ city, days }) => [city, city.repeat(days)],
});
// @ts-expect-error zip is not in the schema
defineTool({ ...answered, inputSchema: Place, conflictKeys: ({ zip }) => [zip] });
// @ts-expect-error zip is not in the schema
defineTool({ ...answered, inputSchema: Place, dangerFor: ({ zip }) => (zip ? 'high' : 'low') });
// @ts-expect-error "dangerous" isn't a danger level
defineTool({ ...answered, inputSchema: Place, dangerFor: () => 'dangerous' });
// @ts-expect-error keys are a list
defineTool({ ...answered, inputSchema: Place, conflictKeys: ({ city }) => city });

// The compiler can't read plain JSON Schema, so the author declares the parameter types.
defineTool({ ...basics, inputSchema: { type: 'object', properties: { city: { type: 'string' } } }, execute: (input: { city: string }) => input.city });
defineTool({ ...basics, inputSchema: JsonPlace, execute: (input: { city: string }) => input.city });
defineTool({ ...basics, inputSchema: MutableJsonPlace, execute: async ({ city }: { city: string }) => city });
defineTool({ ...basics, inputSchema: JsonPlace, outputSchema: { type: 'object' }, execute: (input: { city: string }) => ({ place: input.city }) });
defineTool({ ...answered, inputSchema: JsonPlace, dangerFor: (input: { city: string }) => (input.city === '' ? 'high' : 'low') });
// @ts-expect-error the compiler checks how an annotated parameter is used
defineTool({ ...basics, inputSchema: JsonPlace, execute: (input: { city: string }) => input.zip });

// Schemas from other libraries that follow Standard Schema.
defineTool({
  ...basics,
  inputSchema: ForeignPlace,
  outputSchema: ForeignForecast,
  execute(input) {
    assertType<Equal<typeof input, { city: string; days: number }>>();
    return { celsius: input.days };
  },
});
// @ts-expect-error zip is not in the schema
defineTool({ ...basics, inputSchema: ForeignPlace, execute: ({ zip }) => zip });
// @ts-expect-error celsius is a number
defineTool({ ...basics, inputSchema: ForeignPlace, outputSchema: ForeignForecast, execute: () => ({ celsius: 'warm' }) });
defineTool({ ...basics, inputSchema: Untyped, execute: (input) => typeof input });
// @ts-expect-error a schema without types gives unknown input
defineTool({ ...basics, inputSchema: Untyped, execute: (input) => input.city });

// Enums and their literals.
defineTool({
  ...answered,
  inputSchema: Place,
  priority: Priority.HIGH,
  accessMode: AccessMode.READONLY,
  dangerLevel: DangerLevel.SAFE,
  executionCategory: ExecutionCategory.NETWORK,
  costTier: CostTier.MEDIUM,
  sideEffects: [SideEffect.NETWORK, 'database'],
  stages: [Stage.READING, 'analysis', 'a stage of their own'],
});
defineTool({ ...answered, inputSchema: Place, priority: 1, accessMode: 'readonly', dangerLevel: 'safe', executionCategory: 'network', costTier: 'medium', sideEffects: 'none' });
// @ts-expect-error "read" isn't an access mode
defineTool({ ...answered, inputSchema: Place, accessMode: 'read' });
defineTool({ ...answered, inputSchema: Place, priority: 'high' });
// @ts-expect-error 4 isn't a priority
defineTool({ ...answered, inputSchema: Place, priority: 4 });
// @ts-expect-error "cheap" isn't a cost tier
defineTool({ ...answered, inputSchema: Place, costTier: 'cheap' });
// @ts-expect-error "disk" isn't a side effect
defineTool({ ...answered, inputSchema: Place, sideEffects: ['disk'] });

// A tool declares the context that it needs from the program, and reads the context without a cast.
interface App {
  readonly db: { find(id: string): Promise<number> };
}
const found = defineTool({
  ...basics,
  inputSchema: Place,
  outputSchema: Forecast,
  cacheKey: (input, { context, principal }: ToolContext<App>) => [input.city, principal, typeof context.db],
  execute: async ({ city }, { context, signal }: ToolContext<App>) => {
    assertType<Equal<typeof context, App>>();
    signal?.throwIfAborted();
    return { celsius: await context.db.find(city) };
  },
});
const anyTool: ToolDefinition = found;
const anyTools: readonly ToolDefinition[] = [found, defineTool({ ...basics, inputSchema: Place, execute: ({ city }, { context }: ToolContext<App>) => context.db.find(city) })];
void [anyTool, anyTools];
// @ts-expect-error the program's context has no cache
defineTool({ ...basics, inputSchema: Place, execute: (_, { context }: ToolContext<App>) => context.cache });
// @ts-expect-error a tool without a context type can't read the context
defineTool({ ...basics, inputSchema: Place, execute: (_, { context }) => context.db });
// @ts-expect-error toolNmae isn't a property of ToolContext
defineTool({ ...basics, inputSchema: Place, execute: (_, { toolNmae }: ToolContext<App>) => toolNmae });

// A definition's type includes its name and its result.
assertType<Equal<typeof found.name, 'forecast'>>();
defineTool({ name: 'answer', description: 'Answers', inputSchema: Place, execute: ({ days }) => (days > 3 ? fail('too far') : { days }) }) satisfies ToolDefinition<typeof Place, ToolSchema, 'answer', { days: number }>;

// Missing and unknown options.
// @ts-expect-error name is missing
defineTool({ description: basics.description, inputSchema: Place, execute: () => 1 });
// @ts-expect-error description is missing
defineTool({ name: basics.name, inputSchema: Place, execute: () => 1 });
// @ts-expect-error inputSchema is missing
defineTool({ ...answered });
// @ts-expect-error a schema is an object
defineTool({ ...answered, inputSchema: 'string' });
// @ts-expect-error execute is missing, and no user or provider answers the calls
defineTool({ ...basics, inputSchema: Place });
// @ts-expect-error no user or provider answers the calls
defineTool({ ...basics, inputSchema: Place, manual: false });
defineTool({ ...basics, inputSchema: Place, manual: true, dangerFor: ({ days }) => (days > 3 ? 'high' : 'low') });
defineTool({ ...basics, inputSchema: Place, providers: [{ name: 'weather' }], conflictKeys: ({ city }) => [city] });
defineTool({ ...basics, inputSchema: Place, handlerRef: 'forecast' });
// @ts-expect-error this option doesn't exist
defineTool({ ...answered, inputSchema: Place, acessMode: 'readonly' });

// A definition's type includes the types of its input and its result.
const forecast = defineTool({ ...basics, inputSchema: Place, outputSchema: Forecast, execute: ({ days }) => ({ celsius: days }) });
assertType<Equal<InputOf<typeof forecast.inputSchema>, { city: string; days: number }>>();
void forecast.execute?.({ city: 'Rome', days: 2 }, {});
// @ts-expect-error city is missing
void forecast.execute?.({ days: 2 }, {});
// @ts-expect-error definitions are frozen
forecast.name = 'other';

// The tool's other functions get the same context type as execute.
defineTool({
  ...basics,
  inputSchema: Place,
  accessMode: 'readonly',
  execute: ({ city }, { context }: ToolContext<App>) => context.db.find(city),
  cacheKey: ({ city }, { context }) => {
    assertType<Equal<typeof context, App>>();
    return city;
  },
  preview: (_, { context }) => {
    assertType<Equal<typeof context, App>>();
    return undefined;
  },
});

// A factory can have a type parameter for its schema, and use z.infer.
function fromSchema<T extends z.ZodObject>(schema: T, run: (input: z.infer<T>) => string) {
  defineTool({ ...basics, inputSchema: schema, execute: (input: z.infer<T>) => run(input) });
  return defineTool({ ...basics, inputSchema: schema, execute: (input) => run(input) });
}
void fromSchema(Place, ({ city }) => city);
