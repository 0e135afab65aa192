import { ToolError } from '../../src/index.js';

/** Characters of a revision or a branch name: far above real ones. */
const MAX_NAME_LENGTH = 200;
/** Characters of a path, as most file systems allow. */
const MAX_PATH_LENGTH = 4_096;

/**
 * A revision as a model may write it: a name or hash with `^`, `~` and `@{…}`, and with `range` also `a..b`.
 *
 * No leading hyphen (it would be an option) and no colon (it would name a file, or search all messages).
 */
export function revision(text: string, { range = false } = {}): string {
  const dots = text.split('..').length - 1;
  const safe = text.length <= MAX_NAME_LENGTH && /^[\w@][\w./@^~{}#+-]*$/.test(text) && !text.includes('{/') && dots <= (range ? 1 : 0);
  if (!safe) throw invalid(range ? 'a revision such as main, HEAD~2 or v1..v2' : 'a revision such as main, HEAD~2 or a hash', text);
  return text;
}

/** A branch or remote name without anything that git could read as an option or an expression. */
export function plainName(text: string): string {
  const safe = text.length <= MAX_NAME_LENGTH && /^\w[\w./#+-]*$/.test(text) && !text.includes('..') && !text.endsWith('/') && !text.endsWith('.') && !text.endsWith('.lock');
  if (!safe) throw invalid('a plain name such as main or feature/search', text);
  return text;
}

/** Paths relative to the root, none of which leads out of it or into `.git`. */
export function relativePaths(paths: readonly string[]): readonly string[] {
  for (const path of paths) {
    const segments = path.split(/[/\\]/);
    const safe = path !== '' && path.length <= MAX_PATH_LENGTH && !path.includes('\0') && !path.startsWith('/') && !segments.includes('..') && segments[0]?.toLowerCase() !== '.git';
    if (!safe) throw new ToolError('FORBIDDEN_PATH', `Expected paths relative to the root and below it, found ${JSON.stringify(path).slice(0, 100)}`);
  }
  return paths;
}

function invalid(expected: string, found: string): ToolError {
  return new ToolError('INVALID_INPUT', `Expected ${expected}, found ${JSON.stringify(found).slice(0, 100)}`);
}
