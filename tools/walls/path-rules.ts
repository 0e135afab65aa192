import { isAbsolute, posix, relative, sep } from 'node:path';
import { ToolError } from '../../src/index.js';
import { globMatcher } from './glob-matcher.js';

/** Maximum length of a path in characters. Linux doesn't accept longer paths. */
export const MAX_PATH_LENGTH = 4_096;
/** Maximum number of characters of a refused path that an error quotes. */
const SHOWN_LENGTH = 200;

/**
 * Patterns for files and folders that usually contain secrets, at any depth.
 *
 * File tools match names against this list. Git tools pass the list to git, which understands the
 * same patterns.
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
/** Folders whose contents are treated as secret because of the folder's name. */
const TELLING_FOLDERS = SECRET_PATTERNS.filter((pattern) => pattern.includes('/')).map((pattern) =>
  globMatcher(`**/${posix.dirname(pattern)}`),
);

/** Returns the error for a refused path. */
export function forbiddenPath(path: unknown, found: string): ToolError {
  const shown = showPath(path);
  return new ToolError(
    'FORBIDDEN_PATH',
    `Expected a path inside the root, got ${JSON.stringify(shown)}: ${found}.`,
    { details: { path: shown } },
  );
}

/** Formats a path for messages: shortened, or only its type if it isn't a string. */
export function showPath(path: unknown): string {
  return typeof path === 'string' ? path.slice(0, SHOWN_LENGTH) : `(${typeof path})`;
}

/**
 * Returns the segments of a path below the root, computed as text. Resolves `.` and `..` without
 * looking at files.
 *
 * The separator is `/` on every system. An absolute path is accepted if it's below one of the given
 * roots.
 *
 * @throws ToolError `FORBIDDEN_PATH` for a path that isn't text, leaves the root, or would have a
 * different meaning on another system.
 */
export function segmentsOf(path: unknown, roots: readonly string[]): string[] {
  if (typeof path !== 'string' || path === '')
    throw forbiddenPath(path, "a path must be text that isn't empty");
  if (path.length > MAX_PATH_LENGTH)
    throw forbiddenPath(path, `a path can have at most ${MAX_PATH_LENGTH} characters`);
  // A NUL truncates the path in system calls.
  // Line breaks and escape characters can forge lines in logs and listings.
  if ([...path].some((character) => character < ' ' || character === '\x7f'))
    throw forbiddenPath(path, "control characters aren't allowed");
  // Paths mean the same on every system, so the forms of Windows are refused everywhere.
  if (path.includes('\\')) throw forbiddenPath(path, 'segments must be separated by "/"');
  if (path.startsWith('//')) throw forbiddenPath(path, "network paths aren't allowed");
  if (/^(?:[a-z]|file):/i.test(path)) throw forbiddenPath(path, "drives and URLs aren't allowed");
  // No shell expands `~` here. But if a folder were named `~`, a shell command could later expand
  // that name.
  if (path === '~' || path.startsWith('~/'))
    throw forbiddenPath(path, "the home folder can't be reached");

  const normal = posix.normalize(path);
  const below = posix.isAbsolute(normal) ? belowOneOf(roots, normal) : normal;
  if (below === undefined || below === '..' || below.startsWith('../'))
    throw forbiddenPath(path, "it's outside");
  return below.split('/').filter((segment) => segment !== '' && segment !== '.');
}

function belowOneOf(roots: readonly string[], normal: string): string | undefined {
  const paths = roots.map((root) => containedSegments(root, normal));
  return paths.find((segments) => segments !== undefined)?.join('/');
}

/**
 * Returns the segments from one real path down to another, or `undefined` if the second isn't below
 * the first. `/root-evil` isn't below `/root`, because whole segments are compared.
 */
export function containedSegments(root: string, path: string): string[] | undefined {
  const below = relative(root, path);
  const segments = below.split(sep).filter((segment) => segment !== '');
  return segments[0] === '..' || isAbsolute(below) ? undefined : segments;
}

/** Returns true if a path is the root or below it. The path and the root must be real paths. */
export function isInside(root: string, path: string): boolean {
  return containedSegments(root, path) !== undefined;
}

/**
 * Refuses names of files that contain secrets. Git's folder is always refused: a hook written there
 * runs as a program, and git's configuration can contain passwords for remotes.
 *
 * @throws ToolError `FORBIDDEN_PATH`
 */
export function refuseNames(
  path: unknown,
  segments: readonly string[],
  { allowSecrets = false } = {},
): void {
  if (segments.some((segment) => comparable(segment) === '.git'))
    throw forbiddenPath(path, "git's folder can't be read or written");
  if (!allowSecrets && isSecret(segments))
    throw forbiddenPath(path, 'files with this name contain secrets');
}

/** Returns true if a file with these path segments usually contains a secret. */
export function isSecret(segments: readonly string[]): boolean {
  const path = segments.map(comparable).join('/');
  return SECRETS.some((matches) => matches(path));
}

/**
 * Returns true if a folder's contents are treated as secret because of its name. Such a folder
 * can't be renamed, because its contents would no longer be protected.
 */
export function isTellingFolder(segments: readonly string[]): boolean {
  const path = segments.map(comparable).join('/');
  return TELLING_FOLDERS.some((matches) => matches(path));
}

/**
 * Returns a name the way file systems may resolve it: `.GIT`, `.git.`, `.git ` and `.git::$DATA`
 * can all mean `.git`.
 */
function comparable(segment: string): string {
  return withoutEnding(segment).toLowerCase();
}

/**
 * Returns a name without the ending that Windows ignores: dots, spaces, and a stream after a colon.
 */
export function withoutEnding(segment: string): string {
  let name = segment.split(':', 1)[0] ?? '';
  if (name === '..') return name;
  while (name.endsWith('.') || name.endsWith(' ')) name = name.slice(0, -1);
  return name;
}
