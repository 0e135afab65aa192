// Approvals over HTTP: an agent asks in one process, and a person answers in another. You want it if the agent runs in a worker or a
// queue, and the people who approve use a web page of yours. The store is all that the two processes share.
// Run it:  npm i tooldex zod redis hono @hono/node-server && npm i -D tsx && npx tsx approval-endpoint.ts
// It needs Redis (REDIS_URL). APPROVAL_KEY, 64 hexadecimal digits, is the same secret in both processes.
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { defineTool, isToolError, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
import { RedisStateStore } from 'tooldex/state';
import { z } from 'zod';

process.env.APPROVAL_KEY ??= randomBytes(32).toString('hex');
const store = await RedisStateStore.connect({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', prefix: 'approvals:' });
const refundOrder = defineTool({
  name: 'refund_order', description: 'Refunds an order', accessMode: 'write', inputSchema: z.object({ order: z.int() }),
  execute: ({ order }) => console.log(`agent ${process.pid}: paid back order ${order}`),
});
const registry = new ToolMetadataRegistry();
registry.register(refundOrder);
const executor = new ToolExecutor({ registry, store, approvalKey: Buffer.from(process.env.APPROVAL_KEY, 'hex') });

/** The agent's process. It asks, ends its work, and runs the same call again after the answer. */
async function agent(): Promise<void> {
  const call = { id: `refund-${Date.now()}`, name: 'refund_order', input: { order: 17 } };
  console.log(`agent ${process.pid}: ${(await executor.execute(call, { principal: 'anna' })).status}`);
  process.send?.('asked');
  await once(process, 'message'); // In a real program: a job in your queue.
  console.log(`agent ${process.pid}: ${(await executor.execute(call, { principal: 'anna' })).status}`);
}

/** The people's process. Put your staff's log-in in front of it: whoever reaches it decides. */
function approvals(tell: () => void): Hono {
  const app = new Hono();
  app.get('/approvals', async (c) => c.json((await executor.waiting()).map(({ id, toolName, input }) => ({ id, toolName, input }))));
  app.post('/approvals/:id', async (c) => {
    const { approved } = z.object({ approved: z.boolean() }).parse(await c.req.json());
    const pending = (await executor.waiting()).find(({ id }) => id === c.req.param('id'));
    if (pending?.kind !== 'approval') return c.json({ error: 'No call with this id waits for an approval.' }, 404);
    await (approved ? executor.approve(pending, { by: 'staff' }) : executor.deny(pending, { by: 'staff' }));
    tell();
    return c.json({ approved });
  });
  app.onError((error, c) => c.json({ error: error.message }, isToolError(error) ? 409 : 400));
  return app;
}

if (process.send === undefined) {
  const worker = fork(fileURLToPath(import.meta.url));
  await once(worker, 'message');
  const { fetch } = approvals(() => worker.send('answered'));
  const port = Number(process.env.PORT ?? 3000);
  const server = serve({ fetch, port, hostname: '127.0.0.1' }, (address) => console.log(`http://127.0.0.1:${address.port}/approvals`));
  await once(worker, 'exit');
  server.close();
} else await agent();
await executor.close();
await store.close();
process.disconnect?.();
