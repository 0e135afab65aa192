import { ToolError } from '../../src/index.js';

/** Maximum length of a pattern in characters. */
export const MAX_GLOB_LENGTH = 500;
/**
 * Maximum number of patterns that braces may expand to. Each pair of braces multiplies the number
 * of patterns.
 */
const MAX_ALTERNATIVES = 64;

/**
 * Returns a function that tests relative paths against a pattern. `*` matches any part of a name,
 * `?` one character, `**` any folders, and `{a,b}` either alternative.
 *
 * A pattern without `/` is tested against the name alone. Everything else is literal and
 * case-sensitive. After a mismatch, only the last star is tried again, so the time is at most
 * proportional to the product of both lengths.
 *
 * @throws ToolError `INVALID_ARGUMENT` for nested or unclosed braces, and patterns beyond the
 * limits.
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  if (pattern === '' || pattern.length > MAX_GLOB_LENGTH)
    throw badGlob(pattern, `1 to ${MAX_GLOB_LENGTH} characters`);
  const alternatives = expandBraces(pattern).map((text) =>
    (text.includes('/') ? text : `**/${text}`)
      .split('/')
      .filter((segment) => segment !== '' && segment !== '.'),
  );
  return (path) => {
    const segments = path.split('/');
    return alternatives.some((parts) =>
      matchList(parts, segments, (part) => part === '**', matchName),
    );
  };
}

function matchName(pattern: string, name: string): boolean {
  return matchList(
    pattern,
    name,
    (character) => character === '*',
    (wanted, found) => wanted === '?' || wanted === found,
  );
}

/** Matches a list item by item. A star matches any number of items. */
function matchList(
  pattern: ArrayLike<string>,
  items: ArrayLike<string>,
  isStar: (part: string) => boolean,
  same: (part: string, item: string) => boolean,
): boolean {
  let at = 0;
  let star = -1;
  let starItem = 0;
  let item = 0;
  while (item < items.length) {
    const part = pattern[at];
    if (part !== undefined && isStar(part)) {
      star = at++;
      starItem = item;
    } else if (part !== undefined && same(part, items[item] ?? '')) {
      at++;
      item++;
    } else if (star >= 0) {
      at = star + 1;
      item = ++starItem;
    } else {
      return false;
    }
  }
  while (at < pattern.length && isStar(pattern[at] ?? '')) at++;
  return at === pattern.length;
}

function expandBraces(pattern: string): string[] {
  let results = [''];
  let rest = pattern;
  while (rest !== '') {
    const open = rest.indexOf('{');
    const literal = open < 0 ? rest : rest.slice(0, open);
    if (literal.includes('}')) throw badGlob(pattern, 'every "}" after a "{"');
    results = results.map((result) => result + literal);
    if (open < 0) break;
    const close = rest.indexOf('}', open);
    const inside = rest.slice(open + 1, close);
    if (close < 0 || inside.includes('{'))
      throw badGlob(pattern, 'braces that are closed and not nested');
    const choices = inside.split(',');
    if (results.length * choices.length > MAX_ALTERNATIVES)
      throw badGlob(pattern, `braces that expand to at most ${MAX_ALTERNATIVES} patterns`);
    results = results.flatMap((result) => choices.map((choice) => result + choice));
    rest = rest.slice(close + 1);
  }
  return results;
}

function badGlob(pattern: string, expected: string): ToolError {
  const shown = pattern.slice(0, 60);
  return new ToolError(
    'INVALID_ARGUMENT',
    `Expected a file pattern with ${expected}, got ${JSON.stringify(shown)}.`,
    { details: { pattern: shown } },
  );
}
