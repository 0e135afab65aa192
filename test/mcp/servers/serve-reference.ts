import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// The gateway for the official conformance suite: `tooldex mcp serve` before the reference server. It
// prints its address. To use it by hand, start it with tsx, and run `npx @modelcontextprotocol/conformance
// server --url <address>` in a folder outside the checkout (needs Node 22).

const folder = mkdtempSync(join(tmpdir(), 'tooldex-reference-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'mcp.json');
const settings = {
  command: process.execPath,
  args: ['--import', 'tsx', join(import.meta.dirname, 'reference-server.ts')],
  ...{ prefix: false, resources: true, prompts: true, access: 'readonly', consent: false },
};
writeFileSync(file, JSON.stringify({ mcpServers: { reference: settings } }));
process.argv.splice(2, Infinity, 'mcp', 'serve', '--mcp', file, '--http', '--port', '0');
await import('../../../src/cli/main.js');
