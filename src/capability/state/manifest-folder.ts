import { relative, resolve, sep } from 'node:path';
import type { CapabilityFinding } from '../finding.js';
import { findManifestFiles, type ManifestKind } from '../manifest/layout.js';
import { shownPath } from '../manifest/read-file.js';
import { FileCache, type CapabilityFile, type ExecuteOf, type FileContent } from './file-cache.js';

const KINDS: Readonly<Record<ManifestKind, CapabilityFile['kind']>> = { tools: 'tool', skills: 'skill', jobs: 'job', tasks: 'task' };

/** The present content of a folder. */
export interface FolderContent {
  readonly files: readonly FileContent[];
  /** The problems of the folder itself. */
  readonly findings: readonly CapabilityFinding[];
  /** Says that the folder exists. */
  readonly found: boolean;
}

/** A folder of manifests that is read repeatedly. */
export class ManifestFolder {
  readonly #root: string;
  readonly #cache: FileCache;

  constructor(root: string, executeOf: ExecuteOf) {
    this.#root = resolve(root);
    this.#cache = new FileCache(executeOf);
  }

  /** Reads what is new. Never rejects: a file that cannot be read stays as it was, and is a finding. */
  async read(force: boolean): Promise<FolderContent> {
    const { files, issues } = await findManifestFiles(this.#root);
    const prefix = shownPath(this.#root, this.#root);
    const findings = issues.map((issue): CapabilityFinding => Object.freeze({ ...issue, file: belowPrefix(issue.file, prefix), kind: 'unreadable', owner: null }));
    const unreadable = findings.filter(({ severity }) => severity === 'error').map(({ file }) => file);
    const listed = files.map(({ path, kind, persona = null }): CapabilityFile => ({ path, file: this.#shown(path), kind: KINDS[kind], owner: persona }));
    return { files: await this.#cache.read(listed, unreadable, force), findings, found: !unreadable.includes('') };
  }

  /** Returns a path relative to the root. */
  #shown(path: string): string {
    return relative(this.#root, path).split(sep).join('/');
  }
}

/** Returns the prefix that paths in issues have and paths relative to the root lack; empty for the root itself. */
function belowPrefix(file: string, prefix: string): string {
  if (file === prefix) return '';
  return file.startsWith(`${prefix}/`) ? file.slice(prefix.length + 1) : file;
}
