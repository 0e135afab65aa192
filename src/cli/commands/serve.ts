import { relative, resolve } from 'node:path';
import { CapabilityRegistry, type CapabilityChange } from '../../capability/capability-registry.js';
import { ToolError } from '../../core/errors.js';
import { LOOPBACK_HOSTS } from '../../host/addresses.js';
import { serve } from '../../http/serve.js';
import type { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import { EXIT } from '../exit-codes.js';
import type { ImportOptions } from '../load/import-modules.js';
import { loadRegistry } from '../load/load-registry.js';
import { plainLine } from '../plain-text.js';
import { paint, type Dialog } from '../terminal.js';

/** What `tooldex serve` is told. */
export interface ServeCommandOptions {
  readonly tools?: readonly string[];
  readonly manifests?: string;
  readonly mcp?: string;
  readonly persona?: string;
  readonly port?: number;
  readonly host?: string;
  readonly token?: string;
  readonly allowedHost?: readonly string[];
  readonly json?: boolean;
}

/** Where a token is looked for that is not to be seen in the list of processes. */
const TOKEN_VARIABLE = 'TOOLDEX_TOKEN';

async function discoveryOf(file: string, terminal: Dialog, cwd: string): Promise<McpDiscovery> {
  const { openMcpDiscovery } = await import('../load/load-mcp-tools.js');
  return openMcpDiscovery(file, terminal, cwd);
}

/** Serves the catalogue until the person interrupts the program; manifests are watched meanwhile. */
export async function serveCatalogue(terminal: Dialog, options: ServeCommandOptions, cwd: string, importOptions: ImportOptions, env: NodeJS.ProcessEnv = process.env): Promise<number> {
  const { tools: patterns, manifests, mcp, persona, port, host, token = env[TOKEN_VARIABLE], allowedHost, json } = options;
  if (persona !== undefined) throw new ToolError('INVALID_ARGUMENT', 'expected serve without --persona, found it; each request asks for its own, as /tools?persona=Atlas');
  const code = (manifests !== undefined || mcp !== undefined) && patterns === undefined ? undefined : await loadRegistry({ patterns }, cwd, importOptions);
  for (const { file, reason } of code?.problems ?? []) terminal.err(`${paint(terminal, 'red', 'not loaded')} ${plainLine(`${file}: ${reason}`)}`);
  const definitions = code === undefined ? [] : [...code.registry].map(({ definition }) => definition);
  const discovery = mcp === undefined ? undefined : await discoveryOf(mcp, terminal, cwd);
  const capabilities = await CapabilityRegistry.load({ tools: definitions, env, ...(manifests === undefined ? {} : { root: resolve(cwd, manifests) }), ...(discovery && { sources: discovery.sources() }) });

  const running = await serve(capabilities, {
    ...(port === undefined ? {} : { port }),
    ...(host === undefined ? {} : { host }),
    ...(token === undefined ? {} : { token }), // An empty one, of a variable that is not set, is refused.
    ...(allowedHost === undefined ? {} : { allowedHosts: [...LOOPBACK_HOSTS, ...allowedHost] }),
  });
  const stopWatching = manifests === undefined && mcp === undefined ? () => {} : capabilities.watch();
  const stopTelling = capabilities.onChange((change) => terminal.err(changeLine(change, capabilities.findings.length)));
  try {
    const counts = { url: running.url, tools: capabilities.tools().length, findings: capabilities.findings.length };
    if (json === true) terminal.out(JSON.stringify(counts));
    else {
      const watched = manifests === undefined ? '' : `, watching ${relative(cwd, resolve(cwd, manifests)) || '.'}`;
      terminal.out(`${paint(terminal, 'bold', running.url)}  ${counts.tools} tools, ${counts.findings} findings${watched}; Ctrl-C ends it`);
    }
    await new Promise<void>((resolve) => {
      const stop = terminal.onInterrupt(() => {
        stop();
        resolve();
      });
    });
  } finally {
    stopTelling();
    stopWatching();
    await running.close();
    await discovery?.close();
  }
  return EXIT.ok;
}

function changeLine({ revision, added, edited, removed }: CapabilityChange, findings: number): string {
  return `revision ${revision}: ${added.length} added, ${edited.length} edited, ${removed.length} removed; ${findings} findings`;
}
