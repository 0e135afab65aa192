import { createHash } from 'node:crypto';
import { relative, resolve, sep } from 'node:path';
import type { ToolDefinition } from '../../tool/tool-definition.js';
import {
  findManifestFiles,
  readTextFile,
  shownPath,
  type ManifestFile,
} from '../manifest/manifest-files.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { findingAt, type CapabilityFinding } from '../manifest/manifest-issue.js';
import { readManifest, type ExecuteOf } from '../manifest/read-manifest.js';
import { readWork, type RawWork } from './read-work.js';

/** The present content of a file; for a broken one its last good content. */
export interface FileContent {
  readonly owner: string | null;
  readonly file: string;
  /** The usable tools, each with the line where it begins. */
  readonly tools: readonly {
    readonly definition: ToolDefinition;
    readonly manifest: ManifestEntry;
    readonly line: number;
  }[];
  readonly work: readonly RawWork[];
  readonly findings: readonly CapabilityFinding[];
}

interface KnownFile {
  readonly hash: string;
  readonly content: FileContent;
  /** The last good content of the file, if there ever was one. */
  readonly good: FileContent | undefined;
}

/** The present content of a folder. */
interface FolderContent {
  readonly files: readonly FileContent[];
  /** The problems of the folder itself. */
  readonly findings: readonly CapabilityFinding[];
  readonly exists: boolean;
}

/** The files read at the same time: more would only take memory. */
const AT_ONCE = 4;
const KINDS = { skills: 'skill', jobs: 'job', tasks: 'task' } as const;

/**
 * A folder of manifests that is read repeatedly. Only files whose content has changed are parsed again, by its SHA-256:
 * neither the date nor the size of a file is trusted, since two edits can fall into the same tick.
 */
export class ManifestFolder {
  readonly #root: string;
  readonly #executeOf: ExecuteOf;
  #known: ReadonlyMap<string, KnownFile> = new Map();

  constructor(root: string, executeOf: ExecuteOf) {
    this.#root = resolve(root);
    this.#executeOf = executeOf;
  }

  /** Reads what is new. Never rejects: a file or folder that cannot be read stays as it was, and is a finding. Unchanged files have the same content object. */
  async read(force: boolean): Promise<FolderContent> {
    const { files, issues } = await findManifestFiles(this.#root);
    const prefix = shownPath(this.#root, this.#root);
    const findings = issues.map((issue): CapabilityFinding =>
      Object.freeze({
        ...issue,
        file: belowPrefix(issue.file, prefix),
        kind: 'unreadable',
        owner: null,
      }),
    );
    const unreadable = findings
      .filter(({ severity }) => severity === 'error')
      .map(({ file }) => file);
    const known = new Map<string, KnownFile>();
    for (let start = 0; start < files.length; start += AT_ONCE) {
      const some = files
        .slice(start, start + AT_ONCE)
        .map((file) => ({ ...file, file: relative(this.#root, file.path).split(sep).join('/') }));
      const read = await Promise.all(some.map((file) => this.#readFile(file, force)));
      some.forEach(({ file }, index) => known.set(file, read[index]!));
    }
    for (const [file, before] of this.#known) {
      if (
        !known.has(file) &&
        unreadable.some((folder) => folder === '' || file.startsWith(`${folder}/`))
      )
        known.set(file, before);
    }
    this.#known = known;
    return {
      files: [...known.values()].map(({ content }) => content),
      findings,
      exists: !unreadable.includes(''),
    };
  }

  async #readFile(file: ManifestFile, force: boolean): Promise<KnownFile> {
    const before = this.#known.get(file.file);
    const read = await readTextFile(file.path);
    const hash =
      'fault' in read ? read.fault : createHash('sha256').update(read.text).digest('hex');
    if (before?.hash === hash && !force) return before;
    const { broken, ...parsed } =
      'fault' in read ? unreadableFile(file, read.fault) : this.#parse(file, read.text);
    const content: FileContent = Object.freeze({
      owner: file.persona ?? null,
      file: file.file,
      tools: [],
      work: [],
      ...parsed,
    });
    const good = broken ? before?.good : content;
    if (!broken || good === undefined) return { hash, content, good };
    const findings = content.findings.map((finding) =>
      Object.freeze({
        ...finding,
        message: `${finding.message} Its last good content stays in use.`,
      }),
    );
    return {
      hash,
      content: Object.freeze({ ...good, findings: [...findings, ...good.findings] }),
      good,
    };
  }

  #parse({ kind, file, persona }: ManifestFile, text: string): Parsed {
    const owner = persona ?? null;
    if (kind !== 'tools') return readWork(text, KINDS[kind], owner, file);
    const { entries, issues } = readManifest(text, { file, executeOf: this.#executeOf });
    const broken = issues.some(({ path, severity }) => path === '' && severity === 'error');
    const findings = issues.map((issue): CapabilityFinding =>
      Object.freeze({
        ...issue,
        kind: issue.path === '' && broken ? 'unreadable' : 'invalid',
        owner,
      }),
    );
    return {
      tools: entries.map(({ definition, entry, line }) =>
        Object.freeze({ definition, manifest: entry, line }),
      ),
      findings,
      broken,
    };
  }
}

/** The parts of a file's content; nothing of a broken file can be used. */
type Parsed = Partial<FileContent> & Pick<FileContent, 'findings'> & { readonly broken: boolean };

function unreadableFile({ file, persona }: ManifestFile, fault: string): Parsed {
  return {
    findings: [
      findingAt(
        { owner: persona ?? null, file, line: 1, column: 1, path: '' },
        'unreadable',
        'error',
        fault,
      ),
    ],
    broken: true,
  };
}

/** Returns a path of an issue relative to the root; empty for the root itself. */
function belowPrefix(file: string, prefix: string): string {
  if (file === prefix) return '';
  return file.startsWith(`${prefix}/`) ? file.slice(prefix.length + 1) : file;
}
