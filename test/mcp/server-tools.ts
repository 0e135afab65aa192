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
  type ToolOptions,
} from '../../src/index.js';

const reads = {
  accessMode: AccessMode.READONLY,
  dangerLevel: DangerLevel.SAFE,
  executionCategory: ExecutionCategory.COMPUTE,
} as const;
const nothing = z.object({});

/** One tool for each kind of outcome. */
export function sampleRegistry(): ToolMetadataRegistry {
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
    defineTool({
      ...reads,
      name: 'list',
      description: 'A list',
      inputSchema: nothing,
      execute: () => [1, 2],
    }),
    defineTool({
      ...reads,
      name: 'nothing',
      description: 'No answer',
      inputSchema: nothing,
      execute: () => undefined,
    }),
    defineTool({
      ...reads,
      name: 'lies',
      description: 'Breaks its promise',
      inputSchema: nothing,
      outputSchema: z.object({ n: z.number() }),
      execute: () => ({ n: 'one' }) as never,
    }),
    defineTool({
      ...reads,
      name: 'circular',
      description: 'No JSON',
      inputSchema: nothing,
      execute: () => {
        const a: Record<string, unknown> = {};
        a['a'] = a;
        return a;
      },
    }),
    defineTool({
      ...reads,
      name: 'fails',
      description: 'Fails',
      inputSchema: nothing,
      execute: () => fail('no luck today'),
    }),
    defineTool({
      ...reads,
      name: 'throws',
      description: 'Throws',
      inputSchema: nothing,
      execute: () => {
        throw new Error('cannot open /home/ada/secret/keys.txt with token=abcdefgh12345678');
      },
    }),
    defineTool({
      ...reads,
      name: 'halts',
      description: 'Halts',
      inputSchema: nothing,
      execute: () => halt('all is done', { left: 0 }),
    }),
    defineTool({
      ...reads,
      name: 'asks',
      description: 'Asks',
      inputSchema: nothing,
      execute: () => askUser('Which colour?', ['red', 'blue']),
    }),
    defineTool({
      ...reads,
      name: 'asks_anything',
      description: 'Asks',
      inputSchema: nothing,
      execute: () => askUser('Your name?'),
    }),
    defineTool({
      ...reads,
      name: 'by_hand',
      description: 'A user does it',
      inputSchema: nothing,
      manual: true,
    }),
    defineTool({
      ...reads,
      name: 'absent',
      description: 'Not now',
      inputSchema: nothing,
      available: () => false,
      execute: () => 'here',
    }),
    defineTool({
      name: 'files.write',
      description: 'Writes',
      inputSchema: z.object({ path: z.string(), text: z.string().default('') }),
      accessMode: AccessMode.WRITE,
      dangerLevel: DangerLevel.MEDIUM,
      aliases: ['write'],
      execute: ({ path, text }) => ({ path, length: text.length }),
    }),
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
