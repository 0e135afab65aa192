import { tool as aiTool } from 'ai';
import { z } from 'zod';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import type * as Tooldex from '../../src/index.js';
import { markdownTable, median, writeSection } from './report.js';

// Measures the published build, because TypeScript loaders name every closure, which takes longer than
// the measured work.
const built = pathToFileURL(resolve(import.meta.dirname, '../../dist/index.js')).href;
const { defineTool, ToolExecutor, ToolMetadataRegistry } = (await import(built)) as typeof Tooldex;

const fixed = (value: number, digits = 2) => value.toFixed(digits);
const ROUNDS = 25;
const CALLS = 2_000;
const WARM_UP = 20_000;

/**
 * Returns the median time of one awaited call of each case, in microseconds. Each round makes 2,000
 * calls, and the cases alternate so that a slow period of the machine affects all of them.
 */
async function timeInTurn(cases: readonly (() => unknown)[]): Promise<readonly number[]> {
  for (const call of cases) await timed(call, WARM_UP);
  const times = cases.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const [position, call] of cases.entries())
      times[position]!.push(((await timed(call, CALLS)) * 1_000) / CALLS);
  return times.map(median);
}

async function timed(call: () => unknown, calls: number): Promise<number> {
  const started = performance.now();
  for (let index = 0; index < calls; index++) await call();
  return performance.now() - started;
}

const zodSchema = z.object({ path: z.string(), limit: z.number().int().optional() });
const jsonSchema = {
  type: 'object',
  properties: { path: { type: 'string' }, limit: { type: 'integer' } },
  required: ['path'],
  additionalProperties: false,
} as const;
const input = { path: 'src/index.ts', limit: 10 };
const work = async ({ path }: { readonly path: string }) => path.length;

function readTool(
  inputSchema: typeof zodSchema | typeof jsonSchema,
  extra: object = {},
): Tooldex.ToolDefinition {
  return defineTool({
    name: 'read',
    description: 'Reads',
    inputSchema,
    accessMode: 'readonly',
    ...extra,
    execute: work as never,
  });
}

function executing(
  tool: Tooldex.ToolDefinition,
  options: Partial<Tooldex.ToolExecutorOptions> = {},
  conversationId?: string,
): () => Promise<unknown> {
  const registry = new ToolMetadataRegistry();
  registry.register(tool);
  const executor = new ToolExecutor({ registry, ...options });
  if (conversationId === undefined)
    return () => executor.execute({ id: 'call', name: 'read', input });
  let calls = 0;
  return () => {
    if (calls++ % 3 === 0) executor.resetRepeats(conversationId);
    return executor.execute({ id: 'call', name: 'read', input }, { conversationId });
  };
}

async function overhead(): Promise<void> {
  const peer = aiTool({ description: 'Reads', inputSchema: zodSchema, execute: work });
  const cases: readonly (readonly [string, () => unknown])[] = [
    ['execute, zod schema', executing(readTool(zodSchema))],
    ['execute, zod schema, in a conversation', executing(readTool(zodSchema), {}, 'talk')],
    ['execute, JSON Schema', executing(readTool(jsonSchema))],
    [
      'execute, zod schema, cached result',
      executing(readTool(zodSchema, { cacheTtlMs: 2 ** 31 - 1 })),
    ],
    [
      'execute, zod schema, with a budget for calls and cost',
      executing(readTool(zodSchema), { budgets: [{ per: 'principal', calls: 1e15, cost: 1e15 }] }),
    ],
  ];
  const simple: readonly (readonly [string, () => unknown])[] = [
    ['the function alone', () => work(input)],
    [
      'zod `safeParse` and the function',
      () => {
        const result = zodSchema.safeParse(input);
        return result.success ? work(result.data) : undefined;
      },
    ],
    [
      '`ai`: a tool call, validated with `safeParse`',
      () => {
        const result = (peer.inputSchema as typeof zodSchema).safeParse(input);
        return result.success
          ? peer.execute!(result.data, { toolCallId: 'call', messages: [] })
          : undefined;
      },
    ],
  ];
  const all = [...simple, ...cases];
  const times = await timeInTurn(all.map(([, call]) => call));
  const [, parsed] = times as readonly [number, number];
  const rows = all.map(([name], position) => {
    const time = times[position]!;
    return [name, fixed(time), fixed(time / parsed, 1)];
  });
  writeSection(
    'Execution',
    `The table shows the time for one awaited call of a small async function that needs no approval. In the \`ai\` row, a call only validates the input.\n\n${markdownTable(['call', 'µs', '× `safeParse`'], rows)}`,
  );
}

await overhead();
