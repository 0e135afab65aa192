// A chat over HTTP whose sessions live in Redis: an approval may come hours later, in another process, and nothing runs twice.
// Run it:  npm i tooldex zod ai redis hono @hono/node-server && npm i -D tsx && npx tsx chat-server.ts
//   curl localhost:3000/chats/anna -d '{"text": "Refund order 17"}'     and then, with the ids of what is pending:
//   curl localhost:3000/chats/anna/decisions -d '{"callId": "…", "pendingId": "…", "approved": true}'
// It needs Redis (REDIS_URL). With AI_GATEWAY_API_KEY a real model answers.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { defineTool, isToolError } from 'tooldex';
import { scriptedModel, SessionStore, type ChatEngine, type RunResult } from 'tooldex/chat';
import { RedisStateStore } from 'tooldex/state';
import { z } from 'zod';

const refund = { calls: [{ name: 'refund_order', input: { order: 17 } }] };
const script = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Order 17 is settled.' : refund));
const model = process.env.AI_GATEWAY_API_KEY ? 'openai/gpt-5-mini' : script;

const store = await RedisStateStore.connect({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' });
const sessions = new SessionStore({ store, ttlMs: 7 * 86_400_000 });

const refundOrder = defineTool({
  name: 'refund_order', description: 'Refunds an order',
  inputSchema: z.object({ order: z.int() }), accessMode: 'write',
  execute: ({ order }, { callId, principal }) => {
    console.log(`paid back order ${order} for ${principal} (${callId})`);
    return { order, refunded: true };
  },
});
const engineFor = (customer: string): ChatEngine => ({ model, tools: [refundOrder], principal: customer });
const answer = ({ session, result }: RunResult) => ({ status: session.status, text: result.text, pending: session.pending });

const Message = z.object({ text: z.string() });
const Decision = z.object({ callId: z.string(), pendingId: z.string(), approved: z.boolean() });
const app = new Hono();

// The customer comes from a login in a program of yours, and the one who decides from that of the staff.
app.post('/chats/:customer', async (c) => {
  const { text } = Message.parse(await c.req.json());
  const customer = c.req.param('customer');
  const session = (await sessions.open(customer)) ?? sessions.create({ id: customer });
  return c.json(answer(await session.reply(engineFor(customer), text)));
});

app.post('/chats/:customer/decisions', async (c) => {
  const { callId, pendingId, approved } = Decision.parse(await c.req.json());
  const customer = c.req.param('customer');
  const session = await sessions.open(customer);
  if (session === undefined) return c.json({ error: 'There is no such chat.' }, 404);
  const decided = approved ? session.approve(callId, { pendingId }) : session.deny(callId, 'The shop does not refund this order.');
  if (!decided.ok) return c.json({ error: decided.error.message }, 409);
  const saved = await decided.session.save(); // Kept from here on, also while other calls are pending.
  if (saved.status !== 'idle') return c.json({ status: saved.status, pending: saved.pending });
  return c.json(answer(await saved.continue(engineFor(customer))));
});

app.onError((error, c) => {
  if (error instanceof z.ZodError) return c.json({ error: z.prettifyError(error) }, 400);
  if (isToolError(error, 'STALE_SESSION') || isToolError(error, 'INVALID_STATE')) return c.json({ error: error.message }, 409);
  console.error(error);
  return c.json({ error: 'Something went wrong.' }, 500);
});

const port = Number(process.env.PORT ?? 3000);
serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, (address) => console.log(`http://127.0.0.1:${address.port}`));
