import { generateText, type InferUITools, type ToolSet, type UIMessage } from 'ai';
import {
  defineTool,
  fail,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolDefinition,
} from '../../src/index.js';
import { toAISDKTools } from '../../src/interop.js';
import { expect, it } from 'vitest';
import { z } from 'zod';

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assertType<_T extends true>(): void {}

const Place = z.object({ city: z.string(), days: z.coerce.number().default(3) });
const Forecast = z.object({ celsius: z.number() });
const JsonPlace = { type: 'object', properties: { city: { type: 'string' } } } as const;

const description = 'A tool';
const forecast = defineTool({
  name: 'weather.forecast',
  description,
  inputSchema: Place,
  outputSchema: Forecast,
  execute: ({ days }) => ({ celsius: days }),
});
const add = defineTool({
  name: 'add',
  description,
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  accessMode: 'readonly',
  execute: async ({ a, b }) => (a > 9 ? fail('too large') : { sum: a + b, at: new Date() }),
});
const silent = defineTool({
  name: 'silent',
  description,
  inputSchema: z.object({}),
  execute: () => {},
});
const plain = defineTool({
  name: 'plain',
  description,
  inputSchema: JsonPlace,
  execute: (input: { city: string }) => input.city,
});
const byHand = defineTool({
  name: 'by_hand',
  description,
  inputSchema: z.object({ amount: z.number() }),
  outputSchema: z.object({ paid: z.boolean() }),
  manual: true,
});
const registry = new ToolMetadataRegistry();
const executor = new ToolExecutor({ registry });

// The type includes the names that models see, the inputs that models write, and the tools' results as
// JSON.
const tools = toAISDKTools([forecast, add, silent, plain, byHand], {
  executor,
  context: { db: new Map() },
});
type UITools = InferUITools<typeof tools>;
assertType<Equal<keyof UITools, 'weather__forecast' | 'add' | 'silent' | 'plain' | 'by_hand'>>();
assertType<Equal<UITools['weather__forecast']['input'], z.input<typeof Place>>>();
assertType<Equal<UITools['weather__forecast']['output'], { celsius: number }>>();
assertType<Equal<UITools['add']['input'], { a: number; b: number }>>();
assertType<Equal<UITools['add']['output'], { sum: number; at: string }>>();
assertType<Equal<UITools['silent']['output'], null>>();
assertType<Equal<UITools['plain']['output'], string>>();
assertType<Equal<UITools['by_hand'], { input: { amount: number }; output: { paid: boolean } }>>();
const set: ToolSet = tools;
const calls = async () => {
  const { toolCalls } = await generateText({ model: 'test', tools, prompt: 'please' });
  for (const call of toolCalls)
    if (call.dynamic !== true && call.toolName === 'add')
      assertType<Equal<typeof call.input, { a: number; b: number }>>();
  // @ts-expect-error a is a number
  await tools.add.execute({ a: '1', b: 2 }, { toolCallId: '1', messages: [] });
};
// @ts-expect-error no tool has this name
const unknown: unknown = tools.forecast;
const part = (message: UIMessage<unknown, never, UITools>) => {
  for (const each of message.parts)
    if (each.type === 'tool-add' && each.state === 'output-available')
      assertType<Equal<typeof each.output.sum, number>>();
};

// Without an executor, the program makes the calls. The types are the same.
const shown = toAISDKTools([add, forecast]);
assertType<
  Equal<
    InferUITools<typeof shown>['add'],
    { input: { a: number; b: number }; output: { sum: number; at: string } }
  >
>();
assertType<Equal<(typeof shown)['add']['execute'], undefined>>();

// Progress values are outputs, too.
const told = toAISDKTools([plain], { executor, progress: true });
assertType<
  Equal<InferUITools<typeof told>['plain']['output'], string | { readonly progress: unknown }>
>();

// If the tools' types are unknown, the set accepts any names.
const some: readonly ToolDefinition[] = [add];
const open = [
  toAISDKTools(registry, { executor }),
  toAISDKTools(some, { executor }),
] satisfies ToolSet[];
// @ts-expect-error there is no such option
const misspelt = () => toAISDKTools([add], { executor, contxt: {} });

it('the type of an export has the tools under the names that models see', () => {
  expect([calls, part, misspelt, open[0]!['anything'], unknown].map((each) => typeof each)).toEqual(
    ['function', 'function', 'function', 'undefined', 'undefined'],
  );
  expect(Object.keys(set)).toEqual(['weather__forecast', 'add', 'silent', 'plain', 'by_hand']);
  expect(Object.values(set).map(({ execute }) => typeof execute)).toEqual([
    'function',
    'function',
    'function',
    'function',
    'undefined',
  ]);
  expect(Object.values(shown).map(({ execute }) => execute)).toEqual([undefined, undefined]);
  expect(Object.keys(told)).toEqual(['plain']);
});
