import type { ManifestIssue } from './manifest/manifest-issue.js';

/**
 * Something that keeps a tool, skill, job or task from being offered as it was declared.
 *
 * Errors leave their entry out, or the last good content of a file or source in place; warnings leave it as it is.
 */
export interface CapabilityFinding extends Omit<ManifestIssue, 'line' | 'column'> {
  /**
   * - invalid: an entry, or something in it, is not as it must be
   * - unreadable: a whole file or source could not be read
   * - duplicate: another thing has the name already
   * - dangling: something that is referred to is not there
   */
  readonly kind: 'invalid' | 'unreadable' | 'duplicate' | 'dangling';
  /** Whose it is; `null` for what is shared. */
  readonly owner: string | null;
  /** Relative to the root; for tools out of no file the name of their source, or `code`. */
  readonly file: string;
  /** From 1; `null` for what is in no file. */
  readonly line: number | null;
  readonly column: number | null;
}

/** Where something was declared, as findings about it say. */
export type Place = Pick<CapabilityFinding, 'owner' | 'file' | 'line' | 'column' | 'path'>;

export function findingAt(place: Place, kind: CapabilityFinding['kind'], severity: CapabilityFinding['severity'], message: string, entryName?: string): CapabilityFinding {
  const { owner, file, line, column, path } = place;
  return Object.freeze({ severity, kind, owner, file, line, column, path, ...(entryName === undefined ? {} : { entryName }), message });
}

/** The place of what no file holds. */
export function placeless(owner: string | null, file: string): Place {
  return Object.freeze({ owner, file, line: null, column: null, path: '' });
}
