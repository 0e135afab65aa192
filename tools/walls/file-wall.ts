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

/** Maximum file size: 1 MiB. Source files are far smaller, and many such files fit in memory. */
const MAX_FILE_BYTES = 1_048_576;
/** Maximum number of entries in one listing. */
const MAX_ENTRIES = 1_000;
/**
 * Maximum number of entries examined by one walk or in one folder. A large repository has about
 * that many entries, and examining them takes a few seconds.
 */
const MAX_WALK_ENTRIES = 50_000;
/** Maximum depth of a walk. Deeper folders are a mistake or an attack. */
const MAX_WALK_DEPTH = 64;
/** Folders that a walk skips, because they contain no text of the project itself. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/** Options for a `FileWall`. */
interface FileWallOptions {
  /** Maximum size of a file to read, in bytes. @default 1,048,576 */ readonly maxReadBytes?: number;
  /** Maximum size of a text to write, in bytes. @default 1,048,576 */ readonly maxWriteBytes?: number;
  /** Maximum number of entries listed in a folder. @default 1,000 */ readonly maxEntries?: number;
  /** Maximum number of entries that a search examines. @default 50,000 */ readonly maxWalkEntries?: number;
  /**
   * Allows `.env` files, private keys and other secrets. Git's folder is never allowed.
   * @default false
   */
  readonly allowSecrets?: boolean;
  /**
   * True if the file system treats `A.txt` and `a.txt` as one file.
   * @default detected when a key is first needed
   */
  readonly ignoresCase?: boolean;
}

/** The type of `this` in a file tool's `conflictKeys` and `canonicalInput`. */
export interface BehindFileWall {
  readonly files: FileWall;
}

/** Returns an input with canonical paths relative to the root, for both the policy and the tool. */
export function fileInput<In extends object>(this: BehindFileWall, input: In): In {
  return this.files.keys.inputBelow(input);
}

/** Returns the keys for a tool that reads a path and everything below it. */
export function readsBelow(this: BehindFileWall, { path }: { readonly path: string }) {
  return { reads: this.files.keys.below(path) };
}

/** Returns the keys for a tool that reads one file. */
export function readsFile(this: BehindFileWall, { path }: { readonly path: string }) {
  return { reads: this.files.keys.of(path) };
}

/** The kind, size, and time of a file or directory. */
export type FileStat = {
  /** The real path, relative to the root. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly bytes: number;
  /** Modification time in ISO 8601. */
  readonly modified: string;
};

/** The location that a path resolves to. */
interface Place {
  readonly root: string;
  readonly segments: readonly string[];
  /** The real absolute path. */
  readonly real: string;
  /** The real path, relative to the root. */
  readonly shown: string;
}

/**
 * Options for resolving a path. With `write`, the root itself is refused. With `keepLink`, a link
 * at the end of the path isn't followed.
 */
interface Way {
  readonly write?: boolean;
  readonly keepLink?: boolean;
}

/**
 * Confines file operations to one root folder, based on real paths.
 *
 * Symlinks are followed if they stay inside the root. The real path is checked before an entry is
 * opened, and again after opening or right before a rename or removal. If a link is swapped between
 * the two checks, the call is refused. An attacker who can swap folders below the root at exactly
 * the right moment, twice, can still redirect a call. A hard link to a file outside the root looks
 * like any file inside the root, so a hard link isn't refused.
 *
 * Every method throws `FORBIDDEN_PATH` if it refuses a path, `LIMIT_EXCEEDED` if a limit is
 * exceeded, and `EXECUTION_FAILED` with `details.reason` if the file system reports an error.
 * `orFail` converts `EXECUTION_FAILED` to a failed result.
 */
export class FileWall {
  readonly #root: string;
  readonly #limits: Required<Omit<FileWallOptions, 'ignoresCase'>>;
  /** The keys of files below the root that calls touch. */
  readonly keys: FileKeys;

  /** Does no I/O. The root is examined by the first call. */
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

