import { mcpServe } from '../../src/cli/commands/mcp.js';
import { loadRegistry } from '../../src/cli/load/load-registry.js';
import { processTerminal } from '../../src/cli/terminal/terminal.js';

// `tooldex mcp serve` from its source, with the bundled tools in the folder that is given, where calls up to medium danger run.

const terminal = processTerminal(process);
const [root = process.cwd(), ...flags] = process.argv.slice(2);
const http = flags.includes('--http') ? { http: true, port: 0, json: true } : {};
process.exitCode = await mcpServe(terminal, await loadRegistry({}, root), {
  mode: 'default',
  yes: 'medium',
  ...http,
});
