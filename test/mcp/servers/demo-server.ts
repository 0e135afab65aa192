import { appendFileSync, readFileSync } from 'node:fs';
import {
  inputRequired,
  Server,
  type CallToolResult,
  type Tool,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

/**
 * A server of both protocols whose listing is a file, read at every question; `log` in its arguments is where it writes
 * what happens to it; at SIGUSR2 it says that its tools have changed. Arguments: <listing file> <log file> [legacy].
 */
const [listing = '', log = '', legacy] = process.argv.slice(2);
const note = (line: string) => appendFileSync(log, `${line}\n`);
const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

note(`started ${process.pid}`);
process.on('exit', () => note(`ended ${process.pid}`));
// A child that the parent forgets ends by itself.
setTimeout(() => process.exit(9), 120_000).unref();

export function demoServer(tools: () => Tool[]): Server {
  const server = new Server(
    { name: 'demo', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  process.on('SIGUSR2', () => void server.sendToolListChanged());
  server.setRequestHandler('tools/list', () => {
    note('list');
    return { tools: tools() };
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    note(`call ${params.name}`);
    switch (params.name) {
      case 'pid':
        return text(String(process.pid));
      case 'environment':
        return { content: [], structuredContent: { ...process.env } };
      case 'crash':
        return process.exit(3);
      case 'hang':
        if (params._meta?.progressToken !== undefined)
          await mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken: params._meta.progressToken, progress: 1, total: 2 },
          });
        return new Promise((resolve) => {
          mcpReq.signal.addEventListener('abort', () => {
            note('cancelled');
            resolve(text('cancelled'));
          });
        });
      case 'steps':
        for (const progress of [1, 2, 3])
          if (params._meta?.progressToken !== undefined)
            await mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken: params._meta.progressToken, progress, total: 3 },
            });
        return text('three steps');
      case 'announce':
        await server.sendToolListChanged();
        return text('announced');
      case 'ask':
        return inputRequired({
          inputRequests: {
            name: inputRequired.elicit({
              message: 'Your name?',
              requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
            }),
          },
        });
      case 'ask_once':
        if (mcpReq.inputResponses !== undefined) return text(JSON.stringify(mcpReq.inputResponses));
        return inputRequired({
          inputRequests: {
            form: inputRequired.elicit({
              message: 'Which?',
              requestedSchema: {
                type: 'object',
                properties: {
                  size: { type: 'integer', default: 3 },
                  name: { type: 'string', default: 'none' },
                  note: { type: 'string' },
                },
              },
            }),
          },
        });
      case 'fails':
        return { ...text('no such file\nlook elsewhere'), isError: true };
      case 'fails_structured':
        return {
          content: [],
          structuredContent: { error: 'the disk is full', free: 0 },
          isError: true,
        };
      case 'shows':
        return {
          content: [
            { type: 'text', text: 'a pixel' },
            { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
          ],
          structuredContent: { width: 1 },
        };
      case 'breaks':
        throw new Error('a bug');
      default:
        return {
          content: [{ type: 'text', text: 'see structured' }],
          structuredContent: { called: params.name, with: params.arguments },
        };
    }
  });
  return server;
}

serveStdio(
  () => demoServer(() => JSON.parse(readFileSync(listing, 'utf8')) as Tool[]),
  legacy === undefined ? {} : { legacy: 'serve' },
);
