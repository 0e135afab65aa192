import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { lstat, open, opendir, rename, unlink, type FileHandle } from 'node:fs/promises';
import { NO_FOLLOW, type AnchoredDirectory } from './anchored-directory.js';
import { CHANGED, limitExceeded, obstacle } from './file-errors.js';
import { forbiddenPath } from './path-rules.js';

/** Bytes of one read call. */
const CHUNK_BYTES = 65_536;
/** New files: read by all, written by the owner; nothing here is secret, secrets are refused. */
const NEW_FILE_MODE = 0o644;

export type EntryKind = 'file' | 'directory' | 'symlink' | 'other';

export interface Entry {
  readonly name: string;
  readonly kind: EntryKind;
  /** The size, of files only. */
  readonly bytes?: number;
}

export function kindOf(entry: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): EntryKind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'symlink' : 'other';
}

/** Refuses everything but regular files; `path` is what the caller asked for. */
export function requireFile(path: string, stats: Stats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw obstacle(path, 'directory', 'a file', 'a folder');
  throw forbiddenPath(
    path,
    stats.isSymbolicLink() ? CHANGED : 'pipes, sockets and devices are not files',
  );
}

export async function lstatOrNothing(path: string): Promise<Stats | undefined> {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** The content of one regular file of a directory. */
export async function readFileBytes(
  directory: AnchoredDirectory,
  name: string,
  path: string,
  maxBytes: number,
): Promise<Buffer> {
  requireFile(path, await lstat(directory.at(name)));
  // Without O_NONBLOCK a FIFO that was swapped in would wait for a writer forever.
  const file = await open(
    directory.at(name),
    constants.O_RDONLY | constants.O_NONBLOCK | NO_FOLLOW,
  );
  try {
    requireFile(path, await file.stat());
    if (!(await directory.holds(name, file))) throw forbiddenPath(path, CHANGED);
    return await readBounded(path, file, maxBytes);
  } finally {
    await file.close();
  }
}

/** Counts while reading: the size a file states may be wrong or grow. */
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

/** Replaces one file of a directory by a finished new one, or makes it; says whether it was made. */
export async function replaceFile(
  directory: AnchoredDirectory,
  name: string,
  path: string,
  text: string,
  overwrite: boolean,
): Promise<boolean> {
  const before = await lstatOrNothing(directory.at(name));
  if (before !== undefined) requireFile(path, before);
  if (before !== undefined && !overwrite)
    throw obstacle(path, 'exists', 'nothing', 'a file. Ask for overwriting if it may be replaced');
  const temporary = directory.at(`.tooldex-${randomUUID()}.tmp`);
  const file = await open(
    temporary,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW,
    NEW_FILE_MODE,
  );
  try {
    try {
      await file.writeFile(text);
      if (before !== undefined) await file.chmod(before.mode & 0o777);
      await file.sync(); // Otherwise a crash could leave the new name on an empty file.
    } finally {
      await file.close();
    }
    await rename(temporary, directory.at(name));
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  return before === undefined;
}

/** The entries of a directory in the order of their names. */
export async function entriesOf(
  directory: AnchoredDirectory,
  path: string,
  maxEntries: number,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of await opendir(directory.at('.'))) {
    if (entries.length >= maxEntries)
      throw limitExceeded(path, `a folder of at most ${maxEntries} entries`, entries.length + 1);
    entries.push({ name: entry.name, kind: kindOf(entry) });
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
