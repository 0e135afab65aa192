import { ToolError } from '../../core/errors.js';
import { describeValue } from '../../core/plain-data.js';
import type { Position } from './json-text.js';

/**
 * A problem that keeps a tool, skill, job or task from being offered as declared.
 *
 * Errors leave their entry out, or keep the last good content of a file or source; warnings leave it as it is.
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
  /** The severity: an error makes the entry unusable (without an entry, the file); a warning makes nothing so. */
  readonly severity: 'error' | 'warning';
  /** The owner; `null` for shared items. */
  readonly owner: string | null;
  /** The file, relative to the root; for tools from no file the name of their source, or `code`. */
  readonly file: string;
  /** The line, from 1; `null` outside of files. */
  readonly line: number | null;
  /** The column, from 1, in UTF-16 units, as editors count; `null` outside of files. */
  readonly column: number | null;
  /** The place in the file, as a JSON pointer (RFC 6901): `/51/side_effects`; empty for the whole. */
  readonly path: string;
  /** The name of the entry, if it has one. */
  readonly entryName?: string;
  /** The sentence for users: what was expected, what came, and what to do about it. */
  readonly message: string;
}

/** A finding in a manifest file. `loadManifest` names the file relative to the working directory where that is possible. */
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

/** Returns a finding about a file or folder as a whole. */
export function wholeFinding(
  owner: string | null,
  file: string,
  { message, line = 1, column = 1 }: Partial<Position> & { readonly message: string },
  severity: CapabilityFinding['severity'] = 'error',
): ManifestIssue {
  return findingAt({ owner, file, line, column, path: '' }, 'unreadable', severity, message);
}

/** Returns the place of something that is in no file. */
export function placeless(owner: string | null, file: string): Place {
  return { owner, file, line: null, column: null, path: '' };
}

/** Returns the message about a name that another item of the same owner has. */
export function duplicateName(kind: string, name: string, first: string): string {
  return `Expected a name that no other ${kind} of the same owner has, got ${describeValue(name)} again (first in ${first}). Rename or remove one.`;
}

/** Returns a message about a checked value in the words of files, where what is missing is nothing. */
export function requiredWords(message: string): string {
  return message
    .replace(' (it is required)', '')
    .replace(/got undefined\.$/, 'got nothing (it is required).');
}

/** The issues that a message lists. */
const MOST_LISTED = 10;

/** A refusal of manifests, with all their errors; its code is `INVALID_MANIFEST`. */
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
