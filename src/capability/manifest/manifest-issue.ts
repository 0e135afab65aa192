import { ToolError } from '../../core/errors.js';
import { suggestNames } from '../../core/issues.js';
import { describeValue } from '../../core/plain-data.js';
import type { Position } from './json-text.js';

/**
 * A problem with a tool, skill, job or task.
 *
 * After an error, the entry is skipped, or the last valid content of the file or source is kept. A
 * warning changes nothing.
 */
export interface CapabilityFinding {
  /**
   * The kind of problem.
   *
   * - invalid: an entry, or part of it, is invalid
   * - unreadable: a whole file or source couldn't be read
   * - duplicate: another item already has the name
   * - dangling: a reference to something that doesn't exist
   */
  readonly kind: 'invalid' | 'unreadable' | 'duplicate' | 'dangling';
  /**
   * The severity. An error makes the entry unusable, or the whole file if the finding names no
   * entry. A warning doesn't make anything unusable.
   */
  readonly severity: 'error' | 'warning';
  /** The owner. `null` for shared items. */
  readonly owner: string | null;
  /**
   * The file, relative to the root. For tools that aren't from a file, the name of their source, or
   * `code`.
   */
  readonly file: string;
  /** The line, from 1. `null` if the item isn't in a file. */
  readonly line: number | null;
  /** The column, from 1, in UTF-16 units as in editors. `null` if the item isn't in a file. */
  readonly column: number | null;
  /**
   * The place in the file, as a JSON pointer (RFC 6901): `/51/side_effects`. Empty for the whole
   * file.
   */
  readonly path: string;
  /** The name of the entry, if it has one. */
  readonly entryName?: string;
  /** A sentence for users that explains what was expected, what was found, and what to do. */
  readonly message: string;
}

/**
 * A finding in a manifest file. In results of `loadManifest`, the file is relative to the working
 * directory if possible.
 */
export interface ManifestIssue extends CapabilityFinding, Position {
  readonly line: number;
  readonly column: number;
}

/** The place of a declaration, as reported in findings. */
export type Place = Pick<CapabilityFinding, 'owner' | 'file' | 'line' | 'column' | 'path'>;

/** Returns a finding about a declaration. */
export function findingAt<At extends Place>(
  { owner, file, line, column, path }: At,
  kind: CapabilityFinding['kind'],
  severity: CapabilityFinding['severity'],
  message: string,
  entryName?: string,
): CapabilityFinding & Pick<At, 'line' | 'column'> {
  const name = entryName === undefined ? {} : { entryName };
  return Object.freeze({ severity, kind, owner, file, line, column, path, ...name, message });
}

/** Returns a finding about a whole file or folder. */
export function wholeFinding(
  owner: string | null,
  file: string,
  { message, line = 1, column = 1 }: Partial<Position> & { readonly message: string },
  severity: CapabilityFinding['severity'] = 'error',
): ManifestIssue {
  return findingAt({ owner, file, line, column, path: '' }, 'unreadable', severity, message);
}

/** Returns the place of an item that isn't in a file. */
export function placeless(owner: string | null, file: string): Place {
  return { owner, file, line: null, column: null, path: '' };
}

/** Returns the message for a name that is already taken by another item of the same owner. */
export function duplicateName(kind: string, name: string, first: string): string {
  return `The owner already has a ${kind} named ${describeValue(name)} (first in ${first}). Rename or remove one of them.`;
}

/** Rewords a schema message for files, so that it says "nothing" if a value is missing. */
export function requiredWords(message: string): string {
  return message
    .replace(' (it is required)', '')
    .replace(/got undefined\.$/, 'got nothing (it is required).');
}

/** Returns a suggestion for an unknown name. Empty if no known name is similar. */
export function didYouMean(name: string, names: readonly string[]): string {
  const similar = suggestNames(name, [...new Set(names)]);
  return similar.length === 0 ? '' : ` Did you mean ${similar.join(' or ')}?`;
}

/** Maximum number of issues listed in a message. */
const MOST_LISTED = 10;

/**
 * The error thrown when manifests are refused. Contains all errors in the manifests. The
 * error's code is `INVALID_MANIFEST`.
 */
export class ToolManifestValidationError extends ToolError {
  override readonly name = 'ToolManifestValidationError';
  /** Every error in every file, in file order. */
  readonly errors: readonly ManifestIssue[];

  constructor(errors: readonly ManifestIssue[] = []) {
    const listed = errors.slice(0, MOST_LISTED).map((error) => `\n  ${formatManifestIssue(error)}`);
    if (errors.length > MOST_LISTED) listed.push(`\n  … and ${errors.length - MOST_LISTED} more`);
    super(
      'INVALID_MANIFEST',
      `The tool manifests have ${errors.length} ${errors.length === 1 ? 'error' : 'errors'}:${listed.join('')}`,
      { details: { errors } },
    );
    this.errors = Object.freeze([...errors]);
  }
}

/** Returns one line: `file:line:column "name" /pointer: message`. */
export function formatManifestIssue({
  file,
  path,
  line,
  column,
  entryName,
  message,
}: ManifestIssue): string {
  const where = [entryName === undefined ? '' : JSON.stringify(entryName), path]
    .filter((part) => part !== '')
    .join(' ');
  return `${file}:${line}:${column} ${where === '' ? '' : `${where}: `}${message}`;
}
