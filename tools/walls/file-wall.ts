import { existsSync, mkdirSync, renameSync, unlinkSync } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ToolError } from '../../src/index.js';
import { explainSystemError, isMissing, limitExceeded, obstacle } from './file-errors.js';
import {
  entriesOf,
  kindOf,
  lstatOrNothing,
  readFileBytes,
  replaceFile,
  requireFile,
  requireReplaceable,
  requireUnchanged,
  type Entry,
  type EntryKind,
} from './file-io.js';
import { FileKeys } from './file-keys.js';
import {
  containedSegments,
  forbiddenPath,
  isSecret,
  isTellingFolder,
  refuseNames,
  segmentsOf,
} from './path-rules.js';

/** Bytes: 1 MiB, far above source files and far below what fills a process. */
const MAX_FILE_BYTES = 1_048_576;
/** Entries of one listing: more is not read by anyone. */
const MAX_ENTRIES = 1_000;
/** Entries looked at by one walk, or in one folder: a large repository, a few seconds. */
const MAX_WALK_ENTRIES = 50_000;
/** Folders below the starting one: deeper is a mistake or an attack. */
const MAX_WALK_DEPTH = 64;
/** Folders that a walk leaves out: not the project's own text. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/** The options of a file wall. */
interface FileWallOptions {
  /** The bytes of the largest file that is read. @default 1,048,576 */ readonly maxReadBytes?: number;
  /** The bytes of the largest text that is written. @default 1,048,576 */ readonly maxWriteBytes?: number;
  /** The entries of a folder that are listed. @default 1,000 */ readonly maxEntries?: number;
  /** The entries that a search goes through. @default 50,000 */ readonly maxWalkEntries?: number;
  /** Lets `.env` files, private keys and the like through; the folder of git never. @default false */
  readonly allowSecrets?: boolean;
  /** Says that the file system takes `A.txt` and `a.txt` for one file. @default looked up when a key is first asked for */
  readonly ignoresCase?: boolean;
}

/** A tool behind a wall: what its `conflictKeys` and `canonicalInput` are called on. */
export interface BehindFileWall {
  readonly files: FileWall;
}

/** Returns an input with its paths as policy and tool read them: relative to the root, in one form. */
export function fileInput<In extends object>(this: BehindFileWall, input: In): In {
  return this.files.keys.inputBelow(input);
}

/** The keys of a tool that reads a path and everything below it. */
export function readsBelow(this: BehindFileWall, { path }: { readonly path: string }) {
  return { reads: this.files.keys.below(path) };
}

export interface FileStat {
  /** The real path, relative to the root. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly bytes: number;
  /** ISO 8601. */
  readonly modified: string;
}

/** The place to which a path really leads. */
interface Place {
  readonly root: string;
  readonly segments: readonly string[];
  /** The real absolute path. */
  readonly real: string;
  /** The real path, relative to the root. */
  readonly shown: string;
}

/** The reading of a path: `write` refuses the root itself, `keepLink` takes a link at its end for what it is. */
interface Way {
  readonly write?: boolean;
  readonly keepLink?: boolean;
}

/**
 * Lets file operations through only below one root folder, judged by real paths.
 *
 * Symlinks are followed while they stay inside. The real path is checked before an entry is opened and again after, or
 * right before it is renamed or removed, so a link that is swapped in between ends in a refusal. Someone who can swap
 * folders below the root, and hits the right instant twice, can still lead a call elsewhere. A hard link to a file
 * outside is that file, under this root, and not told apart.
 *
 * Every method throws `FORBIDDEN_PATH` for a path it refuses, `LIMIT_EXCEEDED` beyond a bound, and
 * `EXECUTION_FAILED` with `details.reason` when the file system does not allow it; `orFail` makes that last one a result.
 */
export class FileWall {
  readonly #root: string;
  readonly #limits: Required<Omit<FileWallOptions, 'ignoresCase'>>;
  /** The keys of what calls touch below the root. */
  readonly keys: FileKeys;

