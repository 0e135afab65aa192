import { McpDiscovery } from '../../../src/mcp/discovery/mcp-discovery.js';

// One of several processes that share a login. It calls a tool of the server and prints the answer.

const [url, logins] = process.argv.slice(2);
const discovery = new McpDiscovery({ mcpServers: { tickets: { url } } }, { logins: logins! });
const { value } = (await discovery.callTool('tickets', 'read', {}, {})) as { value: unknown };
process.stdout.write(String(value));
await discovery.close();
