import { existsSync } from 'node:fs';
import { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import { DefinitionPins } from '../../mcp/pins/definition-pins.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { Dialog } from '../terminal.js';
import type { LoadedRegistry } from './loaded-registry.js';
import { readMcpConfig } from './mcp-config.js';

/** What asks the servers of a settings file. With a lock file beside it, it holds back what was not approved. */
export async function openMcpDiscovery(file: string | undefined, terminal: Dialog, cwd: string): Promise<McpDiscovery> {
  const { settings, lock } = await readMcpConfig(file, terminal, cwd);
  return new McpDiscovery(settings, existsSync(lock) ? { pins: await DefinitionPins.load(lock) } : {});
}

/**
 * The tools that MCP servers offer now. With a lock file beside the settings only those that were approved.
 *
 * The servers stay open until the registry is closed, because their tools may be run; until then the registry follows
 * what they announce.
 *
 * @throws ToolError `INVALID_ARGUMENT` for settings or a lock file that are refused, `MISSING_PACKAGE`; a server that
 * cannot be asked, and a tool that is held back, are problems.
 */
export async function loadMcpTools(file: string, terminal: Dialog, cwd: string): Promise<LoadedRegistry> {
  const discovery = await openMcpDiscovery(file, terminal, cwd);
  const registry = new ToolMetadataRegistry();
  try {
    await discovery.refresh();
    registry.registerAll(discovery.definitions());
  } catch (error) {
    await discovery.close();
    throw error;
  }
  const stopFollowing = discovery.onChange(({ added, edited, removed }) => {
    for (const name of removed) registry.unregister(name);
    const come = new Set([...added, ...edited]);
    registry.registerAll(discovery.definitions().filter(({ name }) => come.has(name)), { replace: true });
  });
  const problems = discovery
    .findings()
    .filter(({ kind }) => kind === 'unreachable' || kind === 'quarantined')
    .map(({ server, tool, message }) => ({ file: tool === undefined ? server : `${server} ${tool}`, reason: message }));
  const fileOf = new Map(discovery.definitions().map(({ name, providers }) => [name, serverOf(providers?.[0]?.config?.['server'], file)]));
  return { registry, problems, fileOf, close: () => (stopFollowing(), discovery.close()) };
}

/** A server may have no name. */
function serverOf(server: unknown, file: string): string {
  return typeof server === 'string' && server !== '' ? server : file;
}
