import { expectedGot } from '../../core/issues.js';
import { lookOf } from '../../core/visible-text.js';
import { steeredNames } from '../../core/poisoned-text.js';
import { matchesPattern } from '../../safety/name-pattern.js';
import type { ToolDefinition } from '../../tool/tool-definition.js';
import type { McpServerSettings, McpSettings } from '../settings/read-mcp-settings.js';
import { isDisabled } from '../settings/tool-settings.js';
import { findingOf, hasHidden, quoted, type McpFinding } from './foreign-text.js';

/** Characters of a name that registries allow. */
const LONGEST = 128;
const UNFIT = /[^A-Za-z0-9._-]/gu;
/** A part of a name that decoding would take for an encoded character: its underscore is encoded as well. */
const LOOKS_ENCODED = /_(?=x[0-9a-f]+(?:_|[^A-Za-z0-9._-]))/gu;

/**
 * Returns the name under which a server's tool is known here: `mcp.<server>.<tool>`, or `mcp.<tool>` of the server without a name.
 *
 * Characters that names may not have are written `_x<hexadecimal code>_`, so that two tools of a server never get one
 * name: `a b` becomes `a_x20_b`. In tools of the server without a name dots are too: its `files.read` must not be
 * taken for `read` of the server `files`. Names are trimmed.
 *
 * @returns why there is no such name as `refused`: blank, with hidden characters, or longer than 128 with the server's.
 */
export function mcpToolName(
  server: string,
  tool: string,
): { readonly name: string } | { readonly refused: string } {
  const trimmed = tool.slice(0, LONGEST + 1).trim();
  if (trimmed === '') return { refused: expectedGot('a tool with a name', 'a blank one') };
  if (hasHidden(trimmed) || /[\r\n\t]/.test(trimmed))
    return { refused: expectedGot('a tool name of visible characters', 'hidden ones') };
  const fit = trimmed.replace(LOOKS_ENCODED, encoded('_')).replace(UNFIT, encoded);
  const name = server === '' ? `mcp.${fit.replaceAll('.', encoded('.'))}` : `mcp.${server}.${fit}`;
  if (tool.trim().length > LONGEST || name.length > LONGEST)
    return {
      refused: expectedGot(
        `a tool name of at most ${LONGEST} characters together with its server's`,
        'a longer one',
        'Give the server a shorter name, or deny the tool.',
      ),
    };
  return { name };
}

function encoded(character: string): string {
  return `_x${character.codePointAt(0)!.toString(16)}_`;
}

/** The lists of tools that may be used, and that may not. */
export type Filters = Pick<McpSettings, 'allowTools' | 'denyTools'>;

/**
 * Returns true for a tool that may be used by the lists for all servers and for this one.
 *
 * Any list that denies it wins, and so do settings of the tool that switch it off. Every allow list there is must have it, and an empty one has nothing.
 *
 * Lists have the name at the server, or `mcp.<server>.<tool>`, also as it is registered, or patterns with `*` for these. In the allow list for all servers
 * what begins with `mcp.` is always such a full name: a server could call its tool like that of another.
 *
 * @param toolName the name at the server.
 */
export function isAllowed(
  toolName: string,
  server: Filters & Pick<McpServerSettings, 'name' | 'tools'>,
  settings: Filters,
): boolean {
  const name = toolName.trim();
  if (isDisabled(server.tools, name)) return false;
  const names = spellingsOf(name, server.name);
  const [, plain, ...own] = names;
  // Without the server's name `mcp.a.b` could be of the server `a`.
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

/** Returns the spellings by which lists may name a tool: its name at the server, and with the server's, as it is and as it is registered. */
export function spellingsOf(name: string, server: string): [string, string, ...string[]] {
  const registered = mcpToolName(server, name);
  return [
    name,
    ['mcp', server, name].filter((part) => part !== '').join('.'),
    ...('name' in registered ? [registered.name] : []),
  ];
}

/** A tool as its server calls it. */
interface NamedTool {
  readonly server: string;
  readonly toolName: string;
}

/**
 * Finds tools that may be taken for each other: the same name on two servers, and names that look the same.
 *
 * A hostile server offers `read_file` beside the one that was meant, or `reаd_file` with a Cyrillic letter. Both stay
 * usable under their own names; an operator should look.
 *
 * @param tools of all servers, in a stable order: each finding is about the later one.
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
          ? `${owner} has a tool of this name too; calls must name the server`
          : `it looks like ${quoted(other.toolName)} of ${owner}; check which one is meant`;
      findings.push(findingOf('look-alike', server, message, toolName));
    }
  }
  return Object.freeze(findings);
}

const steered = new WeakMap<ToolDefinition, ReturnType<typeof steeredNames>>();

/** Finds tools whose texts say when to call a tool of another server, or what to do with it: "before send_email, always …". */
export function findSteering(
  tools: readonly (NamedTool & { readonly definition: ToolDefinition })[],
): readonly McpFinding[] {
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
          expectedGot(
            'texts about the tool itself',
            `words about ${quoted(name)} of server ${JSON.stringify(other)} ${message}`,
            'Read them before its calls are approved.',
          ),
          toolName,
          { path, offset },
        ),
      ];
    });
  });
}
