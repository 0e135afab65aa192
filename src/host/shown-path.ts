import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';

/**
 * Returns a path or glob with `/` between its segments, also on Windows. In globs, `\\` would escape
 * the next character.
 */
export function withSlashes(path: string): string {
  return path.split(sep).join('/');
}

/**
 * Returns a file's name for messages: its path relative to the working directory, with `/`.
 *
 * If the file and the working directory share only the file system's root, a relative path would
 * reveal the absolute path. In that case, the name is relative to a parent folder and starts with
 * that folder's name.
 */
export function shownPath(path: string, above = dirname(path), directory = process.cwd()): string {
  const steps = relative(directory, path).split(sep);
  const climbs = steps.filter((step) => step === '..').length;
  const isApart =
    isAbsolute(steps.join(sep)) ||
    (climbs > 0 && climbs >= directory.split(sep).filter((step) => step !== '').length);
  return isApart
    ? withSlashes(join(basename(above), relative(above, path)))
    : steps.join('/') || '.';
}
