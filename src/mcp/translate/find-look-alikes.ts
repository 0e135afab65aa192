import { quoted } from './foreign-text.js';
import type { McpFinding } from './mcp-finding.js';

/** Letters of other alphabets that look like Latin ones; a part of the Unicode table of confusables (UTS #39). */
const LOOKS_LIKE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: 'аα', b: 'ЬƄ', c: 'сϲ', d: 'ԁ', e: 'еєε', g: 'ɡց', h: 'һհ', i: 'іιı1l|', j: 'јϳ', k: 'кκ', m: 'м', n: 'пռη', o: 'оοօσ0', p: 'рρ', q: 'ԛգ', r: 'гᴦ', s: 'ѕꜱ', t: 'тτ', u: 'υսц', v: 'ѵν', w: 'ѡωԝ', x: 'хχ', y: 'уүγ', z: 'ᴢ',
  }).flatMap(([latin, others]) => Array.from(others, (other) => [other, latin] as const)),
);
/** Characters of a name that are compared. */
const COMPARED = 256;

/** What a name looks like: in compatibility form, without case, separators, and the differences that eyes miss. */
function lookOf(name: string): string {
  const plain = name.slice(0, COMPARED).normalize('NFKC').toLowerCase();
  return Array.from(plain, (character) => LOOKS_LIKE.get(character) ?? character)
    .join('')
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Tools that may be taken for each other: the same name on two servers, and names that look the same.
 *
 * A hostile server offers `read_file` beside the one that was meant, or `reаd_file` with a Cyrillic letter. Both stay
 * usable under their own names; somebody should look.
 *
 * @param tools of all servers, in a stable order: each finding is about the later one.
 */
export function findLookAlikes(tools: Iterable<{ readonly server: string; readonly toolName: string }>): readonly McpFinding[] {
  const first = new Map<string, { readonly server: string; readonly toolName: string }>();
  const findings: McpFinding[] = [];
  for (const { server, toolName } of tools) {
    const look = lookOf(toolName);
    if (look === '') continue;
    const other = first.get(look);
    if (other === undefined) first.set(look, { server, toolName });
    else if (other.server !== server || other.toolName !== toolName) {
      const [mine, theirs] = [quoted(toolName), quoted(other.toolName)];
      const of = other.server === server ? 'the same server' : `server ${JSON.stringify(other.server)}`;
      const message = toolName === other.toolName ? `${of} has a tool of this name too; calls must name the server` : `it looks like ${theirs} of ${of}; check which one is meant`;
      findings.push(Object.freeze({ kind: 'look-alike', server, tool: mine, message }));
    }
  }
  return Object.freeze(findings);
}
