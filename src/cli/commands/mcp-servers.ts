import { spawn } from 'node:child_process';
import { onAbort } from '../../core/listeners.js';
import { isPlainObject } from '../../core/plain-data.js';
import { errorLineOf } from '../../mcp/connection/server-answers.js';
import type { McpServerStatus } from '../../mcp/discovery/discovery-options.js';
import type { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import { entryOf, type ToolDefinition } from '../../tool/tool-definition.js';
import { command, print, type Context } from '../command/command.js';
import { cut } from '../execute/show-calls.js';
import { CONFIG_OPTIONS, openMcpDiscovery } from '../load/load-mcp-tools.js';
import type { OptionValues } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { amountOf, LONGEST_LINE, table, type Row } from '../terminal/table.js';
import {
  interruptible,
  paint,
  plainJson,
  plainLine,
  report,
  seenText,
  type Terminal,
} from '../terminal/terminal.js';

type Hints = Readonly<Record<string, boolean>>;

/**
 * Runs `work` with the servers in a settings file, until the work is done or the user presses
 * Ctrl-C.
 */
function withServers(
  context: Context<OptionValues<typeof CONFIG_OPTIONS>>,
  work: (discovery: McpDiscovery, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  return interruptible(context.terminal, async (signal) => {
    const discovery = await openMcpDiscovery(context);
    const stop = onAbort(signal, () => void discovery.close());
    try {
      return await work(discovery, signal);
    } catch (error) {
      if (signal.aborted) return EXIT.interrupted;
      throw error;
    } finally {
      stop();
      await discovery.close();
    }
  });
}

export const commands = {
  'mcp list': command({
    options: CONFIG_OPTIONS,
    examples: ['mcp list', 'mcp list --config servers.json --json'],
    run: (context) =>
      withServers(context, async (discovery) => {
        await discovery.refresh();
        const listed = listingOf(discovery);
        const { servers, findings } = listed;
        print(context, listed, () => listingLines(context.terminal, listed));
        if (!context.options.json)
          for (const { kind, server, tool = '', message } of findings)
            if (kind !== 'unreachable')
              report(context.terminal, 'yellow', kind, `${server} ${tool}: ${message}`);
        const isUsable = servers.every(({ state }) => state === 'ready' || state === 'stale');
        const isRefused = servers.length === 0 && findings.length > 0;
        return isUsable && !isRefused ? EXIT.ok : EXIT.findings;
      }),
  }),

  'mcp login': command({
    options: CONFIG_OPTIONS,
    examples: ['mcp login tickets'],
    run: (context) =>
      withServers(context, async (discovery, signal) => {
        const { terminal, words } = context;
        const server = words[0]!;
        await discovery.login(server, {
          signal,
          open: (address) => {
            const origin = paint('bold', seenText(new URL(address).origin));
            terminal.err(`Log in at ${origin}:\n${seenText(address)}`);
            if (terminal.interactive) openBrowser(address);
          },
        });
        const status = discovery.status().find((each) => each.server === server)!;
        if ('reason' in status) {
          report(terminal, 'red', '✗', plainLine(status.reason));
          return EXIT.findings;
        }
        const count = amountOf(status.tools, 'tool');
        terminal.out(`${paint('green', '✓')} logged in to ${server}, ${count}`);
        return EXIT.ok;
      }),
  }),

  'mcp logout': command({
    options: CONFIG_OPTIONS,
    examples: ['mcp logout tickets'],
    run: (context) =>
      withServers(context, async (discovery) => {
        const [server] = context.words;
        await discovery.logout(server);
        context.terminal.out(`${paint('green', '✓')} logged out of ${server}`);
        return EXIT.ok;
      }),
  }),
};

function listingOf(discovery: McpDiscovery) {
  const tools = discovery.definitions().map(listedTool);
  const suggested = suggestedTools(tools);
  return { servers: discovery.status(), tools, findings: discovery.findings(), suggested };
}

function* listingLines(
  terminal: Terminal,
  { servers, tools, suggested }: ReturnType<typeof listingOf>,
): Generator<string> {
  yield table(terminal, servers.map(serverRow));
  yield `\n${table(terminal, tools.map(toolRow))}`;
  for (const [server, settings] of Object.entries(suggested)) {
    const lines: string[] = [];
    for (const [tool, setting] of Object.entries(settings))
      lines.push(`  ${plainJson(tool)}: ${plainJson(setting)}`);
    yield `\nBased on the hints from ${plainLine(server)}, you could add these settings. Review each line before you copy it:`;
    yield `"tools": {\n${lines.join(',\n')}\n}`;
  }
}

function serverRow(status: McpServerStatus): Row {
  const { server, state, tools } = status;
  const style = state === 'ready' ? 'green' : 'red';
  return { SERVER: server, STATE: [state, style], TOOLS: tools, REASON: reasonOf(status) };
}

function toolRow(tool: ReturnType<typeof listedTool>): Row {
  return {
    TOOL: tool.name,
    DANGER: tool.dangerLevel,
    CONSENT: tool.requiresConsent ? 'yes' : 'no',
    DESCRIPTION: cut(tool.description, LONGEST_LINE),
  };
}

/**
 * Returns a tool as its server describes it, and the settings that tooldex applies. The server's
 * hints never relax a restriction.
 */
function listedTool(definition: ToolDefinition) {
  const { name, description, accessMode, dangerLevel, requiresConsent, ...entry } =
    entryOf(definition);
  const { server, tool } = entry.providers[0]!.config as { server: string; tool: string };
  const mcp = entry.metadata?.['mcp'];
  const hints = (isPlainObject(mcp) ? (mcp['annotations'] ?? {}) : {}) as Hints;
  return { name, server, tool, description, accessMode, dangerLevel, requiresConsent, hints };
}

/**
 * Returns the settings that hints suggest, by server and tool, for tools that currently need
 * consent.
 */
function suggestedTools(tools: readonly ReturnType<typeof listedTool>[]) {
  const suggested: Record<string, Record<string, object>> = {};
  for (const { server, tool, hints, requiresConsent } of tools) {
    const { readOnlyHint, destructiveHint } = hints;
    const settings = readOnlyHint
      ? { access: 'readonly', consent: false }
      : destructiveHint !== undefined && {
          access: 'write',
          danger: destructiveHint ? 'high' : 'medium',
        };
    if (requiresConsent && settings !== false) (suggested[server] ??= {})[tool] = settings;
  }
  return suggested;
}

/**
 * Returns the reason why a server failed, including the error that its process wrote to stderr.
 */
function reasonOf(server: McpServerStatus): string {
  if (server.state === 'stale') return 'its tools may have changed since they were listed';
  if (!('reason' in server)) return '';
  const line = errorLineOf(server.stderr ?? '');
  return line === '' ? server.reason : `${server.reason}; its stderr says: ${line}`;
}

/**
 * Programs that open a URL, by platform. The URL is passed as a separate argument, which no shell
 * parses.
 */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/**
 * Tries to open the user's browser. If the browser doesn't open, the user can still use the printed
 * address.
 */
function openBrowser(address: string): void {
  const [opener, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(opener, [...args, address], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
