import { randomUUID } from 'node:crypto';
import { constants, lstatSync, opendirSync, realpathSync, renameSync, type Stats } from 'node:fs';
import { lstat, open, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CHANGED, limitExceeded, obstacle } from './file-errors.js';
import { forbiddenPath } from './path-rules.js';

/** `undefined` on Windows. The bitwise OR below treats that as 0. */
const NO_FOLLOW = constants.O_NOFOLLOW;
/** Number of bytes per read. */
const CHUNK_BYTES = 65_536;
/**
 * Mode of new files: everyone can read them, and the owner can write. This mode is safe, because
 * files with secrets are refused.
 */
const NEW_FILE_MODE = 0o644;

export type EntryKind = 'file' | 'directory' | 'symlink' | 'other';

/** An entry of a directory. */
export type Entry = {
  readonly name: string;
  readonly kind: EntryKind;
  /** The size in bytes. Only files have a size. */
  readonly bytes?: number;
};

export function kindOf(entry: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): EntryKind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'symlink' : 'other';
}

/** Refuses everything except regular files. `path` is the path that the caller passed. */
export function requireFile(path: string, stats: Stats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw obstacle(path, 'directory', 'a file', 'a folder');
  throw forbiddenPath(
    path,
    stats.isSymbolicLink() ? CHANGED : "pipes, sockets and devices aren't regular files",
  );
}

export async function lstatOrNothing(path: string): Promise<Stats | undefined> {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** The number of times that a path is checked. */
const ROUNDS = 3;

/**
 * Refuses a real path that now leads elsewhere because a folder on the way was replaced with a
 * link. With `opened`, also refuses the path if a different file was opened.
 *
 * The function is synchronous, to leave as little time as possible between the check and the use.
 * In one round, a link that is swapped between the two system calls could go unnoticed. Several
 * rounds make that far less likely.
 */
export function requireUnchanged(path: string, real: string, opened?: Stats): void {
  for (let round = 0; round < ROUNDS; round += 1) {
    const there = realpathSync.native(real) === real && lstatSync(real);
    if (!there || (opened && (there.ino !== opened.ino || there.dev !== opened.dev)))
      throw forbiddenPath(path, CHANGED);
  }
}

/**
 * Returns the content of the regular file at a real path. Here and below, `path` is the path that
 * the caller passed.
 */
export async function readFileBytes(path: string, real: string, maxBytes: number): Promise<Buffer> {
  requireFile(path, await lstat(real));
  // Without `O_NONBLOCK`, opening a FIFO would wait forever for a writer.
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | NO_FOLLOW);
  try {
    const opened = await file.stat();
    requireFile(path, opened);
    requireUnchanged(path, real, opened);
    return await readBounded(path, file, maxBytes);
  } finally {
    await file.close();
  }
}

/**
 * Reads a file up to a maximum size. Counts the bytes while reading, because the size in the file's
 * metadata may be wrong.
 */
async function readBounded(path: string, file: FileHandle, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let total = 0; ;) {
    const { bytesRead, buffer } = await file.read(
      Buffer.allocUnsafe(CHUNK_BYTES),
      0,
      CHUNK_BYTES,
      null,
    );
    if (bytesRead === 0) return Buffer.concat(chunks, total);
    total += bytesRead;
    if (total > maxBytes) throw limitExceeded(path, `a file of at most ${maxBytes} bytes`, 'more');
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

/** Atomically replaces or creates the file at a real path. Returns true if the file was created. */
export async function replaceFile(
  path: string,
  real: string,
  text: string,
  overwrite: boolean,
): Promise<boolean> {
  const before = await requireReplaceable(path, real, overwrite);
  const temporary = join(dirname(real), `.tooldex-${randomUUID()}.tmp`);
  const file = await open(
    temporary,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW,
    NEW_FILE_MODE,
  );
  try {
    try {
      requireUnchanged(path, temporary, await file.stat());
      await file.writeFile(text);
      if (before !== undefined) await file.chmod(before.mode & 0o777);
      await file.sync(); // Without `sync`, a crash could leave an empty file.
    } finally {
      await file.close();
    }
    requireUnchanged(path, temporary);
    renameSync(temporary, real);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  return before === undefined;
}

/**
 * Returns the existing file at a real path if it may be overwritten, or `undefined` if there is
 * none.
 */
export async function requireReplaceable(
  path: string,
  real: string,
  overwrite: boolean,
  { link = false } = {},
): Promise<Stats | undefined> {
  const before = await lstatOrNothing(real);
  if (before === undefined) return undefined;
  if (!link || !before.isSymbolicLink()) requireFile(path, before);
  if (overwrite) return before;
  throw obstacle(path, 'exists', 'nothing', 'a file. To replace it, allow overwriting');
}

/** Returns the entries of the folder at a real path, sorted by name. */
export async function entriesOf(path: string, real: string, maxEntries: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  requireUnchanged(path, real);
  const folder = opendirSync(real);
  try {
    requireUnchanged(path, real);
    for (let entry = await folder.read(); entry !== null; entry = await folder.read()) {
      if (entries.length >= maxEntries)
        throw limitExceeded(path, `a folder of at most ${maxEntries} entries`, entries.length + 1);
      entries.push({ name: entry.name, kind: kindOf(entry) });
    }
  } finally {
    await folder.close();
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
