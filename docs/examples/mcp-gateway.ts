// A gateway: one MCP server before two others. Reading runs at once, writing files is denied, everything else asks the user behind
// the client, a tool whose definition changed after it was reviewed is withheld, and what the servers ask reaches the client, too.
// Run it:  npm i tooldex zod @modelcontextprotocol/{client,server,server-filesystem,server-memory} && npm i -D tsx
//          npx tooldex mcp pins approve --all      (reviews what the servers of .mcp.json offer, and pins it)
//          npx tsx mcp-gateway.ts                  (give this command to your MCP client)
// It needs .mcp.json:  { "mcpServers": { "files": { "command": "npx", "args": ["mcp-server-filesystem", "."] },
//                                        "memory": { "command": "npx", "args": ["mcp-server-memory"] } } }
import { readFile } from 'node:fs/promises';
import { SafetyPolicy, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
import { createMcpServer, DefinitionPins, discoverMcpTools } from 'tooldex/mcp';

const settings: unknown = JSON.parse(await readFile('.mcp.json', 'utf8'));
const pins = await DefinitionPins.load('tooldex-pins.json');
const { discovery, findings, provider, close } = await discoverMcpTools(settings, {
  pins,
  onElicit: (...question) => server.onElicit(...question), // What a server asks in a call reaches the client that made the call.
  elicitUrls: true,
});
for (const { message } of findings) console.error(message);

const registry = new ToolMetadataRegistry();
discovery.follow(registry); // Registers the tools, and those of a server that starts late.

// Nothing that a server says of its tools loosens anything: what is harmless is said here.
const policy = new SafetyPolicy({
  registry,
  rules: [
    { verdict: 'allow', tools: ['mcp.files.read_*', 'mcp.files.list_*', 'mcp.files.search_files', 'mcp.memory.read_graph'] },
    { verdict: 'deny', tools: 'mcp.files.*', reason: 'files are only read here' },
  ],
});
const executor = new ToolExecutor({ registry, policy, providers: { mcp: provider } });
executor.on((event) => {
  if (event.type === 'call-settled') console.error(`${event.toolName}: ${event.status}, ${Math.round(event.durationMs)} ms`);
});

// With the discovery, clients also get the servers' instructions, completions, log messages and updates.
const server = createMcpServer(registry, { name: 'gateway', executor, discovery });
const { closed } = await server.serveStdio();
await closed;
await server.close();
await close(); // Ends the two servers.
