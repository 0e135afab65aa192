import { relative, resolve, sep } from 'node:path';
import type { CapabilityFinding } from '../finding.js';
import { findManifestFiles, type ManifestKind } from '../manifest/layout.js';
import { shownPath } from '../manifest/read-file.js';
import { FileCache, type CapabilityFile, type ExecuteOf, type FileContent } from './file-cache.js';

const KINDS: Readonly<Record<ManifestKind, CapabilityFile['kind']>> = { tools: 'tool', skills: 'skill', jobs: 'job', tasks: 'task' };

/** What a folder says now. */
export interface FolderContent {
  readonly files: readonly FileContent[];
  /** What is wrong with the folder itself. */
  readonly findings: readonly CapabilityFinding[];
  /** Whether there is a folder at all. */
  readonly found: boolean;
}

/** A folder of manifests, read again and again. */
export class ManifestFolder {
  readonly #root: string;
  readonly #cache: FileCache;

  constructor(root: string, executeOf: ExecuteOf) {
    this.#root = resolve(root);
    this.#cache = new FileCache(executeOf);
  }

  /** Reads what is new. Never rejects: what cannot be read stays as it was, and is a finding. */
  async read(force: boolean): Promise<FolderContent> {
    const { files, issues } = await findManifestFiles(this.#root);
    const prefix = shownPath(this.#root, this.#root);
    const findings = issues.map((issue): CapabilityFinding => Object.freeze({ ...issue, file: belowPrefix(issue.file, prefix), kind: 'unreadable', owner: null }));
    const unreadable = findings.filter(({ severity }) => severity === 'error').map(({ file }) => file);
    const listed = files.map(({ path, kind, persona = null }): CapabilityFile => ({ path, file: this.#shown(path), kind: KINDS[kind], owner: persona }));
    return { files: await this.#cache.read(listed, unreadable, force), findings, found: !unreadable.includes('') };
  }

  /** Relative to the root. */
  #shown(path: string): string {
    return relative(this.#root, path).split(sep).join('/');
  }
}

/** Issues are not told relative to the root; empty for the root itself. */
function belowPrefix(file: string, prefix: string): string {
  if (file === prefix) return '';
  return file.startsWith(`${prefix}/`) ? file.slice(prefix.length + 1) : file;
}
