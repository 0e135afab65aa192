// A tool's functions and the tests of a tool see the context that the tool declares.
import { defineTool, tool, toolkit, ToolExecutor, ToolMetadataRegistry, type ToolContext, type ToolSource } from 'tooldex';
import { runTool } from 'tooldex/testing';
import { z } from 'zod';

interface App {
  readonly customer: string;
}
const basics = { name: 'orders', description: 'Lists orders', inputSchema: z.object({ text: z.string().default('') }), accessMode: 'readonly', cacheTtlMs: 1_000 } as const;
type Input = z.infer<typeof basics.inputSchema>;

@tool({ ...basics, cacheKey: (_, { context }: ToolContext<App>) => context.customer, preview: (_, { context }: ToolContext<App>) => context.customer })
class Orders {
  execute({ text }: Input, { context }: ToolContext<App>) {
    return text + context.customer;
  }
}

const registry = new ToolMetadataRegistry();
@(registry.tool({ ...basics, name: 'more', cacheKey: (_, { context }: ToolContext<App>) => context.customer }))
class More extends Orders {}

@toolkit({ cacheKey: (_: Input, { context }: ToolContext<App>) => context.customer })
class Kit {
  @tool({ ...basics, preview: (_, { context }: ToolContext<App>) => context.customer })
  list({ text }: Input, { context }: ToolContext<App>) {
    return text + context.customer;
  }
}

const listed = defineTool({ ...basics, execute: ({ text }, { context }: ToolContext<App>) => ({ text: text + context.customer }) });
const counted = defineTool({ ...basics, execute: ({ text }) => text.length });
export async function run(source: ToolSource, executor: ToolExecutor) {
  const ran = await executor.run(listed, { text: 'x' }, { context: { customer: 'Ada' }, principal: 'ada' });
  if (ran.status === 'ok') ran.value.text.toUpperCase();
  await executor.run(counted, {});
  // @ts-expect-error the context is missing
  await executor.run(listed, { text: 'x' });
  const { outcome } = await runTool(listed, { text: 'x' }, { context: { customer: 'Ada' } });
  if (outcome.status === 'ok') outcome.value.text.toUpperCase();
  const { outcome: other } = await runTool(counted);
  if (other.status === 'ok') other.value.toFixed();
  await runTool(source, { anything: 1 });
  await runTool(Orders, { anything: 1 });
  await runTool(new More(), {}, { context: 1 });
  await runTool(Kit, {}, { name: 'orders' });
  // @ts-expect-error the text is a string
  await runTool(counted, { text: 1 });
  // @ts-expect-error the context is missing
  await runTool(listed, { text: 'x' });
  // @ts-expect-error the customer is a string
  await runTool(listed, { text: 'x' }, { context: { customer: 1 } });
}
