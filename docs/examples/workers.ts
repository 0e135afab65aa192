// Two worker processes on one Redis: a payout that the queue delivers to both is made once, and both share one budget.
// Run it:  npm i tooldex zod redis && npm i -D tsx && npx tsx workers.ts
// It needs Redis (REDIS_URL). APPROVAL_KEY, 64 hexadecimal digits, is the same secret in all processes.
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { defineTool, ToolExecutor, ToolMetadataRegistry, type ToolCall, type ToolOutcome } from 'tooldex';
import { RedisStateStore } from 'tooldex/state';
import { z } from 'zod';

process.env.APPROVAL_KEY ??= randomBytes(32).toString('hex');
const store = await RedisStateStore.connect({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', prefix: 'shop:' });

const registry = new ToolMetadataRegistry();
registry.registerAll([
  defineTool({
    name: 'pay_supplier', description: 'Pays a supplier', accessMode: 'write', dangerLevel: 'high',
    inputSchema: z.object({ supplier: z.string(), cents: z.int().positive() }),
    execute: ({ supplier, cents }) => console.log(`*** ${supplier} gets ${cents} cents ***`),
  }),
  defineTool({
    name: 'exchange_rate', description: 'Asks a paid service for a rate', accessMode: 'readonly',
    inputSchema: z.object({ currency: z.string() }),
    execute: ({ currency }) => `1 EUR in ${currency}`,
  }),
]);
const executor = new ToolExecutor({
  registry, store,
  approvalKey: Buffer.from(process.env.APPROVAL_KEY, 'hex'),
  budgets: [{ per: 'principal', calls: 6, windowMs: 3_600_000 }], // Of all processes, in an hour: run it twice and see.
});

async function work(call: ToolCall): Promise<void> {
  const tell = (what: string, outcome: ToolOutcome) =>
    console.log(`worker ${process.pid}: ${what} ${outcome.status === 'error' ? outcome.code : outcome.status}`);
  tell('payout', await executor.execute(call, { principal: 'accounting' }));
  for (const currency of ['CHF', 'GBP', 'JPY', 'NOK', 'USD']) {
    const rate = { id: `rate-${currency}`, name: 'exchange_rate', input: { currency } };
    tell(currency, await executor.execute(rate, { principal: 'reports' }));
  }
}

async function main(): Promise<void> {
  const call = { id: `payout-${Date.now()}`, name: 'pay_supplier', input: { supplier: 'Potters & Sons', cents: 98_000 } };
  const asked = await executor.execute(call, { principal: 'accounting' });
  if (asked.status !== 'approval_required') throw new Error(`Expected that a payout needs approval, got ${asked.status}.`);
  await executor.approve(asked.pending, { by: 'Grace' }); // By an accountant, in this or any other process.
  const workers = [1, 2].map(() => fork(fileURLToPath(import.meta.url)));
  for (const worker of workers) worker.send(call);
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
}

if (process.send === undefined) await main();
else await work(((await once(process, 'message')) as [ToolCall])[0]);
process.removeAllListeners('message'); // So that a worker ends.
await executor.close();
await store.close();
process.disconnect?.();
