import { z } from 'zod';
import {
  AccessMode,
  askUser,
  DangerLevel,
  defineTool,
  ExecutionCategory,
  fail,
  halt,
  ToolMetadataRegistry,
  type ToolContext,
  type ToolDefinition,
  type ToolOptions,
} from '../../src/index.js';

const reads = {
  accessMode: AccessMode.READONLY,
  dangerLevel: DangerLevel.SAFE,
  executionCategory: ExecutionCategory.COMPUTE,
} as const;

/** Returns a harmless tool without arguments. */
export const reading = (
  name: string,
  execute: (input: unknown, context: ToolContext) => unknown,
  options: Partial<ToolOptions> = {},
) =>
  defineTool({
    ...reads,
    name,
    description: `Does ${name}`,
    inputSchema: z.object({}),
    execute,
    ...options,
  });

/** One tool for each kind of outcome. */
export function sampleRegistry(...more: readonly ToolDefinition[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    defineTool({
      ...reads,
      name: 'add',
      description: 'Adds two numbers',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      execute: ({ a, b }) => ({ sum: a + b }),
    }),
    defineTool({
      ...reads,
      name: 'say',
      description: 'Says it',
      inputSchema: z.object({ text: z.string() }),
      execute: ({ text }) => text,
    }),
    reading('list', () => [1, 2]),
    reading('nothing', () => undefined),
    reading('lies', () => ({ n: 'one' }), { outputSchema: z.object({ n: z.number() }) }),
    reading('circular', () => {
      const a: Record<string, unknown> = {};
      a['a'] = a;
      return a;
    }),
    reading('fails', () => fail('no luck today')),
    reading('throws', () => {
      throw new Error('cannot open /home/ada/secret/keys.txt with token=abcdefgh12345678');
    }),
    reading('halts', () => halt('all is done', { left: 0 })),
    reading('asks', () => askUser('Which colour?', ['red', 'blue'])),
    reading('asks_anything', () => askUser('Your name?')),
    defineTool({
      ...reads,
      name: 'by_hand',
      description: 'A user does it',
      inputSchema: z.object({}),
      manual: true,
    }),
    reading('absent', () => 'here', { available: () => false }),
    defineTool({
      name: 'files.write',
      description: 'Writes',
      inputSchema: z.object({ path: z.string(), text: z.string().default('') }),
      accessMode: AccessMode.WRITE,
      dangerLevel: DangerLevel.MEDIUM,
      aliases: ['write'],
      execute: ({ path, text }) => ({ path, length: text.length }),
    }),
    ...more,
  ]);
  return registry;
}

/** Returns many tools that read, named `tool_000`, `tool_001`, and so on. */
export function manyTools(count: number, options: Partial<ToolOptions> = {}): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(
    Array.from({ length: count }, (_, index) => {
      const name = `tool_${String(index).padStart(3, '0')}`;
      return defineTool({
        ...reads,
        ...options,
        name,
        description: `Does thing number ${index}`,
        keywords: [`thing${index}`],
        inputSchema: z.object({ x: z.number().optional() }),
        execute: ({ x }) => ({ name, x }),
      });
    }),
  );
  return registry;
}
