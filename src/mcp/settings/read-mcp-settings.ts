import { ToolError, type Issue } from '../../core/errors.js';
import { cloneFrozen, compareText, describeValue, digestOf, isPlainObject } from '../../core/plain-data.js';
import { expectedGot, formatIssues, kindOf } from '../../core/issues.js';
import { FieldReader } from './field-reader.js';
import type { McpServerSettings, McpSettings } from './mcp-settings.js';
import { readFilters, readOverrides, readServer, readTimes, type ServerDefaults } from './read-server.js';
import { anyText, flag } from './value-parsers.js';

/** A dot would make names ambiguous: `mcp.a.b.c` could be of the server `a` or of `a.b`. */
const SERVER_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** Marks settings that were read; shared between loaded copies of the package. */
const READ = Symbol.for('tooldex/mcp-settings/v1');

/**
 * The settings of MCP, checked, complete and frozen.
 *
 * ```json
 * {
 *   "enabled": true,
 *   "servers": {
 *     "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."], "allow_tools": ["read_file"] },
 *     "tickets": { "url": "https://tickets.example/mcp", "headers": { "Authorization": "Bearer ${TICKETS_TOKEN}" }, "timeout_seconds": 60 }
 *   },
 *   "deny_tools": ["delete_everything"]
 * }
 * ```
 *
 * Names may also be written in camelCase; times are seconds (`timeout_seconds`, `timeout`, `health_check_interval`), or
 * milliseconds where the name says so (`timeoutMs`, `healthCheckIntervalMs`); 0 and `null` count as not set. Files of
 * the widespread form `{"mcpServers": {…}}` are read too, and are enabled unless they say otherwise. `${NAME}` in
 * commands, variables, addresses and headers stays as it is written until a connection is made. Overrides
 * (`side_effects`, `access_mode`, `danger_level`, `allow_parallel`, `requires_consent`, `version`, `category`) may be
 * given for all servers and for each; `idempotency_key` only for each.
 *
 * @param input the settings as parsed from a file or written in code; settings already read are returned as they are.
 * @throws ToolError `INVALID_ARGUMENT` with everything that is wrong: unknown names, two spellings of one setting, values
 * of a wrong kind, transports nobody knows. Values that may hold secrets are not repeated.
 */
export function readMcpSettings(input: unknown): McpSettings {
  if (typeof input === 'object' && input !== null && Object.hasOwn(input, READ)) return input as McpSettings;
  const issues: Issue[] = [];
  const fields = new FieldReader(input, [], issues);
  const servers = fields.raw('servers', 'mcpServers');
  const enabled = fields.read({ enabled: flag }) ?? servers?.name === 'mcpServers';
  const { allowTools, denyTools = [] } = readFilters(fields);
  const { timeoutMs = 30_000, healthCheckIntervalMs = 300_000 } = readTimes(fields);
  const defaultServer = fields.read({ default_server: anyText, defaultServer: anyText });
  const defaults: ServerDefaults = { timeoutMs, healthCheckIntervalMs, overrides: readOverrides(fields) };
  fields.refuseUnknown();

  const filters = { ...(allowTools === undefined ? {} : { allowTools }), denyTools };
  const read = readServers(servers?.name ?? 'servers', servers?.value ?? {}, defaults, issues).map((server) => ({ ...server, signature: digestOf({ ...server, global: filters }) }));
  if (defaultServer && issues.length === 0 && !read.some(({ name }) => name === defaultServer)) {
    fields.fault(`Expected the name of a server that is configured and not switched off, got ${JSON.stringify(defaultServer)}.`, 'default_server');
  }
  if (issues.length > 0) throw new ToolError('INVALID_ARGUMENT', `The settings of MCP are refused:\n  ${formatIssues(issues)}`, { details: { issues } });
  return marked({ enabled, servers: read, ...filters, ...(defaultServer ? { defaultServer } : {}) });
}

function readServers(key: string, given: unknown, defaults: ServerDefaults, issues: Issue[]): Omit<McpServerSettings, 'signature'>[] {
  if (!isPlainObject(given)) {
    issues.push({ path: [key], message: expectedGot('an object of servers by name', Array.isArray(given) ? describeValue(given) : kindOf(given)) });
    return [];
  }
  const taken = new Set<string>();
  const servers: Omit<McpServerSettings, 'signature'>[] = [];
  for (const [written, settings] of Object.entries(given)) {
    const path = [key, written];
    const name = written.trim();
    if (name !== '' && !SERVER_NAME.test(name)) issues.push({ path, message: 'Expected a server name of 1 to 64 letters, digits, underscores and hyphens (no dots), got another. Rename it.' });
    if (taken.has(name)) issues.push({ path, message: `Expected server names that differ in more than blanks, got ${JSON.stringify(name)} twice. Rename one.` });
    taken.add(name);
    const server = readServer(name, settings, defaults, path, issues);
    if (server !== undefined) servers.push(server);
  }
  return servers.sort((a, b) => compareText(a.name, b.name));
}

function marked(settings: McpSettings): McpSettings {
  const copy = { ...cloneFrozen(settings) };
  Object.defineProperty(copy, READ, { value: true });
  return Object.freeze(copy);
}
