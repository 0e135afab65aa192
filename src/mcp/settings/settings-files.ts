import { invalidArgument, refusal } from '../../core/issues.js';
import { isPlainObject, mapValues } from '../../core/plain-data.js';

export type InputValues = Readonly<Record<string, unknown>>;

/** A settings file, with its servers under the key `servers`. */
interface SettingsFile {
  readonly written: InputValues;
  /** True for a file of another program, which is enabled unless it says otherwise. */
  readonly isForeign: boolean;
}

/** The keys under which programs name their servers. */
const CONTAINERS = ['mcpServers', 'servers', 'context_servers', 'mcp'];

/**
 * Finds the servers in a settings file, and converts what only one program writes in its own way.
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
 * @throws ToolError `INVALID_ARGUMENT` if the file contains something else.
 */
export function serversIn(input: unknown, isOwn: (key: string) => boolean): SettingsFile {
  if (!isPlainObject(input)) throw invalidArgument('MCP settings as an object', input);
  const { mcp, mcpServers, mcp_servers: alias, context_servers: ofZed, ...rest } = input;
  const ofMost = mcpServers ?? alias;
  const foreign = (servers: unknown) => ({ written: { ...rest, servers }, isForeign: true });
  if (ofMost !== undefined) return foreign(chosen(ofMost, mcp));
  if (rest['servers'] !== undefined)
    return {
      written: rest,
      isForeign: !Object.keys(rest).some(
        (key) => key !== 'servers' && key !== 'inputs' && isOwn(key),
      ),
    };
  if (ofZed !== undefined) return foreign(eachServer(ofZed, fromZed));
  const own = isPlainObject(mcp) ? (mcp['servers'] ?? mcp) : {};
  if (Object.values(own).some(isServer)) return foreign(eachServer(own, fromOpencode));
  const found = Object.keys(input).filter((key) => !isOwn(key));
  if (found.length === 0) return { written: input, isForeign: false };
  throw refusal('Invalid MCP settings', [
    {
      path: [],
      message: `No servers are named here. Expected one of ${quoted(CONTAINERS)}, found ${quoted(found.slice(0, 10))}.`,
    },
  ]);
}

const quoted = (keys: readonly string[]) => keys.map((key) => JSON.stringify(key)).join(', ');

const isServer = (value: unknown) =>
  isPlainObject(value) && ['command', 'url', 'type', 'enabled'].some((key) => key in value);

function eachServer(servers: unknown, read: (server: InputValues) => InputValues): unknown {
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
function fromZed({ source: _, settings: __, command, ...server }: InputValues): InputValues {
  if (!isPlainObject(command)) return { ...server, ...(command !== undefined && { command }) };
  const { path, ...more } = command;
  return { ...server, command: path, ...more };
}

/** Converts opencode's times in milliseconds, and variables such as `{env:NAME}`. */
function fromOpencode(server: InputValues): InputValues {
  if (!['local', 'remote'].includes(String(server['type']))) return server;
  const { timeout, oauth, ...rest } = JSON.parse(JSON.stringify(server), (_, value: unknown) =>
    typeof value === 'string' ? value.replace(/(?<!\$)\{(env|file):/g, '${$1:') : value,
  ) as InputValues;
  const { request, startup } = isPlainObject(timeout) ? timeout : { request: timeout };
  return {
    ...rest,
    ...(isPlainObject(oauth) && { oauth }),
    ...(typeof request === 'number' && { timeout: request / 1_000 }),
    ...(typeof startup === 'number' && { startup_timeout: startup / 1_000 }),
  };
}
