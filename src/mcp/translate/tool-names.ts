import { expectedGot } from '../../core/issues.js';
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
export function mcpToolName(server: string, tool: string): { readonly name: string } | { readonly refused: string } {
  const trimmed = tool.slice(0, LONGEST + 1).trim();
  if (trimmed === '') return { refused: expectedGot('a tool with a name', 'a blank one') };
  if (hasHidden(trimmed) || /[\r\n\t]/.test(trimmed)) return { refused: expectedGot('a tool name of visible characters', 'hidden ones') };
  const fit = trimmed.replace(LOOKS_ENCODED, encoded('_')).replace(UNFIT, encoded);
  const name = server === '' ? `mcp.${fit.replaceAll('.', encoded('.'))}` : `mcp.${server}.${fit}`;
  if (tool.trim().length > LONGEST || name.length > LONGEST) return { refused: expectedGot(`a tool name of at most ${LONGEST} characters together with its server's`, 'a longer one', 'Give the server a shorter name, or deny the tool.') };
  return { name };
}

function encoded(character: string): string {
  return `_x${character.codePointAt(0)!.toString(16)}_`;
}

type Filters = Pick<McpSettings, 'allowTools' | 'denyTools'>;

/**
 * Returns true for a tool that may be used by the lists for all servers and for this one.
 *
 * Any list that denies it wins, and so do settings of the tool that switch it off. Every allow list there is must have it, and an empty one has nothing.
 *
 * Lists have the name at the server, or `mcp.<server>.<tool>`, also as it is registered. In the allow list for all servers
 * what begins with `mcp.` is always such a full name: a server could call its tool like that of another.
 *
 * @param toolName the name at the server.
 */
export function isAllowed(toolName: string, server: Filters & Pick<McpServerSettings, 'name' | 'tools'>, settings: Filters): boolean {
  const name = toolName.trim();
  if (isDisabled(server.tools, name)) return false;
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

/** A tool as its server calls it. */
interface NamedTool {
  readonly server: string;
  readonly toolName: string;
}

/** Letters of other alphabets that look like Latin ones; a part of the Unicode table of confusables (UTS #39). */
const LOOKS_LIKE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: 'аα', b: 'ЬƄ', c: 'сϲ', d: 'ԁ', e: 'еєε', g: 'ɡց', h: 'һհ', i: 'іιı1l|', j: 'јϳ', k: 'кκ', m: 'м', n: 'пռη', o: 'оοօσ0', p: 'рρ', q: 'ԛգ', r: 'гᴦ', s: 'ѕꜱ', t: 'тτ', u: 'υսц', v: 'ѵν', w: 'ѡωԝ', x: 'хχ', y: 'уүγ', z: 'ᴢ',
  }).flatMap(([latin, others]) => Array.from(others, (other) => [other, latin] as const)),
);
/** Characters of a name that are compared. */
const COMPARED = 256;

/** Returns the look of a name: in compatibility form, without case, separators, and the differences that eyes miss. */
function lookOf(name: string): string {
  const plain = name.slice(0, COMPARED).normalize('NFKC').toLowerCase();
  return Array.from(plain, (character) => LOOKS_LIKE.get(character) ?? character)
    .join('')
    .replace(/[^\p{L}\p{N}]/gu, '');
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
      const owner = other.server === server ? 'the same server' : `server ${JSON.stringify(other.server)}`;
      const message = toolName === other.toolName ? `${owner} has a tool of this name too; calls must name the server` : `it looks like ${quoted(other.toolName)} of ${owner}; check which one is meant`;
      findings.push(findingOf('look-alike', server, message, toolName));
    }
  }
  return Object.freeze(findings);
}
