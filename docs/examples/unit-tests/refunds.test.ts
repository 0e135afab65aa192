// Unit tests of tools: each runs as an agent would run it, with schema, policy, approval and output schema, and without a model.
// Run it:  npm i tooldex zod && npm i -D vitest && npx vitest run
import type { PendingApproval } from 'tooldex';
import { runTool } from 'tooldex/testing';
import { expect, it, vi } from 'vitest';
import { refundOrder, refundReason, type Shop } from './refunds.js';

const shop = () => ({ payments: { refund: vi.fn(async (order: number) => `receipt ${order}`) } }) satisfies Shop;

it('refunds an order once it is approved', async () => {
  const context = shop();
  const { outcome, events } = await runTool(refundOrder, { order: 17, cents: 1250 }, { approve: true, context });
  expect(outcome).toMatchObject({ status: 'ok', value: { receipt: 'receipt 17' } });
  expect(context.payments.refund).toHaveBeenCalledWith(17, 1250);
  expect(events).toContainEqual(expect.objectContaining({ type: 'call-progress', progress: { refunding: 17 } }));
});

it('refunds nothing while nobody has approved', async () => {
  const context = shop();
  const { outcome } = await runTool(refundOrder, { order: 17, cents: 1250 }, { context });
  expect(outcome.status).toBe('approval_required');
  expect(context.payments.refund).not.toHaveBeenCalled();
});

it('is critical from more than 100 euros on', async () => {
  const danger: string[] = [];
  const approve = (pending: PendingApproval) => danger.push(pending.danger) > 0;
  for (const cents of [10_000, 10_001]) await runTool(refundOrder, { order: 17, cents }, { context: shop(), approve });
  expect(danger).toEqual(['medium', 'critical']);
});

it('tells the model which argument is wrong', async () => {
  const { outcome } = await runTool(refundOrder, { order: 17, cents: -5 }, { approve: true, context: shop() });
  expect(outcome).toMatchObject({ status: 'error', code: 'INVALID_INPUT', message: expect.stringContaining('cents') as string });
});

it('says so when the bank refuses', async () => {
  const context: Shop = { payments: { refund: async () => '' } };
  const { outcome } = await runTool(refundOrder, { order: 17, cents: 1250 }, { approve: true, context });
  expect(outcome).toMatchObject({ status: 'error', message: 'The bank refused the refund.' });
});

it('asks the customer, and takes only one of the answers that it offers', async () => {
  expect((await runTool(refundReason, { order: 17 }, { answers: ['late'] })).outcome).toMatchObject({ status: 'ok', value: 'late' });
  await expect(runTool(refundReason, { order: 17 }, { answers: ['bored'] })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});
