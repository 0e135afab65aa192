// Tools from an OpenAPI document, called with the token of the user whom the agent serves. You want it if the API decides by user what
// is allowed: with one shared key, a model could read everybody's invoices. Models never see the tokens.
// Run it:  npm i tooldex zod && npm i -D tsx && npx tsx openapi-auth.ts
// It needs nothing: it starts the billing service itself.
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { ToolExecutor, ToolMetadataRegistry, type ToolOutcome } from 'tooldex';
import { toolsFromOpenApi } from 'tooldex/openapi';

// Your service. It knows users by their tokens.
const users: Record<string, string> = { 'Bearer token-of-ada': 'ada', 'Bearer token-of-bob': 'bob' };
const service = createServer((request, response) => {
  const user = users[request.headers.authorization ?? ''];
  response.writeHead(user === undefined ? 401 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(user === undefined ? { error: 'Log in first.' } : { user, did: `${request.method} ${request.url}` }));
});
await once(service.listen(0, '127.0.0.1'), 'listening');

const document = {
  openapi: '3.1.0',
  servers: [{ url: `http://127.0.0.1:${(service.address() as AddressInfo).port}` }],
  components: { securitySchemes: { login: { type: 'http', scheme: 'bearer' } } },
  security: [{ login: [] }],
  paths: {
    '/invoices': { get: { operationId: 'listInvoices', summary: 'Lists the invoices of the user' } },
    '/invoices/{id}': {
      delete: {
        operationId: 'deleteInvoice', summary: 'Deletes an invoice',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
      },
    },
  },
};

// Your own log-in: a table here, your session store or token exchange in a real program. It's asked for every call, as tokens expire.
const tokens = new Map([['ada', 'token-of-ada'], ['bob', 'token-of-bob']]);
const { tools, findings } = await toolsFromOpenApi(document, {
  auth: { login: ({ principal }) => tokens.get(principal ?? '') ?? 'nobody' },
});
for (const { operation, message } of findings) console.log(`${operation}: ${message}`);

const registry = new ToolMetadataRegistry();
registry.registerAll(tools);
const executor = new ToolExecutor({
  registry,
  confirm: ({ toolName, input }) => (console.log(`asks: ${toolName} ${JSON.stringify(input)}`), true),
});

const told = (outcome: ToolOutcome) => (outcome.status === 'ok' ? JSON.stringify(outcome.value) : JSON.stringify(outcome));
console.log(told(await executor.execute({ id: '1', name: 'listInvoices' }, { principal: 'ada' })));
console.log(told(await executor.execute({ id: '2', name: 'listInvoices' }, { principal: 'bob' })));
console.log(told(await executor.execute({ id: '3', name: 'deleteInvoice', input: { id: 7 } }, { principal: 'ada' })));
const { status } = await executor.execute({ id: '4', name: 'listInvoices' }, { principal: 'stranger' });
console.log(`stranger: ${status}`);
await executor.close();
service.close();
