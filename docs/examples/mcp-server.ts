// An MCP server from a toolkit, a class of tools with what they need: clients see what each tool does, writes ask the user first.
// Run it:  npm i tooldex zod @modelcontextprotocol/server && npm i -D tsx && npx tsx mcp-server.ts
// For a client:  { "mcpServers": { "stock": { "command": "npx", "args": ["tsx", "mcp-server.ts"] } } }
import { fail, tool, toolkit, ToolMetadataRegistry } from 'tooldex';
import { createMcpServer } from 'tooldex/mcp';
import { z } from 'zod';

const Article = z.object({ article: z.string().describe('the name of the article') });
const Change = Article.extend({ by: z.int().describe('how many came; negative for how many went') });

@toolkit({ category: 'stock', accessMode: 'readonly', dangerLevel: 'safe' })
class Stock {
  readonly #pieces: Map<string, number>;

  constructor(pieces: Iterable<readonly [string, number]>) {
    this.#pieces = new Map(pieces);
  }

  @tool({ name: 'stock.list', description: 'Lists all articles with how many there are', inputSchema: z.object({}) })
  list() {
    return Object.fromEntries(this.#pieces);
  }

  @tool({ name: 'stock.count', description: 'Counts the pieces of one article', inputSchema: Article })
  count({ article }: z.infer<typeof Article>) {
    return this.#pieces.get(article) ?? fail(`There is no article ${article}.`);
  }

  @tool({ name: 'stock.change', description: 'Books pieces in or out', inputSchema: Change, accessMode: 'write', dangerLevel: 'low' })
  change({ article, by }: z.infer<typeof Change>) {
    const left = (this.#pieces.get(article) ?? 0) + by;
    if (left < 0) return fail(`Only ${left - by} pieces of ${article} are left.`);
    this.#pieces.set(article, left);
    return left;
  }
}

const registry = new ToolMetadataRegistry();
registry.register(new Stock([['teapot', 4], ['cup', 24]]));

const server = createMcpServer(registry, { name: 'stock', instructions: 'What the shop has in stock.' });
const { closed } = await server.serveStdio(); // Standard output belongs to the protocol: log with console.error.
await closed;
await server.close();
