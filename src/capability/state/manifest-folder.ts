import { createHash } from 'node:crypto';
import { relative, resolve, sep } from 'node:path';
import type { Execute, ToolDefinition } from '../../tool/tool-definition.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { findManifestFiles, type ManifestKind, readTextFile, shownPath } from '../manifest/manifest-files.js';
import { type CapabilityFinding, findingAt } from '../manifest/manifest-issue.js';
import { readManifest } from '../manifest/read-manifest.js';
import { type RawWork, readWork, type WorkKind } from './read-work.js';

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

/** A file of a manifest folder. */
export interface CapabilityFile {
  readonly kind: 'tool' | WorkKind;
  readonly owner: string | null;
  /** The path where it is read. */
  readonly path: string;
  /** The name in messages: the path relative to the root. */
  readonly file: string;
}

/** A usable tool of a file, and the line where it begins. */
export interface FileTool {
  readonly definition: ToolDefinition;
  readonly manifest: ManifestEntry;
  readonly line: number;
}

/** The present content of a file; for a broken one its last good content. */
export interface FileContent {
  readonly owner: string | null;
  readonly file: string;
  readonly tools: readonly FileTool[];
  readonly work: readonly RawWork[];
  readonly findings: readonly CapabilityFinding[];
}

interface Held {
  readonly hash: string;
  readonly content: FileContent;
  /** The last good content of the file, if there ever was one. */
  readonly good: FileContent | undefined;
}

interface Parsed {
  readonly content: FileContent;
  /** Says that nothing of the file can be used. */
  readonly broken: boolean;
}

export type ExecuteOf = (entry: ManifestEntry) => Execute<never> | undefined;

/** The files read at the same time: more would only take memory. */
const AT_ONCE = 4;

/**
 * Reads files, and parses again only those whose content has changed, by its SHA-256: neither the date nor the size of
 * a file is trusted, since two edits can fall into the same tick.
 */
export class FileCache {
  readonly #executeOf: ExecuteOf;
  #held: ReadonlyMap<string, Held> = new Map();

  constructor(executeOf: ExecuteOf) {
    this.#executeOf = executeOf;
  }

  /**
   * Returns the content of all files, in their order. Unchanged files have the same content object.
   *
   * @param unreadable folders, relative to the root, that could not be read: the known content of their files stays.
   */
  async read(files: readonly CapabilityFile[], unreadable: readonly string[], force: boolean): Promise<readonly FileContent[]> {
    const held = new Map<string, Held>();
    for (let start = 0; start < files.length; start += AT_ONCE) {
      const some = files.slice(start, start + AT_ONCE);
      const read = await Promise.all(some.map((file) => this.#readOne(file, force)));
      some.forEach(({ file }, index) => held.set(file, read[index]!));
    }
    for (const [file, before] of this.#held) {
      if (!held.has(file) && unreadable.some((folder) => folder === '' || file.startsWith(`${folder}/`))) held.set(file, before);
    }
    this.#held = held;
    return [...held.values()].map(({ content }) => content);
  }

  async #readOne(file: CapabilityFile, force: boolean): Promise<Held> {
    const before = this.#held.get(file.file);
    const read = await readTextFile(file.path);
    const hash = 'fault' in read ? read.fault : createHash('sha256').update(read.text).digest('hex');
    if (before?.hash === hash && !force) return before;
    const { content, broken } = 'fault' in read ? unreadableFile(file, read.fault) : this.#parse(file, read.text);
    const good = broken ? before?.good : content;
    if (!broken || good === undefined) return { hash, content, good };
    const findings = content.findings.map((finding) => Object.freeze({ ...finding, message: `${finding.message} Its last good content stays in use.` }));
    return { hash, content: Object.freeze({ ...good, findings: Object.freeze([...findings, ...good.findings]) }), good };
  }

  #parse(file: CapabilityFile, text: string): Parsed {
    if (file.kind !== 'tool') {
      const { entries, findings, broken } = readWork(text, file.kind, file.owner, file.file);
      return { content: contentOf(file, { work: entries, findings }), broken };
    }
    const { entries, issues } = readManifest(text, { file: file.file, executeOf: this.#executeOf });
    const broken = issues.some(({ path, severity }) => path === '' && severity === 'error');
    const findings = issues.map((issue): CapabilityFinding => Object.freeze({ ...issue, kind: issue.path === '' && broken ? 'unreadable' : 'invalid', owner: file.owner }));
    const tools = entries.map(({ definition, entry, line }) => Object.freeze({ definition, manifest: entry, line }));
    return { content: contentOf(file, { tools, findings }), broken };
  }
}

function contentOf({ owner, file }: CapabilityFile, { tools = [], work = [], findings = [] }: Partial<FileContent>): FileContent {
  return Object.freeze({ owner, file, tools: Object.freeze(tools), work: Object.freeze(work), findings: Object.freeze(findings) });
}

function unreadableFile(file: CapabilityFile, fault: string): Parsed {
  const finding = findingAt({ owner: file.owner, file: file.file, line: 1, column: 1, path: '' }, 'unreadable', 'error', fault);
  return { content: contentOf(file, { findings: [finding] }), broken: true };
}
