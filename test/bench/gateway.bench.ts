import { performance } from 'node:perf_hooks';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Server, type Tool } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { createMcpServer, discoverMcpTools } from '../../src/mcp.js';
import { program } from '../programs.js';

/**
 * Measures the cost of a gateway hop. The same readonly call goes to the same server over stdio:
 * directly, through a bare proxy made of the SDK's client and server, and through `discoverMcpTools`
 * with `createMcpServer`. Each of them is a process.
 *
 * Run it with `npx tsx test/bench/gateway.bench.ts [rounds]`. The rounds alternate, so a busy machine
 * slows down all three.
 */
const CALLS_PER_ROUND = 200;
const TOOL: Tool = {
  name: 'echo',
  description: 'Returns its text',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  annotations: { readOnlyHint: true },
};

const roles: Readonly<Record<string, () => unknown>> = { upstream, bare, gateway };
const [role = 'measure', rounds = '20'] = process.argv.slice(2);
await (roles[role] ?? measure)();

function upstream(): void {
  serveStdio(() => {
    const server = new Server(
      { name: 'upstream', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler('tools/list', () => ({ tools: [TOOL] }));
    server.setRequestHandler('tools/call', ({ params }) => ({
      content: [{ type: 'text', text: String(params.arguments?.['text']) }],
    }));
    return server;
  });
}

async function bare(): Promise<void> {
  const client = await clientOf('upstream');
  const { tools } = await client.listTools();
  serveStdio(() => {
    const server = new Server({ name: 'bare', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({ tools }));
    server.setRequestHandler('tools/call', ({ params }) =>
      client.callTool({ name: params.name, arguments: params.arguments ?? {} }),
    );
    return server;
  });
  process.stdin.once('end', () => void client.close());
}

async function gateway(): Promise<void> {
  const registry = new ToolMetadataRegistry();
  const { discovery, close } = await discoverMcpTools({
    mcpServers: {
      up: { ...commandOf('upstream'), access_mode: 'readonly', requires_consent: false },
    },
  });
  discovery.follow(registry);
  const executor = new ToolExecutor({ registry });
  const server = createMcpServer(registry, { executor });
  const { closed } = await server.serveStdio();
  await closed;
  await Promise.all([server.close(), close()]);
}

async function measure(): Promise<void> {
  const ways = {
    direct: { client: await clientOf('upstream'), tool: 'echo', times: [] as number[] },
    bare: { client: await clientOf('bare'), tool: 'echo', times: [] as number[] },
    gateway: { client: await clientOf('gateway'), tool: 'mcp__up__echo', times: [] as number[] },
  };
  const rows = Number(role === 'measure' ? rounds : role);
  for (let round = 0; round <= rows; round++)
    for (const { client, tool, times } of Object.values(ways))
      for (let call = 0; call < CALLS_PER_ROUND; call++) {
        const text = `text ${round} ${call}`;
        const start = performance.now();
        const { content } = await client.callTool({ name: tool, arguments: { text } });
        const took = performance.now() - start;
        if (!JSON.stringify(content).includes(text)) throw new Error(JSON.stringify(content));
        if (round > 0) times.push(took); // The first round is only a warm-up.
      }
  const median = Object.fromEntries(
    Object.entries(ways).map(([way, { times }]) => {
      const sorted = times.sort((a, b) => a - b);
      return [way, sorted[sorted.length >> 1]!];
    }),
  ) as Record<keyof typeof ways, number>;
  for (const [way, ms] of Object.entries(median))
    console.log(`${way.padEnd(8)} ${(ms * 1_000).toFixed(0).padStart(6)} µs median`);
  console.log(`a gateway call takes ${(median.gateway / median.bare).toFixed(2)} times a bare one`);
  await Promise.all(Object.values(ways).map(({ client }) => client.close()));
}

async function clientOf(role: string): Promise<Client> {
  const client = new Client(
    { name: 'bench', version: '1' },
    { versionNegotiation: { mode: 'auto' } },
  );
  class InPlace extends StdioClientTransport {}
  await client.connect(new InPlace({ ...commandOf(role), stderr: 'inherit' }));
  return client;
}

function commandOf(role: string): { readonly command: string; readonly args: string[] } {
  const file = process.argv[1]!.endsWith('.mjs')
    ? process.argv[1]!
    : program('test/bench/gateway.bench.ts');
  return { command: process.execPath, args: [file, role] };
}
