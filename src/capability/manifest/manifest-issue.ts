import { ToolError } from '../../core/errors.js';

/** One thing that is wrong, or odd, in a manifest file. */
export interface ManifestIssue {
  /** The file, relative to the working directory where that is possible. */
  readonly file: string;
  /** Where in it, as a JSON pointer (RFC 6901): `/51/side_effects`; empty for the whole. */
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units, as editors count. */
  readonly column: number;
  /** The name of the entry, where it has one. */
  readonly entryName?: string;
  /** What was expected, what was found, and what to do about it. */
  readonly message: string;
  /** An error makes the entry, or without an entry the file, unusable; a warning nothing. */
  readonly severity: 'error' | 'warning';
}

/** Issues that a message lists. */
const MOST_LISTED = 10;

/** Manifests that were refused, with everything that is wrong in them; its code is `INVALID_MANIFEST`. */
export class ToolManifestValidationError extends ToolError {
  override readonly name = 'ToolManifestValidationError';
  /** Every error of every file, in the order of the files. */
  readonly errors: readonly ManifestIssue[];

  constructor(errors: readonly ManifestIssue[] = []) {
    const listed = errors.slice(0, MOST_LISTED).map((error) => `\n  ${formatManifestIssue(error)}`);
    if (errors.length > MOST_LISTED) listed.push(`\n  … and ${errors.length - MOST_LISTED} more`);
    const got = errors.length === 0 ? 'some that are refused' : `${errors.length} ${errors.length === 1 ? 'error' : 'errors'}:`;
    super('INVALID_MANIFEST', `Expected valid tool manifests, got ${got}${errors.length === 0 ? '.' : listed.join('')}`, { details: { errors } });
    this.errors = Object.freeze([...errors]);
  }
}

/** One line: `file:line:column "name" /pointer: message`. */
export function formatManifestIssue({ file, path, line, column, entryName, message }: ManifestIssue): string {
  const where = [entryName === undefined ? '' : JSON.stringify(entryName), path].filter((part) => part !== '').join(' ');
  return `${file}:${line}:${column} ${where === '' ? '' : `${where}: `}${message}`;
}

/** @throws ToolManifestValidationError when there is an error among the issues. */
export function requireValid(issues: readonly ManifestIssue[]): void {
  const errors = issues.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new ToolManifestValidationError(errors);
}
