import type { Command } from 'commander';
import { isPlainObject } from '../../core/plain-data.js';
import type { McpServerStatus } from '../../mcp/discovery/discovery-options.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { openMcpDiscovery } from '../load/load-mcp-tools.js';
import type { CommandHost, CommandOptions } from '../load/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { LONGEST_LINE, table } from '../terminal/table.js';
import { paint, plainJson, plainLine, type Dialog } from '../terminal/terminal.js';
import { CONFIG_OPTION, configOf } from './mcp-pins.js';

/** A tool as its server describes it, and as it counts here. */
interface ListedTool {
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  readonly description: string;
  readonly accessMode: string;
  readonly dangerLevel: string;
  readonly requiresConsent: boolean;
  /** The server's own hints on the tool; they loosen nothing. */
  readonly hints: Readonly<Record<string, boolean>>;
}

/** Adds `tooldex mcp list`. */
export function defineList(mcp: Command, { terminal, cwd, alone }: CommandHost): void {
  const list = mcp
    .command('list')
    .description('the servers of a settings file, the tools they offer now, and settings for these')
    .option(...CONFIG_OPTION);
  alone(list, ['mcp list', 'mcp list --config servers.json --json'], (options) =>
    mcpList(terminal, options, cwd),
  );
}

/** Shows the state of every server of the settings, and what it offers. @returns 1 when a server cannot be asked. */
async function mcpList(terminal: Dialog, options: CommandOptions, cwd: string): Promise<number> {
  const config = configOf(options);
  const discovery = await openMcpDiscovery(config, terminal, cwd, options.trustAutoApprove);
  const stopListening = terminal.onInterrupt(() => void discovery.close());
  try {
    await discovery.refresh();
    const servers = discovery.status();
    const registry = new ToolMetadataRegistry();
    registry.registerAll(discovery.definitions());
    const tools = [...registry].map(listedTool);
    const findings = discovery.findings();
    const suggested = suggestedTools(tools);
    if (options.json === true) terminal.out(plainJson({ servers, tools, findings, suggested }, 2));
    else {
      showServers(terminal, servers);
      if (tools.length > 0) showTools(terminal, tools);
      for (const [server, settings] of Object.entries(suggested))
        terminal.out(
          `\nBy its hints, ${plainLine(server)} may have these settings. Review each line before you copy it:\n${suggestionText(settings)}`,
        );
      for (const { kind, server, tool, message } of findings)
        if (kind !== 'unreachable')
          terminal.err(
            `${paint(terminal, 'yellow', kind)} ${plainLine(tool === undefined ? server : `${server} ${tool}`)}  ${plainLine(message)}`,
          );
    }
    return servers.every(({ state }) => state === 'ready' || state === 'stale')
      ? EXIT.ok
      : EXIT.findings;
  } finally {
    stopListening();
    await discovery.close();
  }
}

function listedTool(entry: ToolEntry): ListedTool {
  const { name, description, accessMode, dangerLevel, requiresConsent, providers } = entry;
  const { server, tool } = (providers[0]?.config ?? {}) as { server: string; tool: string };
  const mcp = entry.metadata?.['mcp'];
  const hints = (isPlainObject(mcp) ? (mcp['annotations'] ?? {}) : {}) as ListedTool['hints'];
  return { name, server, tool, description, accessMode, dangerLevel, requiresConsent, hints };
}

/** Returns settings by server and tool that say what hints say, for tools that need consent now. */
function suggestedTools(
  tools: readonly ListedTool[],
): Readonly<Record<string, Readonly<Record<string, object>>>> {
  const suggested: Record<string, Record<string, object>> = {};
  for (const { server, tool, hints, requiresConsent } of tools) {
    const settings = suggestionOf(hints);
    if (requiresConsent && settings !== undefined) (suggested[server] ??= {})[tool] = settings;
  }
  return suggested;
}

function suggestionOf({ readOnlyHint, destructiveHint }: ListedTool['hints']): object | undefined {
  if (readOnlyHint === true) return { access: 'readonly', consent: false };
  if (destructiveHint === true) return { access: 'write', danger: 'high' };
  if (destructiveHint === false) return { access: 'write', danger: 'medium' };
  return undefined;
}

/** Returns settings as they stand in the file, a line for each tool. */
function suggestionText(settings: Readonly<Record<string, object>>): string {
  const lines = Object.entries(settings).map(
    ([tool, setting]) => `  ${plainJson(tool)}: ${plainJson(setting)}`,
  );
  return `"tools": {\n${lines.join(',\n')}\n}`;
}

function showServers(terminal: Dialog, servers: readonly McpServerStatus[]): void {
  terminal.out(
    table(terminal, servers, [
      { title: 'SERVER', value: ({ server }) => server, style: () => 'bold' },
      {
        title: 'STATE',
        value: ({ state }) => state,
        style: ({ state }) => (state === 'ready' ? 'green' : 'red'),
      },
      { title: 'PROTOCOL', value: ({ era }) => era ?? '', narrow: 'drop' },
      { title: 'TOOLS', value: ({ tools }) => String(tools), align: 'right' },
      { title: 'REASON', value: reasonOf, narrow: 'wrap' },
    ]),
  );
}

/** Returns why a server has failed, with the last line that its process wrote to stderr. */
function reasonOf(server: McpServerStatus): string {
  if (server.state !== 'failed' && server.state !== 'backing-off') return '';
  const lastLine = server.stderr?.trimEnd().split('\n').at(-1);
  return plainLine(
    lastLine === undefined ? server.reason : `${server.reason}; its stderr ends with: ${lastLine}`,
  );
}

function showTools(terminal: Dialog, tools: readonly ListedTool[]): void {
  terminal.out('');
  terminal.out(
    table(terminal, tools, [
      { title: 'TOOL', value: ({ name }) => name, style: () => 'bold' },
      { title: 'DANGER', value: ({ dangerLevel }) => dangerLevel },
      {
        title: 'CONSENT',
        value: ({ requiresConsent }) => (requiresConsent ? 'yes' : 'no'),
        narrow: 'drop',
      },
      { title: 'HINTS', value: ({ hints }) => hintsText(hints), narrow: 'drop' },
      { title: 'DESCRIPTION', value: ({ description }) => cut(description), narrow: 'wrap' },
    ]),
  );
}

function hintsText(hints: ListedTool['hints']): string {
  return Object.entries(hints)
    .map(([hint, isSo]) => `${isSo ? '' : 'not '}${hint.replace(/Hint$/, '')}`)
    .join(', ');
}

function cut(description: string): string {
  const line = plainLine(description);
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
}
