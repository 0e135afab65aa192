import { readManifest } from '../../src/capability/manifest/read-manifest.js';
import { golden, ManifestTree, present } from './manifest-tree.js';
import type { ManifestIssue } from '../../src/capability/manifest/manifest-issue.js';

/** The minimum that an entry must contain. */
export const LEAST = Object.freeze({
  name: 'sample',
  description: 'A sample',
  parameters: Object.freeze({ type: 'object', properties: Object.freeze({}) }),
});

export type LooseEntry = Readonly<Record<string, unknown>>;

/** Returns the result of reading a manifest with these entries. */
export function read(...entries: readonly LooseEntry[]) {
  return readManifest(JSON.stringify(entries));
}

/** Returns the definition of an entry with these keys and the required keys. */
export function definitionWith(keys: LooseEntry = {}) {
  const { entries, issues } = read({ ...LEAST, ...keys });
  if (entries[0] === undefined)
    throw new Error(
      `expected a usable entry, got ${issues.map(({ message }) => message).join('; ')}`,
    );
  return entries[0].entry.definition;
}

/** Returns `pointer: message` for each issue of an entry with these keys and the required keys. */
export function issuesWith(
  keys: LooseEntry,
  severity: ManifestIssue['severity'] = 'error',
): readonly string[] {
  return read({ ...LEAST, ...keys })
    .issues.filter((issue) => issue.severity === severity)
    .map(({ path, message }) => `${path}: ${message}`);
}

/**
 * Returns a new folder with these files, given as text or data for JSON. It's removed after the tests of
 * the file.
 */
export const folderWith = (files: Readonly<Record<string, unknown>>): string =>
  new ManifestTree(files).root;

/** Returns the cases in one section of the recorded behavior. */
export function recordedCases(section: string): readonly Readonly<Record<string, unknown>>[] {
  type Cases = { readonly cases: readonly Readonly<Record<string, unknown>>[] };
  return present ? golden<Cases>(section).cases : [];
}
