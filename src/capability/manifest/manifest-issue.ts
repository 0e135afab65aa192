import { ToolError } from '../../core/errors.js';
import { describeValue } from '../../core/plain-data.js';
import type { Position } from './json-text.js';

/**
 * A problem of a tool, skill, job or task.
 *
 * An error leaves the entry out, or keeps the last good content of a file or source. A warning changes nothing.
 */
export interface CapabilityFinding {
  /**
   * The kind of the problem.
   *
   * - invalid: an entry, or a part of it, is wrong
   * - unreadable: a whole file or source could not be read
   * - duplicate: another item has the name already
   * - dangling: a reference leads nowhere
   */
  readonly kind: 'invalid' | 'unreadable' | 'duplicate' | 'dangling';
  /** The severity. An error makes the entry or file unusable, and a warning doesn't. */
  readonly severity: 'error' | 'warning';
  /** The owner; `null` for shared items. */
  readonly owner: string | null;
  /** The file, relative to the root. For tools without a file, `code` or the name of their source. */
  readonly file: string;
  /** The line, from 1; `null` if there's no file. */
  readonly line: number | null;
  /** The column, from 1, in UTF-16 units, as editors count; `null` if there's no file. */
  readonly column: number | null;
  /** The place in the file as a JSON pointer (RFC 6901), such as `/51/side_effects`. Empty for the whole file. */
  readonly path: string;
  /** The name of the entry, if it has one. */
  readonly entryName?: string;
  /** A sentence that says what was expected, what came, and what to do. */
  readonly message: string;
}

/** A finding in a manifest file. `loadManifest` names the file relative to the working directory if possible. */
export interface ManifestIssue extends CapabilityFinding, Position {
  readonly line: number;
  readonly column: number;
}

/** The place of a declaration, as in findings about it. */
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

/** Returns the place of something without a file. */
export function placeless(owner: string | null, file: string): Place {
  return { owner, file, line: null, column: null, path: '' };
}

/** Returns the message for a name that another item of the same owner has. */
export function duplicateName(kind: string, name: string, first: string): string {
  return `Expected a name that no other ${kind} of the same owner has, got ${describeValue(name)} again (first in ${first}). Rename or remove one.`;
}

/** Returns a message about a value in a file, where a missing value is "nothing". */
export function requiredWords(message: string): string {
  return message
    .replace(' (it is required)', '')
    .replace(/got undefined\.$/, 'got nothing (it is required).');
}

/** The maximum number of issues in a message. */
const MOST_LISTED = 10;

/** The error for wrong manifests, with all their errors. Its code is `INVALID_MANIFEST`. */
export class ToolManifestValidationError extends ToolError {
  override readonly name = 'ToolManifestValidationError';
  /** Every error of every file, in the order of the files. */
  readonly errors: readonly ManifestIssue[];

  constructor(errors: readonly ManifestIssue[] = []) {
    const listed = errors.slice(0, MOST_LISTED).map((error) => `\n  ${formatManifestIssue(error)}`);
    if (errors.length > MOST_LISTED) listed.push(`\n  … and ${errors.length - MOST_LISTED} more`);
    super(
      'INVALID_MANIFEST',
      `Expected valid tool manifests, got ${errors.length} ${errors.length === 1 ? 'error' : 'errors'}:${listed.join('')}`,
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
