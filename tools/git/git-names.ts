import { ToolError } from '../../src/index.js';
import { refuseNames, SECRET_PATTERNS, segmentsOf } from '../walls/path-rules.js';

/** Characters of a revision or a branch name: far above real ones. */
const MAX_NAME_LENGTH = 200;

/**
 * A revision as a model may write it: a name or hash with `^`, `~` and `@{…}`, and with `range` also `a..b`.
 *
 * No leading hyphen (it would be an option) and no colon (it would name a file, or search all messages).
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

/** A branch or remote name without anything that git could read as an option or an expression. */
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

/** Paths relative to the root, none of which leads out of it, into `.git`, or to a file with secrets. */
export function relativePaths(paths: readonly string[]): readonly string[] {
  return paths.map((path) => {
    const segments = segmentsOf(path, []);
    refuseNames(path, segments);
    return segments.join('/') || '.';
  });
}

/** Returns the pathspecs that a command which shows contents may look at: these paths, or everything, but in either case no file with secrets. */
export function readablePathspecs(paths: readonly string[]): readonly string[] {
  return [...relativePaths(paths).map((path) => `:(literal)${path}`), ...WITHOUT_SECRETS];
}

/** The same list as for files; to git a pattern names no more than itself, so what is in a folder is named too. */
const WITHOUT_SECRETS = SECRET_PATTERNS.flatMap((pattern) => [pattern, `${pattern}/**`]).map(
  (pattern) => `:(exclude,icase,glob)**/${pattern}`,
);

function invalid(expected: string, found: string): ToolError {
  return new ToolError(
    'INVALID_INPUT',
    `Expected ${expected}, got ${JSON.stringify(found).slice(0, 100)}.`,
  );
}
