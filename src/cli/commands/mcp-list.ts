import { isPlainObject } from '../../core/plain-data.js';
import type { McpServerStatus } from '../../mcp/discovery/discovery-options.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { command, print } from '../command/command.js';
import { cut } from '../execute/show-calls.js';
import { CONFIG_OPTIONS, openMcpDiscovery } from '../load/load-mcp-tools.js';
import { TOOL_OPTIONS } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { LONGEST_LINE, table } from '../terminal/table.js';
import { paint, plainJson, plainLine } from '../terminal/terminal.js';

type Hints = Readonly<Record<string, boolean>>;

export const mcpList = command({
  options: {
    ...CONFIG_OPTIONS,
    trustAutoApprove: { ...TOOL_OPTIONS.trustAutoApprove, needs: ['config', 'mcp'] },
  },
  examples: ['mcp list', 'mcp list --config servers.json --json'],
  run: async (context) => {
    const { terminal, options } = context;
    const discovery = await openMcpDiscovery(context, options.trustAutoApprove);
    const stopListening = terminal.onInterrupt(() => void discovery.close());
    try {
      await discovery.refresh();
      const servers = discovery.status();
      const registry = new ToolMetadataRegistry();
      registry.registerAll(discovery.definitions());
      const tools = [...registry].map(listedTool);
      const findings = discovery.findings();
      const suggested = suggestedTools(tools);
      print(context, { servers, tools, findings, suggested }, function* () {
        yield table(
          terminal,
          servers.map((status) => ({
            SERVER: [status.server, 'bold'],
            STATE: [status.state, status.state === 'ready' ? 'green' : 'red'],
            PROTOCOL: status.era ?? '',
            TOOLS: String(status.tools),
            REASON: reasonOf(status),
          })),
          ['PROTOCOL'],
        );
        if (tools.length > 0) {
          yield '';
          yield table(
            terminal,
            tools.map(({ name, dangerLevel, requiresConsent, hints, description }) => ({
              TOOL: [name, 'bold'],
              DANGER: dangerLevel,
              CONSENT: requiresConsent ? 'yes' : 'no',
              HINTS: Object.entries(hints)
                .map(([hint, isSo]) => `${isSo ? '' : 'not '}${hint.replace(/Hint$/, '')}`)
                .join(', '),
              DESCRIPTION: cut(description, LONGEST_LINE),
            })),
            ['HINTS', 'CONSENT'],
          );
        }
        for (const [server, settings] of Object.entries(suggested)) {
          const lines = Object.entries(settings).map(
            ([tool, setting]) => `  ${plainJson(tool)}: ${plainJson(setting)}`,
          );
          yield `\nThe hints of ${plainLine(server)} suggest these settings. Review each line before you copy it:`;
          yield `"tools": {\n${lines.join(',\n')}\n}`;
        }
      });
      if (!options.json)
        for (const { kind, server, tool, message } of findings)
          if (kind !== 'unreachable') {
            const who = plainLine(tool === undefined ? server : `${server} ${tool}`);
            terminal.err(`${paint(terminal, 'yellow', kind)} ${who}  ${plainLine(message)}`);
          }
      const isUsable = servers.every(({ state }) => state === 'ready' || state === 'stale');
      return isUsable ? EXIT.ok : EXIT.findings;
    } finally {
      stopListening();
      await discovery.close();
    }
  },
});

/** Returns a tool as its server describes it, and as tooldex treats it. The server's hints loosen nothing. */
function listedTool(entry: ToolEntry) {
  const { name, description, accessMode, dangerLevel, requiresConsent, providers } = entry;
  const { server, tool } = (providers[0]?.config ?? {}) as { server: string; tool: string };
  const mcp = entry.metadata?.['mcp'];
  const hints = (isPlainObject(mcp) ? (mcp['annotations'] ?? {}) : {}) as Hints;
  return { name, server, tool, description, accessMode, dangerLevel, requiresConsent, hints };
}

/** Returns the settings that hints suggest, by server and tool, for tools that need consent now. */
function suggestedTools(tools: readonly ReturnType<typeof listedTool>[]) {
  const suggested: Record<string, Record<string, object>> = {};
  for (const { server, tool, hints, requiresConsent } of tools) {
    const settings = suggestionOf(hints);
    if (requiresConsent && settings !== undefined) (suggested[server] ??= {})[tool] = settings;
  }
  return suggested;
}

function suggestionOf({ readOnlyHint, destructiveHint }: Hints): object | undefined {
  if (readOnlyHint === true) return { access: 'readonly', consent: false };
  if (destructiveHint === true) return { access: 'write', danger: 'high' };
  if (destructiveHint === false) return { access: 'write', danger: 'medium' };
  return undefined;
}

/** Returns why a server failed, with the last line that its process wrote to stderr. */
function reasonOf(server: McpServerStatus): string {
  if (server.state !== 'failed' && server.state !== 'backing-off') return '';
  const lastLine = server.stderr?.trimEnd().split('\n').at(-1);
  return lastLine === undefined
    ? server.reason
    : `${server.reason}; the last line of its stderr: ${lastLine}`;
}
