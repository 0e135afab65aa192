// An agent of the AI SDK whose tools run under a policy: reading runs at once, a refund is approved at the terminal first.
// Run it:  npm i tooldex zod ai && npm i -D tsx && npx tsx ai-sdk-agent.ts
// Without a key scripted.ts, beside it, answers. With AI_GATEWAY_API_KEY a real model does; any of the AI SDK fits.
import { createInterface } from 'node:readline/promises';
import { ToolLoopAgent, type ModelMessage, type ToolApprovalResponse } from 'ai';
import { defineTool, fail, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
import { toAISDKTools } from 'tooldex/interop';
import { z } from 'zod';
import { scripted } from './scripted.js';

const calls = [{ tool: 'find_order', input: { order: 17 } }, { tool: 'refund_order', input: { order: 17, cents: 1250 } }];
const model = process.env.AI_GATEWAY_API_KEY ? 'openai/gpt-5-mini' : scripted(...calls, 'That is all I can do about order 17.');

const orders = new Map([[17, { item: 'teapot', cents: 1250, refunded: 0 }]]);

const findOrder = defineTool({
  name: 'find_order', description: 'Finds an order by its number',
  inputSchema: z.object({ order: z.int() }), accessMode: 'readonly',
  execute: ({ order }) => orders.get(order) ?? fail(`There is no order ${order}.`),
});
const refundOrder = defineTool({
  name: 'refund_order', description: 'Pays a part or all of an order back',
  inputSchema: z.object({ order: z.int(), cents: z.int().positive() }), accessMode: 'write',
  dangerFor: ({ cents }) => (cents > 10_000 ? 'critical' : 'high'),
  execute: ({ order, cents }) => {
    const found = orders.get(order);
    if (found === undefined || found.refunded + cents > found.cents) return fail('The order does not have so much left to refund.');
    found.refunded += cents;
    return found;
  },
});

const registry = new ToolMetadataRegistry();
registry.registerAll([findOrder, refundOrder]);
const executor = new ToolExecutor({ registry });
const tools = toAISDKTools([findOrder, refundOrder], { executor });
const agent = new ToolLoopAgent({ model, tools, instructions: 'You serve the customers of a shop.' });

const terminal = createInterface({ input: process.stdin, output: process.stdout });
const messages: ModelMessage[] = [{ role: 'user', content: 'The teapot of order 17 arrived broken. Please give me my money back.' }];
for (;;) {
  const { text, content, response } = await agent.generate({ messages });
  messages.push(...response.messages); // AI SDK 7: responseMessages
  const requests = content.filter((part) => part.type === 'tool-approval-request');
  if (requests.length === 0) {
    console.log(text);
    break;
  }
  const answers: ToolApprovalResponse[] = [];
  for (const { approvalId, toolCall } of requests) {
    const answer = await terminal.question(`${toolCall.toolName} ${JSON.stringify(toolCall.input)}: approve? [y/N] `);
    answers.push({ type: 'tool-approval-response', approvalId, approved: answer === 'y' });
  }
  messages.push({ role: 'tool', content: answers });
}
terminal.close();
console.log(orders.get(17));
