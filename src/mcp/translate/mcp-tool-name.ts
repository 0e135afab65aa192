import { hasHidden } from './foreign-text.js';

/** What registries allow. */
const LONGEST = 128;
const UNFIT = /[^A-Za-z0-9._-]/gu;
/** What decoding would take for an encoded character: its underscore is encoded as well. */
const LOOKS_ENCODED = /_(?=x[0-9a-f]+(?:_|[^A-Za-z0-9._-]))/gu;

/**
 * The name under which a server's tool is known here: `mcp.<server>.<tool>`, or `mcp.<tool>` of the server without a name.
 *
 * Characters that names may not have are written `_x<hexadecimal code>_`, so that two tools of a server never get one
 * name: `a b` becomes `a_x20_b`. In tools of the server without a name dots are too: its `files.read` must not be
 * taken for `read` of the server `files`. Names are trimmed.
 *
 * @returns why there is no such name as `refused`: blank, with hidden characters, or longer than 128 with the server's.
 */
export function mcpToolName(server: string, tool: string): { readonly name: string } | { readonly refused: string } {
  const trimmed = tool.slice(0, LONGEST + 1).trim();
  if (trimmed === '') return { refused: 'expected a tool with a name, found a blank one' };
  if (hasHidden(trimmed) || /[\r\n\t]/.test(trimmed)) return { refused: 'expected a tool name of visible characters, found hidden ones' };
  const fit = trimmed.replace(LOOKS_ENCODED, encoded('_')).replace(UNFIT, encoded);
  const name = server === '' ? `mcp.${fit.replaceAll('.', encoded('.'))}` : `mcp.${server}.${fit}`;
  if (tool.trim().length > LONGEST || name.length > LONGEST) return { refused: `expected a tool name of at most ${LONGEST} characters together with its server's, found a longer one; give the server a shorter name, or deny the tool` };
  return { name };
}

function encoded(character: string): string {
  return `_x${character.codePointAt(0)!.toString(16)}_`;
}
