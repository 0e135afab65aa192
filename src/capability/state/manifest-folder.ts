import { resolve } from 'node:path';
import { digestOf } from '../../core/plain-data.js';
import { type FileContent, parseFile } from '../manifest/file-content.js';
import { findManifestFiles, type ManifestFile, readTextFile } from '../manifest/manifest-files.js';
import type { ManifestIssue } from '../manifest/manifest-issue.js';
import type { ExecuteOf } from '../manifest/read-manifest.js';

interface KnownFile {
  readonly digest: string;
  /** The file's content. For a broken file, its last valid content and the current problem. */
  readonly content: FileContent;
}

/** The current content of a folder. */
interface FolderContent {
  readonly files: readonly FileContent[];
  /** Problems with the folder itself. */
  readonly findings: readonly ManifestIssue[];
}

/**
 * A manifest folder that is read repeatedly. Parses only files whose content has changed. Changes
 * are detected from the content and not from a file's date and size, because two edits can happen
 * in the same clock tick.
 */
export class ManifestFolder {
  readonly #root: string;
  readonly #executeOf: ExecuteOf;
  #known: ReadonlyMap<string, KnownFile> = new Map();

  constructor(root: string, executeOf: ExecuteOf) {
    this.#root = resolve(root);
    this.#executeOf = executeOf;
  }

  /**
   * Reads the folder. Never rejects. If a file or folder can't be read, its last valid content is
   * kept, and the problem is reported. Unchanged files keep the same content object.
   */
  async read(force: boolean): Promise<FolderContent> {
    const { files, issues } = await findManifestFiles(this.#root);
    const lost: string[] = [];
    for (const { severity, file } of issues)
      if (severity === 'error') lost.push(file === '' ? '' : `${file}/`);
    const current = new Map<string, KnownFile>();
    for (const file of files) current.set(file.file, await this.#readFile(file, force));
    for (const [file, before] of this.#known)
      if (!current.has(file) && lost.some((folder) => file.startsWith(folder)))
        current.set(file, before);
    this.#known = current;
    return { files: [...current.values()].map(({ content }) => content), findings: issues };
  }

  async #readFile(file: ManifestFile, force: boolean): Promise<KnownFile> {
    const before = this.#known.get(file.file);
    const read = await readTextFile(file.path);
    const digest = digestOf(read);
    if (before?.digest === digest && !force) return before;
    const content = parseFile(file, read, this.#executeOf);
    // The file may be broken because it's still being written, so its last valid content is kept.
    const broken = content.findings.find(({ kind }) => kind === 'unreadable');
    if (broken === undefined || !before?.content.total) return { digest, content };
    const message = `${broken.message} Until this is fixed, the file's last valid content stays in use.`;
    const others = before.content.findings.filter(({ kind }) => kind !== 'unreadable');
    const findings = [{ ...broken, message }, ...others];
    return { digest, content: { ...before.content, findings } };
  }
}
