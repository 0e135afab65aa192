import { Writable, type Readable } from 'node:stream';
import packageJson from '../../../../package.json' with { type: 'json' };
import { ToolError } from '../../../core/errors.js';
import { LOOPBACK_HOSTS } from '../../../host/addresses.js';
import { createMcpServer, type McpToolServer } from '../../../mcp/server/create-mcp-server.js';
import { executionOptionsOf, personaOf } from '../../options/execution-options.js';
import { limitTime } from '../../execute/limit-time.js';
import { policyOf } from '../../execute/with-executor.js';
import { EXIT } from '../../exit-codes.js';
import { filterOf } from '../../options/filter-options.js';
import type { LoadedRegistry } from '../../load/loaded-registry.js';
import { paint, type Dialog } from '../../terminal.js';

/** What is the process's own, and a test's otherwise. */
export interface McpServeWorld {
  readonly input: Readable;
  readonly env: NodeJS.ProcessEnv;
}

/** Where a token is looked for that is not to be seen in the list of processes. */
const TOKEN_VARIABLE = 'TOOLDEX_TOKEN';
const HTTP_OPTIONS = ['port', 'host', 'token', 'allowedHost'] as const;

/**
 * Serves tools over MCP until the client goes, or the person interrupts the program.
 *
 * On standard input and output, where nothing else is printed, or over HTTP with `--http`.
 *
 * @param options as the command line has them: `http`, `port`, `host`, `token`, `allowedHost`, `search`, those of running tools
 * (`yes`, `mode`, `timeout`), of filtering them, `persona` and `json`.
 */
export async function mcpServe(terminal: Dialog, { registry: loaded }: LoadedRegistry, options: Readonly<Record<string, unknown>>, world: McpServeWorld = { input: process.stdin, env: process.env }): Promise<number> {
  const { http, port, host, token = world.env[TOKEN_VARIABLE], allowedHost, search, json } = options as Partial<{ http: boolean; port: number; host: string; token: string; allowedHost: readonly string[]; search: boolean; json: boolean }>;
  const stray = http === true ? undefined : HTTP_OPTIONS.find((option) => options[option] !== undefined);
  if (stray !== undefined) throw new ToolError('INVALID_ARGUMENT', `expected --${stray === 'allowedHost' ? 'allowed-host' : stray} together with --http, found it alone`);
  const execution = executionOptionsOf(options);
  const registry = execution.timeoutMs === undefined ? loaded : limitTime(loaded, execution.timeoutMs);
  const server = createMcpServer(registry, {
    name: 'tooldex',
    version: packageJson.version,
    policy: policyOf(registry, execution),
    context: personaOf(options),
    filter: filterOf(options),
    onError: (error) => terminal.err(`${paint(terminal, 'yellow', 'fault')} ${error instanceof Error ? error.message : String(error)}`),
    ...(search === undefined ? {} : { search }),
    ...(http === true && token !== undefined ? { token } : {}), // An empty one, of a variable that is not set, is refused.
    ...(allowedHost === undefined ? {} : { allowedHosts: [...LOOPBACK_HOSTS, ...allowedHost] }),
  });
  let stopListening = (): void => undefined;
  const interrupted = new Promise<void>((resolve) => (stopListening = terminal.onInterrupt(resolve)));
  try {
    const { closed } = http === true ? await serveHttp(terminal, server, registry.size, { port, host, json }) : await server.serveStdio({ input: world.input, output: outputOf(terminal) });
    await Promise.race([closed, interrupted]);
  } finally {
    stopListening();
    await server.close();
  }
  return EXIT.ok;
}

async function serveHttp(terminal: Dialog, server: McpToolServer, tools: number, options: { readonly port: number | undefined; readonly host: string | undefined; readonly json: boolean | undefined }): Promise<{ readonly closed: Promise<void> }> {
  const { port, host, json } = options;
  const { url } = await server.serveHttp({ ...(port === undefined ? {} : { port }), ...(host === undefined ? {} : { host }) });
  terminal.out(json === true ? JSON.stringify({ url, tools }) : `${paint(terminal, 'bold', url)}  ${tools} tools; Ctrl-C ends it`);
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
