import { readManifest } from '../../src/capability/manifest/read-manifest.js';
import { golden, ManifestTree, present } from './manifest-tree.js';
import type { ManifestIssue } from '../../src/capability/manifest/manifest-issue.js';

/** The least an entry must say. */
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

/** The usable definition of an entry with these keys besides the required ones. */
export function definitionWith(keys: LooseEntry = {}) {
  const { entries, issues } = read({ ...LEAST, ...keys });
  if (entries[0] === undefined)
    throw new Error(
      `expected a usable entry, got ${issues.map(({ message }) => message).join('; ')}`,
    );
  return entries[0].entry.definition;
}

/** `pointer: message` of each issue of an entry with these keys besides the required ones. */
export function issuesWith(
  keys: LooseEntry,
  severity: ManifestIssue['severity'] = 'error',
): readonly string[] {
  return read({ ...LEAST, ...keys })
    .issues.filter((issue) => issue.severity === severity)
    .map(({ path, message }) => `${path}: ${message}`);
}

/** A folder with these files, as text or as JSON; it is removed after the tests of the file. */
export const folderWith = (files: Readonly<Record<string, unknown>>): string =>
  new ManifestTree(files).root;

/** The cases of one section of the recorded behaviour. */
export function recordedCases(section: string): readonly Readonly<Record<string, unknown>>[] {
  type Cases = { readonly cases: readonly Readonly<Record<string, unknown>>[] };
  return present ? golden<Cases>(section).cases : [];
}
