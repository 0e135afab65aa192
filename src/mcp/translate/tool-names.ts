import { lookOf } from '../../core/visible-text.js';
import { steeredNames } from '../../core/poisoned-text.js';
import { matchesPattern } from '../../safety/name-pattern.js';
import type { ToolDefinition } from '../../tool/tool-definition.js';
import type { McpServerSettings, McpSettings } from '../settings/read-mcp-settings.js';
import { settingsOf } from '../settings/tool-settings.js';
import { findingOf, hasHidden, quoted, type McpFinding } from './foreign-text.js';

/** Maximum length of a name in registries. */
const LONGEST = 128;
const UNFIT = /[^A-Za-z0-9._-]/gu;

/**
 * Returns the name for a server's tool here: `mcp.<server>.<tool>`, `mcp.<tool>` for the unnamed
 * server, or `<tool>` if the settings say `prefix: false`.
 *
 * Characters that names can't contain become `_x<hexadecimal code>_`: `a b` becomes `a_x20_b`. For
 * the unnamed server, dots are encoded too, because
 * `files.read` would look like the tool `read` of a server `files`.
 *
 * @returns a reason in `refused` if the name is blank, has hidden characters, or is longer than 128
 * characters together with the server's name.
 */
export function mcpToolName(
  server: Pick<McpServerSettings, 'name'> & { readonly prefix?: boolean },
  tool: string,
): { readonly name: string } | { readonly refused: string } {
  const trimmed = tool.slice(0, LONGEST + 1).trim();
  if (trimmed === '') return { refused: 'The tool has a blank name.' };
  if (hasHidden(trimmed) || /[\r\n\t]/.test(trimmed))
    return { refused: "The tool's name contains hidden characters." };
  const fit = trimmed.replace(UNFIT, encoded);
  const prefix = prefixOf(server);
  const name = prefix + (prefix === 'mcp.' ? fit.replaceAll('.', encoded('.')) : fit);
  if (tool.trim().length > LONGEST || name.length > LONGEST)
    return {
      refused: `The server's and the tool's name together have more than ${LONGEST} characters. Shorten the server's name, or deny the tool.`,
    };
  return { name };
}

/** Returns the beginning of the names that a server's tools and prompts have here. */
export function prefixOf({
  name,
  prefix = true,
}: Pick<McpServerSettings, 'name'> & { readonly prefix?: boolean }): string {
  if (!prefix) return '';
  return name === '' ? 'mcp.' : `mcp.${name}.`;
}

function encoded(character: string): string {
  return `_x${character.codePointAt(0)!.toString(16)}_`;
}

/** The lists of allowed and denied tools. */
type Filters = Pick<McpSettings, 'allowTools' | 'denyTools'>;

/**
 * Returns true if the lists for all servers and for this server allow a tool.
 *
 * Deny lists and settings that disable the tool win. Every allow list must contain the tool. An
 * empty list contains nothing. Lists may contain the name at the server, `mcp.<server>.<tool>`, the
 * registered name, or patterns with `*` for these. In the allow list for all servers, a name that
 * starts with `mcp.` is always a full name, so that a server can't give its tool another server's
 * full name.
 *
 * @param toolName The tool's name on the server.
 */
export function isAllowed(
  toolName: string,
  server: Filters & NamedServer,
  settings: Filters,
): boolean {
  const name = toolName.trim();
  if (settingsOf(server, name).disabled === true) return false;
  const names = spellingsOf(name, server);
  const [, plain, ...own] = names;
  // `mcp.a.b` may mean the tool `a.b` of the unnamed server, or `b` of the server `a`.
  const full = server.name === '' && name.includes('.') ? own : [...own, plain];
  const has = (list: readonly string[], spellings: readonly string[]) =>
    list.some((each) => spellings.some((spelling) => matchesPattern(each, spelling)));
  if (has(server.denyTools, names) || has(settings.denyTools, names)) return false;
  if (server.allowTools !== undefined && !has(server.allowTools, names)) return false;
  return (
    settings.allowTools === undefined ||
    has(settings.allowTools, name.startsWith('mcp.') ? full : [name, ...full])
  );
}

/**
 * Returns the names that a tool may have in lists: its name at the server, its full name, and its
 * registered name.
 */
export function spellingsOf(name: string, server: NamedServer): [string, string, ...string[]] {
  const { rename: renamed = name } = settingsOf(server, name);
  const registered = [name, renamed].map((each) => mcpToolName(server, each));
  return [
    name,
    ['mcp', server.name, name].filter((part) => part !== '').join('.'),
    ...registered.flatMap((each) => ('name' in each ? [each.name] : [])),
  ];
}

type NamedServer = Pick<McpServerSettings, 'name' | 'tools' | 'overrides' | 'timeoutMs'> & {
  readonly prefix?: boolean;
};

/** A tool, identified by its server and its name there. */
interface NamedTool {
  readonly server: string;
  readonly toolName: string;
}

/** A tool that discovery defined, and the names under which its server lists it. */
export interface DiscoveredTool extends NamedTool {
  readonly definition: ToolDefinition;
}

/**
 * Finds tools that may be mistaken for each other because their names are equal or look alike.
 *
 * A hostile server may offer a second `read_file`, or `reаd_file` with a Cyrillic letter. Both
 * tools stay usable under their full names, and an operator should compare them.
 *
 * @param tools The tools of all servers, in a stable order. Each finding names the later of two
 * tools.
 */
export function findLookAlikes(tools: Iterable<NamedTool>): readonly McpFinding[] {
  const first = new Map<string, NamedTool>();
  const findings: McpFinding[] = [];
  for (const { server, toolName } of tools) {
    const look = lookOf(toolName);
    if (look === '') continue;
    const other = first.get(look);
    if (other === undefined) first.set(look, { server, toolName });
    else if (other.server !== server || other.toolName !== toolName) {
      const owner =
        other.server === server ? 'the same server' : `server ${JSON.stringify(other.server)}`;
      const message =
        toolName === other.toolName
          ? `${owner} also has a tool with this name, so calls must specify the server`
          : `it looks like ${quoted(other.toolName)} of ${owner}; check which tool is meant`;
      findings.push(findingOf('look-alike', server, message, toolName));
    }
  }
  return Object.freeze(findings);
}

const steered = new WeakMap<ToolDefinition, ReturnType<typeof steeredNames>>();

/**
 * Finds tools whose texts give instructions about a tool of another server: "before send_email,
 * always …".
 */
export function findSteering(tools: readonly DiscoveredTool[]): readonly McpFinding[] {
  const serversOf = new Map<string, Set<string>>();
  for (const { server, toolName } of tools)
    serversOf.set(toolName, (serversOf.get(toolName) ?? new Set()).add(server));
  return tools.flatMap(({ server, toolName, definition }) => {
    const { description, inputSchema } = definition;
    const names = steered.get(definition) ?? steeredNames({ description, inputSchema });
    steered.set(definition, names);
    return [...names].flatMap(([name, { message, path, offset }]) => {
      const [other] = serversOf.get(name)?.has(server) === false ? serversOf.get(name)! : [];
      if (other === undefined) return [];
      return [
        findingOf(
          'instruction-text',
          server,
          `This tool's description gives instructions about ${quoted(name)}, a tool of the server ${JSON.stringify(other)} ${message}. Review it before you approve calls.`,
          toolName,
          { path, offset },
        ),
      ];
    });
  });
}
