// An agent of LangChain with tools that know what they do: the executor asks at the terminal before it changes an address.
// Run it:  npm i tooldex zod langchain @langchain/core && npm i -D tsx && npx tsx langchain-agent.ts
// It needs nothing. With OPENAI_API_KEY (and npm i @langchain/openai) a real model answers.
import { createInterface } from 'node:readline/promises';
import { AIMessage, createAgent, fakeModel } from 'langchain';
import { defineTool, fail, ToolExecutor, ToolMetadataRegistry, type ToolContext } from 'tooldex';
import { toLangChainTools } from 'tooldex/interop';
import { z } from 'zod';

const [find, change] = [{ name: 'find_customer', args: { name: 'Ada' } }, { name: 'change_address', args: { name: 'Ada', city: 'Turin' } }];
const script = fakeModel().respondWithTools([find]).respondWithTools([change]).respond(new AIMessage('That is all I can do for Ada.'));
const model = process.env.OPENAI_API_KEY ? 'openai:gpt-5-mini' : script;

class Customers {
  readonly #cities = new Map([['Ada', 'London'], ['Grace', 'New York']]);
  city(name: string) { return this.#cities.get(name); }
  move(name: string, city: string) { this.#cities.set(name, city); }
}
interface App { readonly customers: Customers }

const findCustomer = defineTool({
  name: 'find_customer', description: 'Finds the city of a customer',
  inputSchema: z.object({ name: z.string() }), accessMode: 'readonly',
  execute: ({ name }, { context }: ToolContext<App>) => context.customers.city(name) ?? fail(`There is no customer ${name}.`),
});
const changeAddress = defineTool({
  name: 'change_address', description: 'Changes the city of a customer',
  inputSchema: z.object({ name: z.string(), city: z.string() }), accessMode: 'write',
  execute: ({ name, city }, { context }: ToolContext<App>) => {
    context.customers.move(name, city);
    return `${name} lives in ${city} now`;
  },
});

const terminal = createInterface({ input: process.stdin, output: process.stdout });
const registry = new ToolMetadataRegistry();
registry.registerAll([findCustomer, changeAddress]);
const executor = new ToolExecutor({
  registry,
  confirm: async ({ toolName, input }) => (await terminal.question(`${toolName} ${JSON.stringify(input)}: approve? [y/N] `)) === 'y',
});

const customers = new Customers();
const tools = await toLangChainTools(registry, { executor, principal: 'support', context: { customers } satisfies App });
const agent = createAgent({ model, tools });
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Ada has moved to Turin.' }] });
for (const message of messages) console.log(`${message.type}: ${message.text}`);
terminal.close();
await executor.close();
