import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import type { OnElicit } from '../../mcp/connection/elicitation.js';
import { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import { DEFAULT_LOCK_FILE, DefinitionPins } from '../../mcp/pins/definition-pins.js';
import type { McpSettings } from '../../mcp/settings/read-mcp-settings.js';
import { readMcpSettings } from '../../mcp/settings/read-mcp-settings.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { parseJsonc, readJsonFile } from './read-json.js';
import { paint, plainLine, type Dialog } from '../terminal/terminal.js';
import type { LoadedRegistry } from './load-registry.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** The files in which settings are looked for, as editors and other programs do. */
const CONFIG_FILES = ['.mcp.json', 'mcp.json'];

/** Settings of MCP servers, and the lock file that belongs to them: it lies beside them. */
export interface McpConfig {
  readonly settings: McpSettings;
  readonly lock: string;
}

/**
 * Reads the settings of MCP servers, of a file or of those that usually hold them.
 *
 * @throws ToolError `INVALID_ARGUMENT` when there is no file, or what is in it is refused or switched off.
 */
export async function readMcpConfig(
  file: string | undefined,
  terminal: Dialog,
  cwd: string,
): Promise<McpConfig> {
  const place = file ?? CONFIG_FILES.find((usual) => existsSync(resolve(cwd, usual)));
  if (place === undefined)
    throw wrongUsage(
      `settings of MCP in ${CONFIG_FILES.join(' or ')}`,
      'neither',
      'Name the file with --config.',
    );
  const settings = readMcpSettings(await readJsonFile(place, terminal, cwd, parseJsonc));
  if (!settings.enabled)
    throw wrongUsage(
      'settings of MCP that are enabled',
      'them switched off',
      'Set "enabled": true.',
    );
  return {
    settings,
    lock: join(place === '-' ? cwd : dirname(resolve(cwd, place)), DEFAULT_LOCK_FILE),
  };
}

/** Returns a discovery of the servers of a settings file. With a lock file beside it, it leaves out what was not approved. */
export async function openMcpDiscovery(
  file: string | undefined,
  terminal: Dialog,
  cwd: string,
  trustAutoApprove = false,
  onElicit?: OnElicit,
): Promise<McpDiscovery> {
  const { settings, lock } = await readMcpConfig(file, terminal, cwd);
  return new McpDiscovery(settings, {
    trustAutoApprove,
    ...(onElicit && { onElicit, elicitUrls: true }),
    ...(existsSync(lock) ? { pins: await DefinitionPins.load(lock) } : {}),
  });
}

/**
 * Loads the tools that MCP servers offer now. With a lock file beside the settings only those that were approved.
 *
 * The servers stay open until the registry is closed, because their tools may be run; until then the registry follows
 * what they announce.
 *
 * @param relays true where `relayTo` will say who answers the questions of servers.
 * @throws ToolError `INVALID_ARGUMENT` for settings or a lock file that are refused, `MISSING_PACKAGE`; a server that
 * cannot be asked, and a tool that is left out, are problems.
 */
export async function loadMcpTools(
  file: string,
  terminal: Dialog,
  cwd: string,
  trustAutoApprove?: boolean,
  relays = false,
): Promise<LoadedRegistry> {
  let relay: OnElicit = () => Promise.resolve({ action: 'cancel' });
  const onElicit: OnElicit = (...question) => relay(...question);
  const discovery = await openMcpDiscovery(
    file,
    terminal,
    cwd,
    trustAutoApprove,
    relays ? onElicit : undefined,
  );
  const registry = new ToolMetadataRegistry();
  try {
    await discovery.refresh();
  } catch (error) {
    await discovery.close();
    throw error;
  }
  const stopFollowing = discovery.follow(registry);
  for (const { kind, message } of discovery.findings())
    if (kind === 'settings')
      terminal.err(`${paint(terminal, 'yellow', kind)} ${plainLine(message)}`);
  const problems = discovery
    .findings()
    .filter(({ kind }) => kind === 'unreachable' || kind === 'quarantined')
    .map(({ server, tool, message }) => ({
      file: tool === undefined ? server : `${server} ${tool}`,
      reason: message,
    }));
  const fileOf = new Map(
    discovery
      .definitions()
      .map(({ name, providers }) => [name, serverOf(providers?.[0]?.config?.['server'], file)]),
  );
  return {
    registry,
    problems,
    fileOf,
    ...(relays && { relayTo: (to: OnElicit) => void (relay = to) }),
    complete: (definition) => discovery.complete(definition),
    close: () => (stopFollowing(), discovery.close()),
  };
}

/** A server may have no name. */
function serverOf(server: unknown, file: string): string {
  return typeof server === 'string' && server !== '' ? server : file;
}
