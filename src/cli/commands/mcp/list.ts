import type { McpServerStatus } from '../../../mcp/discovery/server-status.js';
import { ToolMetadataRegistry } from '../../../registry/tool-metadata-registry.js';
import { EXIT } from '../../exit-codes.js';
import { openMcpDiscovery } from '../../load/load-mcp-tools.js';
import { plainJson, plainLine } from '../../plain-text.js';
import { table } from '../../table.js';
import { paint, type Dialog } from '../../terminal.js';

/** Shows how it stands with every server of the settings, and what it offers. @returns 1 when a server cannot be asked. */
export async function mcpList(terminal: Dialog, options: Readonly<Record<string, unknown>>, cwd: string): Promise<number> {
  const { config, json } = options as { readonly config?: string; readonly json?: boolean };
  const discovery = await openMcpDiscovery(config, terminal, cwd);
  const stopListening = terminal.onInterrupt(() => void discovery.close());
  try {
    await discovery.refresh();
    const servers = discovery.status();
    const registry = new ToolMetadataRegistry();
    registry.registerAll(discovery.definitions());
    const tools = [...registry].map(({ name, description, accessMode, dangerLevel, requiresConsent, providers }) => ({ name, server: providers[0]?.config?.['server'], description, accessMode, dangerLevel, requiresConsent }));
    if (json === true) terminal.out(plainJson({ servers, tools, findings: discovery.findings() }, 2));
    else {
      terminal.out(
        table(terminal, servers, [
          { title: 'SERVER', value: ({ server }) => server, style: () => 'bold' },
          { title: 'STATE', value: ({ state }) => state, style: ({ state }) => (state === 'ready' ? 'green' : 'red') },
          { title: 'PROTOCOL', value: ({ era }) => era ?? '', narrow: 'drop' },
          { title: 'TOOLS', value: ({ tools: count }) => String(count), align: 'right' },
          { title: 'REASON', value: reasonOf, narrow: 'wrap' },
        ]),
      );
      if (tools.length > 0) {
        terminal.out('');
        terminal.out(
          table(terminal, tools, [
            { title: 'TOOL', value: ({ name }) => name, style: () => 'bold' },
            { title: 'DANGER', value: ({ dangerLevel }) => dangerLevel },
            { title: 'CONSENT', value: ({ requiresConsent }) => (requiresConsent ? 'yes' : 'no'), narrow: 'drop' },
            { title: 'DESCRIPTION', value: ({ description }) => description, narrow: 'wrap' },
          ]),
        );
      }
      for (const { kind, server, tool, message } of discovery.findings()) if (kind !== 'unreachable') terminal.err(`${paint(terminal, 'yellow', kind)} ${plainLine(tool === undefined ? server : `${server} ${tool}`)}  ${plainLine(message)}`);
    }
    return servers.every(({ state }) => state === 'ready' || state === 'stale') ? EXIT.ok : EXIT.findings;
  } finally {
    stopListening();
    await discovery.close();
  }
}

function reasonOf(server: McpServerStatus): string {
  return server.state === 'failed' || server.state === 'backing-off' ? plainLine(server.reason) : '';
}
