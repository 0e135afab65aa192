import { basename, dirname, isAbsolute, relative, sep } from 'node:path';

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
    ? [basename(above), ...relative(above, path).split(sep)].filter((step) => step !== '').join('/')
    : steps.join('/') || '.';
}
