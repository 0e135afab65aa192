import type { ManifestIssue } from './manifest/manifest-issue.js';

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

export function findingAt(place: Place, kind: CapabilityFinding['kind'], severity: CapabilityFinding['severity'], message: string, entryName?: string): CapabilityFinding {
  const { owner, file, line, column, path } = place;
  return Object.freeze({ severity, kind, owner, file, line, column, path, ...(entryName === undefined ? {} : { entryName }), message });
}

/** Returns the place of something that is in no file. */
export function placeless(owner: string | null, file: string): Place {
  return Object.freeze({ owner, file, line: null, column: null, path: '' });
}
