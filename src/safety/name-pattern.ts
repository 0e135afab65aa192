import { canonicalKey, isAddress, kindOfKey } from '../tool/touches.js';

/**
 * Returns true if a text matches a pattern, in which `*` stands for any characters, also for none; all others for
 * themselves, and so do `\*` for a star and `\\` for a backslash.
 *
 * Each part between two stars is searched once, so no pattern can be slow.
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

/** Returns a pattern of keys in the form of canonical keys; one that `expectedPattern` finds nothing wrong with. */
export function canonicalPattern(pattern: string): string {
  return canonicalKey(pattern.replace(/\\([?{}[\]])/g, '$1'));
}

/** Returns what is expected in place of a pattern that canonical keys never match, though its author may think so. */
export function expectedPattern(pattern: string): string | undefined {
  const plain = pattern.replace(/\\[*?{}[\]]/g, '_');
  const path = plain.slice(kindOfKey(plain).length);
  if (/^\s/.test(plain)) return 'a pattern that begins with no blank';
  if (plain.includes('\\'))
    return 'a pattern with "/" between folders, and "\\" only before one of *?{}[]';
  if (plain.includes('**'))
    return 'a pattern without "**", such as "src/" for all below a folder or "*.lock" ("*" stands for any characters, also for "/")';
  if (isAddress(plain)) return undefined;
  if (/[?{}[\]]/.test(plain))
    return 'a pattern in which only "*" is special: several patterns for several names, and "\\" before one of ?{}[] that is meant itself';
  if (path.startsWith('/'))
    return 'a path relative to the root of the tools, such as "package.lock" (for keys of other tools that are absolute, "*/" and their end)';
  if (/(?:^|\/)[^/]*\*[^/]*\/(?:.*\/)?\.\.(?:\/|$)/.test(plain))
    return 'a pattern without ".." after a "*"';
  return canonicalPattern(pattern) === ''
    ? 'a pattern of something below the root, or "*" for everything'
    : undefined;
}

/** The extent to which a pattern meets what a key stands for: all of it, something of it for certain, perhaps something, nothing. */
type KeyMatch = 'all' | 'some' | 'possible' | 'none';

/**
 * Compares a canonical pattern with a canonical key of what calls touch; a pattern that names no kind also with the key without its kind
 * (`src/*` with `file:src/a.ts`). As in keys, one that ends in `/`, or is a kind alone, covers everything below it.
 *
 * @param loosely also finds a pattern whose case or accents are written otherwise than in canonical keys.
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

/** Returns the form that keys have where the case of files does not count: in lower case, with composed accents. */
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

/** Returns true if a pattern ends in a star, so that what it matches can go on in any way. */
function endsOpen(pattern: string): boolean {
  const parts = partsOf(pattern);
  return parts.length > 1 && parts.at(-1) === '';
}

/** Returns true if a pattern matches some text that begins with another one. */
function canMatchBelow(pattern: string, start: string): boolean {
  const [first, ...others] = partsOf(pattern) as [string, ...string[]];
  return first.startsWith(start) || (others.length > 0 && start.startsWith(first));
}

/** The texts between the stars of a pattern. */
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