  /** Returns the path relative to the root, computed as text. The root itself is `.`. */
  relative(path: string): string {
    return segmentsOf(path, [this.#root]).join('/') || '.';
  }

  /** Returns the real absolute path, which doesn't have to exist. */
  async resolve(path: string): Promise<string> {
    return (await this.#locate(path)).real;
  }

  /**
   * Returns information about the file or folder at the path, following links, or `undefined` if it
   * doesn't exist.
   */
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

  /**
   * Returns the file's exact text, including the byte order mark and line endings. Refuses files
   * that aren't UTF-8.
   */
  async readText(path: string): Promise<string> {
    return this.textOf(path, await this.readBytes(path));
  }

  /** Decodes bytes read from a file. */
  textOf(path: string, bytes: Uint8Array): string {
    try {
      if (bytes.includes(0)) throw new TypeError('binary');
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw obstacle(path, 'not_text', 'a text file in UTF-8', 'other bytes');
    }
  }

  /**
   * Atomically replaces or creates a file, and creates missing folders. Readers see either the old
   * or the new text.
   */
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

  /** Returns a folder's entries, sorted by name, with the sizes of files. */
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
   * Returns the paths of all regular files below a folder, sorted by folder and name.
   *
   * Doesn't follow links, and skips `.git`, `node_modules` and files with secrets. `truncated` is
   * true if a limit was reached or a folder couldn't be read.
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
            truncated = true; // The entry was removed or locked during the walk.
          });
      }
    };
    await visit(start.segments, 0);
    return { files, truncated };
  }

  /** Removes one file or link. Never removes a folder, or the target of a link. */
  async remove(path: string): Promise<{ readonly path: string; readonly bytes: number }> {
    return this.#use(path, { write: true, keepLink: true }, async ({ real, shown }) => {
      const stats = await lstat(real);
      if (!stats.isSymbolicLink()) requireFile(path, stats);
      requireUnchanged(path, dirname(real));
      unlinkSync(real);
      return { path: shown, bytes: stats.size };
    });
  }

  /** Moves a file, link or folder. Replaces only files, and only with `overwrite`. */
  async move(
    from: string,
    to: string,
    { overwrite = false } = {},
  ): Promise<{ readonly from: string; readonly to: string; readonly overwritten: boolean }> {
    const keep = { write: true, keepLink: true };
    return this.#use(from, keep, (source) =>
      this.#use(to, keep, async (target) => {
        if (isTellingFolder(source.segments) && !this.#limits.allowSecrets)
          throw forbiddenPath(from, "under another name its secrets wouldn't be recognized");
        if (source.segments.every((segment, index) => segment === target.segments[index]))
          throw obstacle(
            to,
            'same_place',
            'a different destination',
            'the same path or one inside it',
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

  /** Resolves a path to its real location, after checking its text, its real path and its name. */
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
        throw forbiddenPath(path, "the root itself can't be replaced");
      const shown = segments.join('/') || '.';
      return { root, segments, real: join(root, ...segments), shown };
    });
  }

  async #use<T>(path: string, way: Way, work: (place: Place) => Promise<T>): Promise<T> {
    const place = await this.#locate(path, way);
    return explained(path, () => work(place));
  }
}

/** Runs `work` and converts system errors to `ToolError`s. */
async function explained<T>(path: unknown, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explainSystemError(path, error);
  }
}

/** Creates the missing folders above a place. */
function makeFolders(path: string, { root, segments }: Place): void {
  let folder = root;
  for (const segment of segments.slice(0, -1)) {
    requireUnchanged(path, folder);
    folder = join(folder, segment);
    if (!existsSync(folder)) mkdirSync(folder);
  }
  requireUnchanged(path, folder);
}

/**
 * Returns the real path of a file or folder that may not exist. Resolves the deepest existing part
 * of the path and appends the rest.
 */
async function realPathOf(path: unknown, absolute: string): Promise<string> {
  const missing: string[] = [];
  for (let existing = absolute; ; existing = dirname(existing)) {
    try {
      return join(await realpath(existing), ...missing);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
      // Through a dangling symlink, a file could be created anywhere.
      const there = await lstat(existing).catch(() => undefined);
      if (there?.isSymbolicLink()) throw forbiddenPath(path, 'a symlink is dangling');
      missing.unshift(basename(existing));
    }
  }
}
