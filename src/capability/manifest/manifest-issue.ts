import { ToolError } from '../../core/errors.js';

/** One error or warning in a manifest file. */
export interface ManifestIssue {
  /** The file, relative to the working directory where that is possible. */
  readonly file: string;
  /** The place in it, as a JSON pointer (RFC 6901): `/51/side_effects`; empty for the whole. */
  readonly path: string;
  /** The line, from 1. */
  readonly line: number;
  /** The column, from 1, in UTF-16 units, as editors count. */
  readonly column: number;
  /** The name of the entry, if it has one. */
  readonly entryName?: string;
  /** The sentence for users: what was expected, what came, and what to do about it. */
  readonly message: string;
  /** The severity: an error makes the entry unusable (without an entry, the file); a warning makes nothing so. */
  readonly severity: 'error' | 'warning';
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
    const got =
      errors.length === 0
        ? 'some that are refused'
        : `${errors.length} ${errors.length === 1 ? 'error' : 'errors'}:`;
    super(
      'INVALID_MANIFEST',
      `Expected valid tool manifests, got ${got}${errors.length === 0 ? '.' : listed.join('')}`,
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

/** Returns an issue of a file or folder as a whole. */
export function fileIssue(
  file: string,
  message: string,
  severity: ManifestIssue['severity'] = 'error',
): ManifestIssue {
  return Object.freeze({ file, path: '', line: 1, column: 1, message, severity });
}

/** Requires issues without errors. @throws ToolManifestValidationError if there is one. */
export function requireValid(issues: readonly ManifestIssue[]): void {
  const errors = issues.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new ToolManifestValidationError(errors);
}

/**
 * A problem that keeps a tool, skill, job or task from being offered as declared.
 *
 * Errors leave their entry out, or keep the last good content of a file or source; warnings leave it as it is.
 */
export interface CapabilityFinding extends Omit<ManifestIssue, 'line' | 'column'> {
  /**
   * The kind of the problem.
   *
   * - invalid: an entry, or a part of it, is wrong
   * - unreadable: a whole file or source could not be read
   * - duplicate: another item has the name already
   * - dangling: a reference leads nowhere
   */
  readonly kind: 'invalid' | 'unreadable' | 'duplicate' | 'dangling';
  /** The owner; `null` for shared items. */
  readonly owner: string | null;
  /** The file relative to the root; for tools from no file the name of their source, or `code`. */
  readonly file: string;
  /** The line, from 1; `null` outside of files. */
  readonly line: number | null;
  readonly column: number | null;
}

/** The place of a declaration, as in findings about it. */
export type Place = Pick<CapabilityFinding, 'owner' | 'file' | 'line' | 'column' | 'path'>;

/** Returns a finding about a declaration. */
export function findingAt(
  place: Place,
  kind: CapabilityFinding['kind'],
  severity: CapabilityFinding['severity'],
  message: string,
  entryName?: string,
): CapabilityFinding {
  const { owner, file, line, column, path } = place;
  return Object.freeze({
    severity,
    kind,
    owner,
    file,
    line,
    column,
    path,
    ...(entryName === undefined ? {} : { entryName }),
    message,
  });
}

/** Returns the place of something that is in no file. */
export function placeless(owner: string | null, file: string): Place {
  return Object.freeze({ owner, file, line: null, column: null, path: '' });
}
