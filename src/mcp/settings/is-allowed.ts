import { mcpToolName } from '../translate/mcp-tool-name.js';
import type { McpServerSettings, McpSettings } from './mcp-settings.js';

type Filters = Pick<McpSettings, 'allowTools' | 'denyTools'>;

/**
 * Whether a server's tool may be used, as the lists for all servers and for this one say.
 *
 * Any list that denies it wins. Every allow list there is must have it, and an empty one has nothing.
 *
 * Lists have the name at the server, or `mcp.<server>.<tool>`, also as it is registered. In the allow list for all servers
 * what begins with `mcp.` is always such a full name: a server could call its tool like that of another.
 *
 * @param toolName the name at the server.
 */
export function isAllowed(toolName: string, server: Filters & Pick<McpServerSettings, 'name'>, settings: Filters): boolean {
  const name = toolName.trim();
  const registered = mcpToolName(server.name, name);
  const own = 'name' in registered ? [registered.name] : [];
  const plain = ['mcp', server.name, name].filter((part) => part !== '').join('.');
  // Without the server's name `mcp.a.b` could be of the server `a`.
  const full = server.name === '' && name.includes('.') ? own : [...own, plain];
  const names = [name, plain, ...own];
  const has = (list: readonly string[], spellings: readonly string[]) => list.some((each) => spellings.includes(each));
  if (has(server.denyTools, names) || has(settings.denyTools, names)) return false;
  if (server.allowTools !== undefined && !has(server.allowTools, names)) return false;
  return settings.allowTools === undefined || has(settings.allowTools, name.startsWith('mcp.') ? full : [name, ...full]);
}
