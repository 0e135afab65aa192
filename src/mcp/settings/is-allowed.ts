import type { McpServerSettings, McpSettings } from './mcp-settings.js';

type Filters = Pick<McpSettings, 'allowTools' | 'denyTools'>;

/**
 * Whether a server's tool may be used, as the lists for all servers and for this one say.
 *
 * Any list that denies it wins. Every allow list there is must have it, and an empty one has nothing.
 *
 * @param toolName the name at the server; lists may also write `mcp.<server>.<tool>`.
 */
export function isAllowed(toolName: string, server: Filters & Pick<McpServerSettings, 'name'>, settings: Filters): boolean {
  const name = toolName.trim();
  const names = [name, ['mcp', server.name, name].filter((part) => part !== '').join('.')];
  const has = (list: readonly string[]) => list.some((each) => names.includes(each));
  return [server, settings].every(({ allowTools, denyTools }) => !has(denyTools) && (allowTools === undefined || has(allowTools)));
}
