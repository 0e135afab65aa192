import type { Command } from 'commander';
import { PINS_EXIT_HELP } from '../exit-codes.js';
import { addExecutionOptions } from '../options/execution-options.js';
import { addFilterOptions, wholeNumber } from '../options/filter-options.js';
import type { CommandHost } from './command-host.js';

const repeated = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** Defines `tooldex mcp` and the commands below it. */
export function defineMcpCommands({ program, terminal, cwd, onTools, alone }: CommandHost): void {
  const mcp = program.command('mcp').description('MCP: serves the tools, looks at other servers, and pins what they offer');
  onTools(
    addExecutionOptions(
      addFilterOptions(
        mcp
          .command('serve')
          .description('serves the tools to an MCP client on standard input and output, or over HTTP')
          .option('--http', 'listens for clients over streamable HTTP')
          .option('--port <n>', 'with --http: the port; 0 takes any that is free (default: 4781)', wholeNumber)
          .option('--host <address>', 'with --http: the address; any but 127.0.0.1 needs a token')
          .option('--token <text>', 'with --http: what clients must send as a bearer token (default: the variable TOOLDEX_TOKEN)')
          .option('--allowed-host <name>', 'with --http: a name under which it is asked for; may be repeated', repeated)
          .option('--search', 'lists the tool that finds others instead of all tools (default: above 128 tools)')
          .option('--no-search', 'lists all tools, however many'),
      ),
    ),
    ['mcp serve', 'mcp serve --http --port 4781', 'mcp serve --manifests ./manifests --yes low'],
    async () => {
      const { mcpServe } = await import('../commands/mcp/serve.js');
      return (loaded, options) => mcpServe(terminal, loaded, options);
    },
  );
  alone(withConfig(mcp.command('list').description('the servers of a settings file, and the tools they offer now')), ['mcp list', 'mcp list --config servers.json --json'], async () => {
    const { mcpList } = await import('../commands/mcp/list.js');
    return (options) => mcpList(terminal, options, cwd);
  });

  const pins = mcp.command('pins').description('compares what servers offer with what was approved');
  const examples = { verify: ['mcp pins verify'], diff: ['mcp pins diff', 'mcp pins diff memory.read_graph'], approve: ['mcp pins approve --all', 'mcp pins approve memory.read_graph --yes'] } as const;
  const commands = {
    verify: pins.command('verify').description('what is new, changed or gone; for CI'),
    diff: pins.command('diff [tools...]').description('how it differs, leaf by leaf'),
    approve: pins.command('approve [tools...]').description('shows how it differs, and pins it after a yes').option('--all', 'all that differ').option('--yes', 'without a question'),
  };
  for (const action of ['verify', 'diff', 'approve'] as const) {
    alone(withConfig(commands[action]).option('--lock <file>', 'the file with what was approved (default: tooldex-pins.json beside the settings)').addHelpText('after', PINS_EXIT_HELP), examples[action], async () => {
      const { mcpPins } = await import('../commands/mcp/pins.js');
      return (options, tools) => mcpPins(terminal, action, tools, options, cwd);
    });
  }
}

function withConfig(command: Command): Command {
  return command.option('--config <file>', 'the settings of MCP servers (default: .mcp.json or mcp.json)');
}
