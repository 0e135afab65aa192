import { Writable, type Readable } from 'node:stream';
import { Option } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import { LOOPBACK_HOSTS } from '../../host/addresses.js';
import { createMcpServer, type McpToolServer } from '../../mcp/server/create-mcp-server.js';
import { limitTime, policyOf } from '../execute/with-executor.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import {
  addExecutionOptions,
  addFilterOptions,
  callContextOf,
  filterOf,
  repeated,
  TOKEN_VARIABLE,
  wholeNumber,
  type CommandFamily,
  type CommandOptions,
} from '../load/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { paint, type Dialog } from '../terminal/terminal.js';
import { defineList } from './mcp-list.js';
import { defineLogin } from './mcp-login.js';
import { definePins } from './mcp-pins.js';
import { requireTogether } from '../terminal/wrong-usage.js';

/** Serves tools over MCP, and looks at the servers of others. */
export const MCP_COMMANDS: CommandFamily = {
  mcp: (mcp, host) => {
    const { terminal, onTools } = host;
    const serve = mcp
      .command('serve')
      .description('serves the tools to an MCP client on standard input and output, or over HTTP')
      .option('--http', 'listens for clients over streamable HTTP')
      .option(
        '--port <n>',
        'with --http: the port; 0 takes any that is free (default: 4781)',
        wholeNumber,
      )
      .option('--host <address>', 'with --http: the address; any but 127.0.0.1 needs a token')
      .option(
        '--token <text>',
        'with --http: what clients must send as a bearer token (default: the variable TOOLDEX_TOKEN)',
      )
      .option(
        '--allowed-host <name>',
        'with --http: a name under which it is asked for; may be repeated',
        repeated,
      )
      .addOption(
        new Option(
          '--names <which>',
          "names of tools: safe for model APIs (files.read is files__read), or the tools' own",
        )
          .choices(['safe', 'original'])
          .default('safe'),
      )
      .option(
        '--search',
        'lists the tool that finds others instead of all tools (default: above 128 tools)',
      )
      .option('--no-search', 'lists all tools, however many');
    onTools(
      addExecutionOptions(addFilterOptions(serve)),
      ['mcp serve', 'mcp serve --http --port 4781', 'mcp serve --manifests ./manifests --yes low'],
      (loaded, options) => mcpServe(terminal, loaded, options),
      { relays: true },
    );
    defineList(mcp, host);
    defineLogin(mcp, host);
    definePins(mcp, host);
  },
};

/** The input and the variables of the process; a test gives its own. */
interface McpServeWorld {
  readonly input: Readable;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Serves tools over MCP until the client goes, or the user interrupts the program.
 *
 * On standard input and output, where nothing else is printed, or over HTTP with `--http`.
 *
 * @param options as the command line has them: `http`, `port`, `host`, `token`, `allowedHost`, `search`, `names`, those of running tools
 * (`yes`, `mode`, `timeout`, `flags`), of filtering them, `persona` and `json`.
 */
export async function mcpServe(
  terminal: Dialog,
  { registry: loaded, relayTo }: LoadedRegistry,
  options: CommandOptions,
  world: McpServeWorld = { input: process.stdin, env: process.env },
): Promise<number> {
  const {
    http,
    port,
    host,
    token = world.env[TOKEN_VARIABLE],
    allowedHost,
    search,
    names,
    json,
  } = options as Partial<{
    http: boolean;
    port: number;
    host: string;
    token: string;
    allowedHost: readonly string[];
    search: boolean;
    names: 'safe' | 'original';
    json: boolean;
  }>;
  requireTogether(options, { http: ['port', 'host', 'token', 'allowed-host'] });
  const registry = limitTime(loaded, options.timeout);
  const server = createMcpServer(registry, {
    name: 'tooldex',
    version: packageJson.version,
    policy: policyOf(registry, options),
    context: callContextOf(options),
    filter: filterOf(options),
    onError: (error) =>
      terminal.err(
        `${paint(terminal, 'yellow', 'fault')} ${error instanceof Error ? error.message : String(error)}`,
      ),
    ...(search === undefined ? {} : { search }),
    ...(names === undefined ? {} : { names }),
    ...(http === true && token !== undefined ? { token } : {}), // An empty one, of a variable that is not set, is refused.
    ...(allowedHost === undefined ? {} : { allowedHosts: [...LOOPBACK_HOSTS, ...allowedHost] }),
  });
  relayTo?.(server.onElicit);
  let stopListening = (): void => undefined;
  const interrupted = new Promise<void>(
    (resolve) => (stopListening = terminal.onInterrupt(resolve)),
  );
  try {
    const { closed } =
      http === true
        ? await serveHttp(terminal, server, registry.size, { port, host, json })
        : await server.serveStdio({ input: world.input, output: outputOf(terminal) });
    await Promise.race([closed, interrupted]);
  } finally {
    stopListening();
    await server.close();
  }
  return EXIT.ok;
}

async function serveHttp(
  terminal: Dialog,
  server: McpToolServer,
  tools: number,
  options: {
    readonly port: number | undefined;
    readonly host: string | undefined;
    readonly json: boolean | undefined;
  },
): Promise<{ readonly closed: Promise<void> }> {
  const { port, host, json } = options;
  const { url } = await server.serveHttp({
    ...(port === undefined ? {} : { port }),
    ...(host === undefined ? {} : { host }),
  });
  terminal.out(
    json === true
      ? JSON.stringify({ url, tools })
      : `${paint(terminal, 'bold', url)}  ${tools} tools; Ctrl-C ends it`,
  );
  return { closed: new Promise<void>(() => undefined) };
}

/** The terminal holds standard output; messages are lines of it. */
function outputOf(terminal: Dialog): Writable {
  return new Writable({
    decodeStrings: false,
    write(lines: string | Buffer, _encoding, done) {
      terminal.out(lines.toString().replace(/\n$/, ''));
      done();
    },
  });
}
