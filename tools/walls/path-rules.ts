import { isAbsolute, posix, relative, sep } from 'node:path';
import { ToolError } from '../../src/index.js';
import { globMatcher } from './glob-matcher.js';

/** Characters: the longest path Linux accepts; nothing longer can name a file. */
export const MAX_PATH_LENGTH = 4_096;
/** Characters of a refused path that an error repeats: enough to recognise it. */
const SHOWN_LENGTH = 200;

/**
 * The patterns of what usually holds secrets, at any depth: files by name, and folders with all that is in them.
 *
 * The one list for every wall: file tools compare names with it, git tools hand it to git, which knows the same patterns.
 */
export const SECRET_PATTERNS: readonly string[] = Object.freeze([
  ...[
    '.env',
    '.env.*',
    '.env~*',
    '.envrc',
    '.netrc',
    '_netrc',
    '.git-credentials',
    '.npmrc',
    '.pypirc',
    '.pgpass',
    '.htpasswd',
  ],
  ...['id_rsa', 'id_dsa', 'id_ecdsa', 'id_ed25519', '*.pem', '*.key', '*.p12', '*.pfx'],
  ...['.aws', '.ssh', '.gnupg', '.kube', '.docker/config.json'],
]);
const SECRETS = SECRET_PATTERNS.map((pattern) => globMatcher(`**/${pattern}/**`));
/** Folders whose name makes a secret of what is in them. */
const TELLING_FOLDERS = SECRET_PATTERNS.filter((pattern) => pattern.includes('/')).map((pattern) =>
  globMatcher(`**/${posix.dirname(pattern)}`),
);

/** The error of a path that the wall does not let through. */
export function forbiddenPath(path: unknown, found: string): ToolError {
  const shown = showPath(path);
  return new ToolError(
    'FORBIDDEN_PATH',
    `Expected a path inside the root, got ${JSON.stringify(shown)}: ${found}.`,
    { details: { path: shown } },
  );
}

/** A path as messages repeat it: cut, and never more than its kind when it is not text. */
export function showPath(path: unknown): string {
  return typeof path === 'string' ? path.slice(0, SHOWN_LENGTH) : `(${typeof path})`;
}

/**
 * The segments of a path below the root, read as text alone: `.` and `..` are worked out, no file is looked at.
 *
 * Separators are `/` on every system. An absolute path counts when it lies below one of the given forms of the root.
 *
 * @throws ToolError `FORBIDDEN_PATH` for anything that is not text, or climbs out, or has another system's meaning.
 */
export function segmentsOf(path: unknown, roots: readonly string[]): string[] {
  if (typeof path !== 'string' || path === '')
    throw forbiddenPath(path, 'a path is text and not empty');
  if (path.length > MAX_PATH_LENGTH)
    throw forbiddenPath(path, `a path has at most ${MAX_PATH_LENGTH} characters`);
  // A NUL cuts the path short in system calls; line ends and escapes forge lines in logs and listings.
  if ([...path].some((character) => character < ' ' || character === '\x7f'))
    throw forbiddenPath(path, 'control characters are not allowed');
  // One reading on every system: on Windows a backslash separates and a drive or `\\server` starts elsewhere.
  if (path.includes('\\')) throw forbiddenPath(path, 'segments are separated by "/"');
  if (path.startsWith('//')) throw forbiddenPath(path, 'network paths are not allowed');
  if (/^(?:[a-z]|file):/i.test(path)) throw forbiddenPath(path, 'drives and URLs are not allowed');
  // No shell expands it here, but a folder of that name invites one to do so later.
  if (path === '~' || path.startsWith('~/'))
    throw forbiddenPath(path, 'the home folder is not reachable');

  const normal = posix.normalize(path);
  const below = posix.isAbsolute(normal) ? belowOneOf(roots, normal) : normal;
  if (below === undefined || below === '..' || below.startsWith('../'))
    throw forbiddenPath(path, 'it lies outside');
  return below.split('/').filter((segment) => segment !== '' && segment !== '.');
}

function belowOneOf(roots: readonly string[], normal: string): string | undefined {
  const paths = roots.map((root) => containedSegments(root, normal));
  return paths.find((segments) => segments !== undefined)?.join('/');
}

/** The segments from one real path down to another; nothing when that lies elsewhere. Compared by segments, so `/root-evil` is not in `/root`. */
export function containedSegments(root: string, path: string): string[] | undefined {
  const below = relative(root, path);
  const segments = below.split(sep).filter((segment) => segment !== '');
  return segments[0] === '..' || isAbsolute(below) ? undefined : segments;
}

/** Returns true if a path is the root or below it; both must be real paths. */
export function isInside(root: string, path: string): boolean {
  return containedSegments(root, path) !== undefined;
}

/**
 * Refuses names that hold secrets, and always the folder of git: a hook written there runs as a program, and its
 * configuration has the passwords of remotes.
 *
 * @throws ToolError `FORBIDDEN_PATH`
 */
export function refuseNames(
  path: unknown,
  segments: readonly string[],
  { allowSecrets = false } = {},
): void {
  if (segments.some((segment) => comparable(segment) === '.git'))
    throw forbiddenPath(path, 'the folder of git is neither read nor written');
  if (!allowSecrets && isSecret(segments))
    throw forbiddenPath(path, 'it is a name of files with secrets');
}

/** Returns true if a file of this path, given by its segments, usually holds a secret. */
export function isSecret(segments: readonly string[]): boolean {
  const path = segments.map(comparable).join('/');
  return SECRETS.some((matches) => matches(path));
}

/** Returns true if a folder is one that secrets are known by: under another name they would not be. */
export function isTellingFolder(segments: readonly string[]): boolean {
  const path = segments.map(comparable).join('/');
  return TELLING_FOLDERS.some((matches) => matches(path));
}

/** A name in the form in which file systems may find it: `.GIT`, `.git.`, `.git ` and `.git::$DATA` can all be `.git`. */
function comparable(segment: string): string {
  return withoutEnding(segment).toLowerCase();
}

/** A name without what Windows leaves out at its end: dots, spaces, and a stream after a colon. */
export function withoutEnding(segment: string): string {
  let name = segment.split(':', 1)[0] ?? '';
  if (name === '..') return name;
  while (name.endsWith('.') || name.endsWith(' ')) name = name.slice(0, -1);
  return name;
}