  /** Touches nothing: the root is looked at by the first call. */
  constructor(
    root: string,
    {
      maxReadBytes = MAX_FILE_BYTES,
      maxWriteBytes = MAX_FILE_BYTES,
      maxEntries = MAX_ENTRIES,
      maxWalkEntries = MAX_WALK_ENTRIES,
      allowSecrets = false,
      ignoresCase,
    }: FileWallOptions = {},
  ) {
    this.#root = resolve(root);
    this.keys = new FileKeys(root, ignoresCase);
    this.#limits = { maxReadBytes, maxWriteBytes, maxEntries, maxWalkEntries, allowSecrets };
  }

  get maxWriteBytes(): number {
    return this.#limits.maxWriteBytes;
  }

  /** The path relative to the root, worked out as text; `.` for the root. */
  relative(path: string): string {
    return segmentsOf(path, [this.#root]).join('/') || '.';
  }

  /** The real absolute path, which need not exist. */
  async resolve(path: string): Promise<string> {
    return (await this.#locate(path)).real;
  }

  /** Returns what is there, following links; nothing when there is nothing. */
  async stat(path: string): Promise<FileStat | undefined> {
    try {
      return await this.#use(path, {}, async ({ real, shown }) => {
        const stats = await lstat(real);
        requireUnchanged(path, real, stats);
        return {
          path: shown,
          kind: kindOf(stats),
          bytes: stats.size,
          modified: stats.mtime.toISOString(),
        };
      });
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async readBytes(path: string): Promise<Uint8Array> {
    return this.#use(path, {}, ({ real }) => readFileBytes(path, real, this.#limits.maxReadBytes));
  }

  /** The file's text as it is, byte order mark and line ends included; refuses what is not UTF-8. */
  async readText(path: string): Promise<string> {
    return this.textOf(path, await this.readBytes(path));
  }

  /** The text of bytes that were read from a file. */
  textOf(path: string, bytes: Uint8Array): string {
    try {
      if (bytes.includes(0)) throw new TypeError('binary');
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw obstacle(path, 'not_text', 'a text file in UTF-8', 'other bytes');
    }
  }

  /** Replaces a file in one step, or makes it and its folders: readers see the old text or the new one. */
  async writeText(
    path: string,
    text: string,
    { overwrite = true } = {},
  ): Promise<{ readonly path: string; readonly bytes: number; readonly created: boolean }> {
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#limits.maxWriteBytes)
      throw limitExceeded(path, `at most ${this.#limits.maxWriteBytes} bytes to write`, bytes);
    return this.#use(path, { write: true }, async (place) => {
      makeFolders(path, place);
      const created = await replaceFile(path, place.real, text, overwrite);
      return { path: place.shown, bytes, created };
    });
  }

  /** The entries of a folder by name, with the sizes of files. */
  async list(
    path: string,
  ): Promise<{ readonly entries: readonly Entry[]; readonly truncated: boolean }> {
    return this.#use(path, {}, async ({ real }) => {
      const all = await entriesOf(path, real, this.#limits.maxWalkEntries);
      const entries: Entry[] = [];
      for (const { name, kind } of all.slice(0, this.#limits.maxEntries)) {
        const stats = kind === 'file' ? await lstatOrNothing(join(real, name)) : undefined;
        entries.push(stats === undefined ? { name, kind } : { name, kind, bytes: stats.size });
      }
      requireUnchanged(path, real);
      return { entries, truncated: all.length > entries.length };
    });
  }

  /**
   * The paths of all regular files below a folder, folder by folder in the order of names.
   *
   * Links are not followed; `.git`, `node_modules` and files with secrets are left out. `truncated` says that a bound
   * was reached or a folder could not be read.
   */
  async walk(
    path: string,
    signal?: AbortSignal,
  ): Promise<{ readonly files: readonly string[]; readonly truncated: boolean }> {
    const start = await this.#locate(path);
    const files: string[] = [];
    let left = this.#limits.maxWalkEntries;
    let truncated = false;
    const visit = async (segments: readonly string[], depth: number): Promise<void> => {
      signal?.throwIfAborted();
      const folder = join(start.root, ...segments);
      const entries = await explained(path, () =>
        entriesOf(path, folder, this.#limits.maxWalkEntries),
      );
      for (const { name, kind } of entries) {
        if (left <= 0) truncated = true;
        if (left-- <= 0) return;
        const below = [...segments, name];
        if (isSecret(below) && !this.#limits.allowSecrets) continue;
        if (kind === 'file') files.push(below.join('/'));
        if (kind !== 'directory' || SKIPPED_FOLDERS.has(name)) continue;
        if (depth >= MAX_WALK_DEPTH) truncated = true;
        else
          await visit(below, depth + 1).catch((error: unknown) => {
            if (!(error instanceof ToolError)) throw error;
            truncated = true; // Removed or locked meanwhile; the rest is still worth having.
          });
      }
    };
    await visit(start.segments, 0);
    return { files, truncated };
  }

  /** Removes one file or one link; never what a link leads to, never a folder. */
  async remove(path: string): Promise<{ readonly path: string; readonly bytes: number }> {
    return this.#use(path, { write: true, keepLink: true }, async ({ real, shown }) => {
      const stats = await lstat(real);
      if (!stats.isSymbolicLink()) requireFile(path, stats);
      requireUnchanged(path, dirname(real));
      unlinkSync(real);
      return { path: shown, bytes: stats.size };
    });
  }

  /** Moves a file, link or folder; replaces only files, and only with `overwrite`. */
  async move(
    from: string,
    to: string,
    { overwrite = false } = {},
  ): Promise<{ readonly from: string; readonly to: string; readonly overwritten: boolean }> {
    const keep = { write: true, keepLink: true };
    return this.#use(from, keep, (source) =>
      this.#use(to, keep, async (target) => {
        if (isTellingFolder(source.segments) && !this.#limits.allowSecrets)
          throw forbiddenPath(from, 'under another name its secrets would not be known');
        if (source.segments.every((segment, index) => segment === target.segments[index]))
          throw obstacle(
            to,
            'same_place',
            'another place than what is moved',
            'the same or one inside it',
          );
        await explained(from, () => lstat(source.real));
        makeFolders(to, target);
        const before = await requireReplaceable(to, target.real, overwrite, { link: true });
        requireUnchanged(from, dirname(source.real));
        requireUnchanged(to, dirname(target.real));
        renameSync(source.real, target.real);
        return { from: source.shown, to: target.shown, overwritten: before !== undefined };
      }),
    );
  }

  /** Returns the place to which a path really leads, checked as text, by real path and by name. */
  async #locate(path: unknown, { write = false, keepLink = false }: Way = {}): Promise<Place> {
    const { allowSecrets } = this.#limits;
    return explained(path, async () => {
      const root = await realpath(this.#root);
      const asked = segmentsOf(path, [this.#root, root]);
      refuseNames(path, asked, { allowSecrets });
      const leaf = keepLink ? asked.slice(-1) : [];
      const real = await realPathOf(
        path,
        join(root, ...asked.slice(0, asked.length - leaf.length)),
      );
      const segments = containedSegments(root, join(real, ...leaf));
      if (segments === undefined) throw forbiddenPath(path, 'a symlink leads outside');
      refuseNames(path, segments, { allowSecrets });
      if (write && segments.length === 0)
        throw forbiddenPath(path, 'the root itself is not replaced');
      const shown = segments.join('/') || '.';
      return { root, segments, real: join(root, ...segments), shown };
    });
  }

  async #use<T>(path: string, way: Way, work: (place: Place) => Promise<T>): Promise<T> {
    const place = await this.#locate(path, way);
    return explained(path, () => work(place));
  }
}

/** Does work on a path; errors of the system come in the wall's words. */
async function explained<T>(path: unknown, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explainSystemError(path, error);
  }
}

/** Makes the folders above a place that are missing. */
function makeFolders(path: string, { root, segments }: Place): void {
  let folder = root;
  for (const segment of segments.slice(0, -1)) {
    requireUnchanged(path, folder);
    folder = join(folder, segment);
    if (!existsSync(folder)) mkdirSync(folder);
  }
  requireUnchanged(path, folder);
}

/** The real path of the deepest part that exists, and the rest as it is. */
async function realPathOf(path: unknown, absolute: string): Promise<string> {
  const missing: string[] = [];
  for (let existing = absolute; ; existing = dirname(existing)) {
    try {
      return join(await realpath(existing), ...missing);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
      // A link to something that does not exist yet would let it be made anywhere.
      const there = await lstat(existing).catch(() => undefined);
      if (there?.isSymbolicLink()) throw forbiddenPath(path, 'a symlink leads nowhere');
      missing.unshift(basename(existing));
    }
  }
}
