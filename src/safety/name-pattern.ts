/**
 * Whether a text matches a pattern, in which `*` stands for any characters, also for none; all others for
 * themselves, and so do `\*` for a star and `\\` for a backslash.
 *
 * Each part between two stars is searched once, so no pattern can be slow.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const parts = partsOf(pattern);
  const first = parts[0]!;
  if (parts.length === 1) return first === text;
  const last = parts.at(-1)!;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  const end = text.length - last.length;
  let position = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, position);
    if (found === -1 || found + part.length > end) return false;
    position = found + part.length;
  }
  return true;
}

/** The texts between the stars of a pattern. */
function partsOf(pattern: string): readonly string[] {
  const parts = [''];
  for (const [token] of pattern.matchAll(/\\[\\*]|[^]/gu)) {
    if (token === '*') parts.push('');
    else parts[parts.length - 1] += token.length > 1 && token.startsWith('\\') ? token.slice(1) : token;
  }
  return parts;
}
