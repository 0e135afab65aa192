// Tools that are declared in JSON, shared ones and those of a persona: who may call what stands in the files beside this one.
// Run it:  npm i tooldex zod && npm i -D tsx && npx tsx main.ts
// Look at them:  npx tooldex validate .   and   npx tooldex serve --manifests .
import { ToolExecutor } from 'tooldex';
import { CapabilityRegistry } from 'tooldex/capability';

const orders = new Map([[17, { item: 'teapot', cents: 1250 }]]);
const handlers = {
  find_order: ({ order }: { order: number }) => orders.get(order) ?? null,
  refund_order: ({ order }: { order: number }) => `paid back ${orders.get(order)?.cents ?? 0} cents`,
  write_letter: ({ order, text }: { order: number; text: string }) => `Dear customer, about order ${order}: ${text}`,
};

const capabilities = await CapabilityRegistry.load({ root: import.meta.dirname, handlers });
for (const { message } of capabilities.findings) console.warn(message);

for (const persona of ['Nina', 'Otto']) {
  const registry = capabilities.registryFor(persona);
  const executor = new ToolExecutor({ registry, confirm: () => true }); // Stands for a user who approves everything.
  const detach = capabilities.attach(executor, { persona }); // Counts how the tools fare.
  console.log(`${persona}: ${[...registry].map(({ name }) => name).join(', ')}`);
  for (const name of ['find_order', 'refund_order']) {
    const outcome = await executor.execute({ id: name, name, input: { order: 17 } }, { persona });
    console.log(`  ${name}: ${outcome.status}${outcome.status === 'error' ? `, ${outcome.message}` : ''}`);
  }
  detach();
  await executor.close();
}

const { health } = capabilities.tool('find_order')!;
console.log('health of find_order:', health.tool.total, 'calls,', health.tool.success, 'good');
capabilities.close();
