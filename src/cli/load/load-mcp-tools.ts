import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DEFAULT_LOCK_FILE, DefinitionPins } from '../../mcp/pins/definition-pins.js';
import { McpDiscovery } from '../../mcp/discovery/mcp-discovery.js';
import { readMcpSettings, type McpSettings } from '../../mcp/settings/read-mcp-settings.js';
import type { OnElicit } from '../../mcp/connection/elicitation.js';
import { textOption, type Options } from '../command/options.js';
import { report, type Dialog } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import type { LoadedTools } from '../../load/load-tools.js';
import { settingsFor } from './settings.js';
import { parseJsonc, readJsonFile } from './read-json.js';

/** Settings files that editors and other programs use. */
const CONFIG_FILES = ['.mcp.json', 'mcp.json'];

/** Options for commands about MCP servers. */
export const CONFIG_OPTIONS = {
  config: textOption(
    '<file>',
    `the settings of MCP servers (default: mcp in tooldex.config.json, or else ${CONFIG_FILES.join(' or ')})`,
  ),
  mcp: textOption('<file>', 'the same as --config', { excludes: ['config'] }),
} satisfies Options;

/** The location of MCP server settings. */
interface ConfigPlace {
  readonly terminal: Dialog;
  readonly cwd: string;
  readonly options: { readonly config?: string | undefined; readonly mcp?: string | undefined };
}

/**
 * Reads the settings of MCP servers from the given file, the one that `tooldex.config.json` names, or
 * the default files. The lock file is in the same folder.
 *
 * @throws ToolError `INVALID_ARGUMENT` if there is no file, its content is invalid, or MCP is
 * disabled.
 */
export async function readMcpConfig({
  terminal,
  cwd,
  options: { config, mcp },
}: ConfigPlace): Promise<{ readonly settings: McpSettings; readonly lock: string }> {
  const file =
    config ??
    mcp ??
    (await settingsFor(cwd)).places.mcp ??
    CONFIG_FILES.find((usual) => existsSync(resolve(cwd, usual)));
  if (file === undefined)
    throw wrongUsage(
      `There are no MCP settings in ${CONFIG_FILES.join(' or ')}. Pass the file with --config, or name it as "mcp" in tooldex.config.json.`,
    );
  const settings = readMcpSettings(await readJsonFile(file, terminal, cwd, parseJsonc));
  if (!settings.enabled)
    throw wrongUsage(`The MCP settings in ${file} are disabled. Set "enabled": true.`);
  const folder = file === '-' ? cwd : dirname(resolve(cwd, file));
  return { settings, lock: join(folder, DEFAULT_LOCK_FILE) };
}

/**
 * Returns a discovery for the servers in a settings file. If there is a lock file, the discovery
 * finds only approved tools.
 */
export async function openMcpDiscovery(
  place: ConfigPlace,
  onElicit?: OnElicit,
): Promise<McpDiscovery> {
  const { settings, lock } = await readMcpConfig(place);
  return new McpDiscovery(settings, {
    ...(onElicit && { onElicit, elicitUrls: true }),
    ...(existsSync(lock) && { pins: await DefinitionPins.load(lock) }),
  });
}

/**
 * Loads the tools that MCP servers currently offer. The servers stay open until the discovery is
 * closed.
 *
 * @throws ToolError `INVALID_ARGUMENT` for invalid settings or an invalid lock file,
 * `MISSING_PACKAGE`. Servers that don't respond and tools that are skipped are reported as
 * problems.
 */
export async function loadMcpTools(
  place: ConfigPlace,
  onElicit: OnElicit | undefined,
): Promise<LoadedTools & { readonly discovery: McpDiscovery }> {
  const discovery = await openMcpDiscovery(place, onElicit);
  try {
    await discovery.refresh();
  } catch (error) {
    await discovery.close();
    throw error;
  }
  const findings = discovery.findings();
  for (const { kind, message } of findings)
    if (kind === 'settings') report(place.terminal, 'yellow', kind, message);
  const problems = findings
    .filter(({ kind }) => kind === 'unreachable' || kind === 'quarantined')
    .map(({ server, tool = '', message }) => ({
      file: `${server} ${tool}`.trim(),
      reason: message,
    }));
  return { discovery, tools: discovery.definitions(), problems, fileOf: new Map() };
}
