import { ToolError } from '../../src/index.js';
import { refuseNames, SECRET_PATTERNS, segmentsOf } from '../walls/path-rules.js';

/** Maximum length of a revision or branch name in characters. Real names are far shorter. */
const MAX_NAME_LENGTH = 200;

/**
 * Checks a revision from a model: a name or hash, possibly with `^`, `~` and `@{…}`. With `range`,
 * `a..b` is allowed too.
 *
 * Leading hyphens are refused, because git would read the text as an option. Colons are refused,
 * because they select a file or search all commit messages.
 */
export function revision(text: string, { range = false } = {}): string {
  const dots = text.split('..').length - 1;
  const safe =
    text.length <= MAX_NAME_LENGTH &&
    /^[\w@][\w./@^~{}#+-]*$/.test(text) &&
    !text.includes('{/') &&
    dots <= (range ? 1 : 0);
  if (!safe)
    throw invalid(
      range
        ? 'a revision such as main, HEAD~2 or v1..v2'
        : 'a revision such as main, HEAD~2 or a hash',
      text,
    );
  return text;
}

/**
 * Checks a branch or remote name. Refuses anything that git could read as an option or expression.
 */
export function plainName(text: string): string {
  const safe =
    text.length <= MAX_NAME_LENGTH &&
    /^\w[\w./#+-]*$/.test(text) &&
    !text.includes('..') &&
    !text.endsWith('/') &&
    !text.endsWith('.') &&
    !text.endsWith('.lock');
  if (!safe) throw invalid('a plain name such as main or feature/search', text);
  return text;
}

/**
 * Checks paths relative to the root. Refuses paths that lead outside the root, into `.git`, or to a
 * file with secrets.
 */
export function relativePaths(paths: readonly string[]): readonly string[] {
  return paths.map((path) => {
    const segments = segmentsOf(path, []);
    refuseNames(path, segments);
    return segments.join('/') || '.';
  });
}

/**
 * Returns the pathspecs for a command that shows contents: the given paths or everything, but never
 * files with secrets.
 */
export function readablePathspecs(paths: readonly string[]): readonly string[] {
  return [...relativePaths(paths).map((path) => `:(literal)${path}`), ...WITHOUT_SECRETS];
}

/**
 * The list of secrets is the same as for file tools. In git, a pattern for a folder doesn't match
 * the folder's contents, so each pattern is followed by a second pattern that does.
 */
const WITHOUT_SECRETS = SECRET_PATTERNS.flatMap((pattern) => [pattern, `${pattern}/**`]).map(
  (pattern) => `:(exclude,icase,glob)**/${pattern}`,
);

function invalid(expected: string, found: string): ToolError {
  return new ToolError(
    'INVALID_INPUT',
    `Expected ${expected}, got ${JSON.stringify(found).slice(0, 100)}.`,
  );
}
