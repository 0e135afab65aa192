import { isPlainObject, mapValues } from '../../core/plain-data.js';

type Values = Readonly<Record<string, unknown>>;

/** A settings file, with its servers under the key `servers`. */
interface SettingsFile {
  readonly values: Values;
  /** True for a file of another program, which is enabled unless it says otherwise. */
  readonly isForeign: boolean;
}

/** The keys under which programs name their servers. */
export const CONTAINERS = ['mcpServers', 'servers', 'context_servers', 'mcp'];

/**
 * Finds the servers in a settings file, and converts what only one program writes in its own way.
 * Returns `undefined` if the file names no servers.
 *
 * | key | program |
 * |---|---|
 * | `mcpServers` | Claude, Cursor, Windsurf, Cline, Gemini and most others |
 * | `servers` | tooldex, or VS Code's mcp.json if no setting of tooldex is beside it |
 * | `context_servers` | Zed |
 * | `mcp.servers` | VS Code's settings.json, opencode 2 |
 * | `mcp` | opencode |
 *
 * @param isOwn Returns true for the name of a setting of this library.
 */
export function settingsFile(
  given: Values,
  isOwn: (key: string) => boolean,
): SettingsFile | undefined {
  const { mcp, ...rest } = given;
  for (const key of ['mcpServers', 'mcp_servers'])
    if (key in rest) {
      const { [key]: servers, ...others } = rest;
      return { values: { ...others, servers: chosen(servers, mcp) }, isForeign: true };
    }
  if ('servers' in rest) return { values: rest, isForeign: !Object.keys(rest).some(isOwn) };
  const { context_servers: ofZed, ...others } = rest;
  if (ofZed !== undefined)
    return { values: { ...others, servers: eachServer(ofZed, fromZed) }, isForeign: true };
  if (!isPlainObject(mcp)) return undefined;
  const servers = isPlainObject(mcp['servers']) ? mcp['servers'] : mcp;
  if (!Object.values(servers).some(isServer)) return undefined;
  return { values: { ...rest, servers: eachServer(servers, fromOpencode) }, isForeign: true };
}

const isServer = (value: unknown) =>
  isPlainObject(value) && ['command', 'url', 'type', 'enabled'].some((key) => key in value);

function eachServer(servers: unknown, read: (server: Values) => Values): unknown {
  return isPlainObject(servers)
    ? mapValues(servers, ([, server]) => (isPlainObject(server) ? read(server) : server))
    : servers;
}

/** Leaves out the servers that Gemini's lists of server names exclude. */
function chosen(servers: unknown, mcp: unknown): unknown {
  if (!isPlainObject(servers) || !isPlainObject(mcp)) return servers;
  const { allowed, excluded } = mcp;
  return Object.fromEntries(
    Object.entries(servers).filter(
      ([name]) =>
        (!Array.isArray(allowed) || allowed.includes(name)) &&
        (!Array.isArray(excluded) || !excluded.includes(name)),
    ),
  );
}

/** Older versions of Zed have an object as the command. */
function fromZed({ source: _, settings: __, command, ...server }: Values): Values {
  if (!isPlainObject(command)) return { ...server, ...(command !== undefined && { command }) };
  const { path, ...more } = command;
  return { ...server, command: path, ...more };
}

/** Converts opencode's times in milliseconds, and variables such as `{env:NAME}`. */
function fromOpencode(server: Values): Values {
  if (!['local', 'remote'].includes(String(server['type']))) return server;
  const { timeout, oauth, ...rest } = JSON.parse(JSON.stringify(server), (_, value: unknown) =>
    typeof value === 'string' ? value.replace(/(?<!\$)\{(env|file):/g, '${$1:') : value,
  ) as Values;
  const { request, startup } = isPlainObject(timeout) ? timeout : { request: timeout };
  return {
    ...rest,
    ...(isPlainObject(oauth) && { oauth }),
    ...(typeof request === 'number' && { timeout: request / 1_000 }),
    ...(typeof startup === 'number' && { startup_timeout: startup / 1_000 }),
  };
}
