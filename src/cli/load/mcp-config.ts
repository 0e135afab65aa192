import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ToolError } from '../../core/errors.js';
import { DEFAULT_LOCK_FILE } from '../../mcp/pins/definition-pins.js';
import type { McpSettings } from '../../mcp/settings/mcp-settings.js';
import { readMcpSettings } from '../../mcp/settings/read-mcp-settings.js';
import { readJsonFile } from '../execute/read-json.js';
import type { Dialog } from '../terminal.js';

/** Where the settings are looked for, as editors and other programs do. */
const CONFIG_FILES = ['.mcp.json', 'mcp.json'];

/** Settings of MCP servers, and the lock file that belongs to them: it lies beside them. */
export interface McpConfig {
  readonly settings: McpSettings;
  readonly lock: string;
}

/**
 * The settings of MCP servers, of a file or of those that usually hold them.
 *
 * @throws ToolError `INVALID_ARGUMENT` when there is no file, or what is in it is refused or switched off.
 */
export async function readMcpConfig(file: string | undefined, terminal: Dialog, cwd: string): Promise<McpConfig> {
  const found = file ?? CONFIG_FILES.find((usual) => existsSync(resolve(cwd, usual)));
  if (found === undefined) throw new ToolError('INVALID_ARGUMENT', `expected settings of MCP in ${CONFIG_FILES.join(' or ')}, found neither; name the file with --config`);
  const settings = readMcpSettings(await readJsonFile(found, terminal, cwd));
  if (!settings.enabled) throw new ToolError('INVALID_ARGUMENT', 'expected settings of MCP that are enabled, found them switched off; set "enabled": true');
  return { settings, lock: join(found === '-' ? cwd : dirname(resolve(cwd, found)), DEFAULT_LOCK_FILE) };
}
