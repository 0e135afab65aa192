import {
  inputRequired,
  Server,
  type CallToolResult,
  type Tool,
} from '@modelcontextprotocol/server';

/** The process of a demo server, or a substitute for it. */
export interface DemoProcess {
  readonly tools: () => Tool[];
  readonly note: (line: string) => void;
  readonly pid: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Exits in the middle of a call. */
  readonly exit: () => Promise<never>;
}

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

/** A server that reads its list of tools for every request and logs what happens. */
export function demoServer({ tools, note, pid, env, exit }: DemoProcess): Server {
  const server = new Server(
    { name: 'demo', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler('tools/list', () => {
    note('list');
    return { tools: tools() };
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    note(`call ${params.name}`);
    switch (params.name) {
      case 'pid':
        return text(String(pid));
      case 'environment':
        return { content: [], structuredContent: { ...env } };
      case 'crash':
        return exit();
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
      case 'ask_url':
        return mcpReq.inputResponses === undefined
          ? inputRequired({
              inputRequests: {
                page: inputRequired.elicitUrl({
                  message: 'Sign in',
                  url: 'https://login.example/start',
                }),
              },
            })
          : text(JSON.stringify(mcpReq.inputResponses));
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
      case 'fails_with_key':
        return { ...text(`the key ${env['API_KEY']} was refused`), isError: true };
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
