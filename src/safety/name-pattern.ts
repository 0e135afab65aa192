import { canonicalKey, isAddress, kindOfKey } from '../tool/touches.js';

/**
 * Returns true if a text matches a pattern. `*` matches any characters, or none. Every other
 * character matches only itself. To match a star or a backslash, write `\*` or `\\`.
 *
 * Each part between two stars is searched only once, so no pattern can be slow.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const parts = partsOf(pattern);
  const first = parts[0]!;
  if (parts.length === 1) return first === text;
  const last = parts.at(-1)!;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false;
  const end = text.length - last.length;
  let position = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, position);
    if (found === -1 || found + part.length > end) return false;
    position = found + part.length;
  }
  return true;
}

/**
 * Returns a key pattern in canonical form. Call this function only with patterns that pass
 * `expectedPattern`.
 */
export function canonicalPattern(pattern: string): string {
  return canonicalKey(pattern.replace(/\\([?{}[\]])/g, '$1'));
}

/**
 * Describes what to write instead of a pattern that can't match any canonical key. Returns
 * `undefined` if the pattern is fine.
 */
export function expectedPattern(pattern: string): string | undefined {
  const plain = pattern.replace(/\\[*?{}[\]]/g, '_');
  const path = plain.slice(kindOfKey(plain).length);
  if (/^\s/.test(plain)) return 'a pattern without a leading space';
  if (plain.includes('\\'))
    return 'a pattern with "/" between folders, and "\\" only before one of *?{}[]';
  if (plain.includes('**'))
    return 'a pattern without "**", such as "src/" for everything below a folder or "*.lock" ("*" also matches "/")';
  if (isAddress(plain)) return undefined;
  if (/[?{}[\]]/.test(plain))
    return 'a pattern in which only "*" is special (write several patterns for several names, and "\\" before a literal ?{}[])';
  if (path.startsWith('/'))
    return 'a path relative to the root of the tools, such as "package.lock" (for absolute keys of other tools, "*/" and the end of the path)';
  if (/(?:^|\/)[^/]*\*[^/]*\/(?:.*\/)?\.\.(?:\/|$)/.test(plain))
    return 'a pattern without ".." after a "*"';
  return canonicalPattern(pattern) === ''
    ? 'a pattern for something below the root, or "*" for everything'
    : undefined;
}

/**
 * The part of a key's resources that a pattern matches: all, certainly some, possibly some, or
 * none.
 */
type KeyMatch = 'all' | 'some' | 'possible' | 'none';

/**
 * Compares a canonical pattern with a canonical key. If the pattern has no kind, it's also compared
 * with the key without its kind (`src/*` matches `file:src/a.ts`). A pattern that ends in `/`
 * matches everything below that folder, and a pattern with only a kind matches everything of that
 * kind, just as keys do.
 *
 * @param loosely True to also match the pattern in the form that case-insensitive file systems use.
 */
export function matchKey(
  pattern: string,
  key: string,
  { loosely }: { readonly loosely: boolean },
): KeyMatch {
  const written = loosely ? [pattern, canonicalText(pattern)] : [pattern];
  const patterns = written.flatMap((each) =>
    each.endsWith('/')
      ? [`${each}*`, each.slice(0, -1)]
      : kindOfKey(each) === each
        ? [`${each}*`]
        : [each],
  );
  const kind = kindOfKey(key);
  const isKind = kind !== '' && kind === key;
  const matches = [matchText(patterns, key, isKind)];
  if (kindOfKey(pattern) === '') matches.push(matchText(patterns, key.slice(kind.length), isKind));
  return KEY_MATCHES.find((each) => matches.includes(each))!;
}

const KEY_MATCHES: readonly KeyMatch[] = Object.freeze(['all', 'some', 'possible', 'none']);

/**
 * Returns a text in the form used by case-insensitive file systems: lowercase, with composed
 * accents.
 */
function canonicalText(text: string): string {
  return text.toUpperCase().toLowerCase().normalize('NFC');
}

function matchText(patterns: readonly string[], text: string, isKind: boolean): KeyMatch {
  if (!isKind && !text.endsWith('/'))
    return patterns.some((pattern) => matchesPattern(pattern, text)) ? 'all' : 'none';
  if (patterns.some((pattern) => endsOpen(pattern) && matchesPattern(pattern, text))) return 'all';
  if (!isKind && patterns.some((pattern) => matchesPattern(pattern, text.slice(0, -1))))
    return 'some';
  return patterns.some((pattern) => canMatchBelow(pattern, text)) ? 'possible' : 'none';
}

/** Returns true if a pattern ends in a star, so that any continuation matches. */
function endsOpen(pattern: string): boolean {
  const parts = partsOf(pattern);
  return parts.length > 1 && parts.at(-1) === '';
}

/** Returns true if the pattern can match a text that begins with `start`. */
function canMatchBelow(pattern: string, start: string): boolean {
  const [first, ...others] = partsOf(pattern) as [string, ...string[]];
  return first.startsWith(start) || (others.length > 0 && start.startsWith(first));
}

/** Returns the parts of a pattern between its stars. */
function partsOf(pattern: string): readonly string[] {
  const parts = [''];
  for (const [token] of pattern.matchAll(/\\[\\*]|[^]/gu)) {
    if (token === '*') parts.push('');
    else
      parts[parts.length - 1] +=
        token.length > 1 && token.startsWith('\\') ? token.slice(1) : token;
  }
  return parts;
}
