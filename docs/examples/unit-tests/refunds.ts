// The tools under test, as they stand in a program: see refunds.test.ts.
import { askUser, defineTool, fail, type ToolContext } from 'tooldex';
import { z } from 'zod';

/** The services that the tools need; tests put a fake in their place. */
export interface Shop {
  readonly payments: { refund(order: number, cents: number): Promise<string> };
}

const REASONS = ['damaged', 'late', 'unwanted'];

export const refundOrder = defineTool({
  name: 'refund_order', description: 'Refunds an order',
  inputSchema: z.object({ order: z.int(), cents: z.int().positive(), reason: z.string().optional() }),
  outputSchema: z.object({ receipt: z.string() }),
  accessMode: 'write', dangerLevel: 'medium',
  dangerFor: ({ cents }) => (cents > 10_000 ? 'critical' : 'medium'),
  execute: async ({ order, cents }, { context, reportProgress }: ToolContext<Shop>) => {
    reportProgress?.({ refunding: order });
    const receipt = await context.payments.refund(order, cents);
    return receipt === '' ? fail('The bank refused the refund.') : { receipt };
  },
});

export const refundReason = defineTool({
  name: 'refund_reason', description: 'Asks the customer why an order goes back',
  inputSchema: z.object({ order: z.int() }), accessMode: 'readonly',
  execute: ({ order }) => askUser(`Why does order ${order} go back?`, REASONS),
});
