import { runCli } from '../../src/cli/run-cli.js';
import { ProcessTerminal } from '../../src/cli/terminal/terminal.js';

// `tooldex mcp serve` from its source, with the bundled tools for the given folder. Calls up to medium
// danger run without approval.

const [root = process.cwd(), ...flags] = process.argv.slice(2);
const http = flags.includes('--http') ? ['--http', '--port', '0', '--json'] : [];
const args = ['mcp', 'serve', '--yes', 'medium', ...http];
process.exitCode = await runCli(args, new ProcessTerminal(), root);
