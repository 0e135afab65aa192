// The tools of the chat, and the executor that runs them.
import { fail, tool, toolkit, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
import { z } from 'zod';

const Order = z.object({ order: z.int() });
const Refund = Order.extend({ cents: z.int().positive() });

@toolkit({ category: 'orders' })
class OrderTools {
  private readonly orders = new Map([[17, { item: 'teapot', cents: 1250, refunded: 0 }]]);

  @tool({ name: 'find_order', description: 'Finds an order by its number', inputSchema: Order, accessMode: 'readonly' })
  findOrder({ order }: z.infer<typeof Order>) {
    return this.orders.get(order) ?? fail(`There is no order ${order}.`);
  }

  @tool({ name: 'refund_order', description: 'Refunds all or part of an order', inputSchema: Refund, accessMode: 'write' })
  refundOrder({ order, cents }: z.infer<typeof Refund>) {
    const found = this.orders.get(order);
    if (found === undefined || found.refunded + cents > found.cents) return fail("The order doesn't have this much left to refund.");
    found.refunded += cents;
    return found;
  }
}

export const registry = new ToolMetadataRegistry();
registry.register(OrderTools);

// If several servers answer, they need the same store and key to find each other's approvals:
// new ToolExecutor({ registry, store: await RedisStateStore.connect({ url }), approvalKey })
export const executor = new ToolExecutor({ registry });
