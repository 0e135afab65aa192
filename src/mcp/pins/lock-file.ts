import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import type { Clock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import { shownPath } from '../../capability/manifest/read-file.js';
import { lockTextOf, MAX_LOCK_LENGTH, readLockText, refusedLock } from './lock-text.js';
import type { PinTable } from './pin-table.js';

/** How often, and how many milliseconds apart, a writer looks whether another one is done: five seconds in all. */
const LOOKS = 100;
const PAUSE_MS = 50;

/**
 * The pins of a lock file.
 *
 * @returns nothing where there is no file.
 * @throws ToolError `INVALID_ARGUMENT` for a file that cannot be read or is refused.
 */
export async function readLockFile(file: string): Promise<PinTable | undefined> {
  const name = shownPath(file);
  const text = await textOf(file, name);
  return text === undefined ? undefined : readLockText(text, name);
}

/**
 * Changes a lock file; a missing one begins empty.
 *
 * The file is read, changed and replaced while `<file>.lock` stands beside it, as git does with its index: of two processes
 * the second waits, and neither undoes what the other did. Readers see the old file or the new one. A file that would not
 * change is not touched.
 *
 * @returns the pins as they are now in the file.
 * @throws ToolError `INVALID_ARGUMENT` for a file that is refused or cannot be written, and `STATE_UNAVAILABLE` when
 * `<file>.lock` does not go away.
 */
export async function changeLockFile(file: string, change: (pins: PinTable) => void, clock: Clock): Promise<PinTable> {
  const name = shownPath(file);
  const guard = `${file}.lock`;
  await (await openGuard(guard, name, clock)).close();
  try {
    const before = await textOf(file, name);
    const pins = readLockText(before ?? EMPTY, name);
    change(pins);
    const after = lockTextOf(pins);
    if (after.length > MAX_LOCK_LENGTH) throw new ToolError('LIMIT_EXCEEDED', `expected pins of at most ${MAX_LOCK_LENGTH} characters in ${name}, found ${after.length}; pin fewer tools`);
    if (after !== before) await replace(file, after, name);
    return pins;
  } finally {
    await rm(guard, { force: true });
  }
}

const EMPTY = '{"version":1,"servers":{}}';

async function openGuard(guard: string, name: string, clock: Clock): Promise<FileHandle> {
  for (let look = 1; ; look++) {
    try {
      return await open(guard, 'wx');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EEXIST') throw cannotWrite(name, error);
      if (look === LOOKS) throw new ToolError('STATE_UNAVAILABLE', `expected ${name}.lock to go away, found it for ${(LOOKS * PAUSE_MS) / 1_000} seconds; another process is writing, or one ended while it was: then delete ${name}.lock`);
      await new Promise<void>((resolve) => void clock.after(PAUSE_MS, resolve));
    }
  }
}

async function textOf(file: string, name: string): Promise<string | undefined> {
  let handle: FileHandle | undefined;
  try {
    // A named pipe would keep an opening reader waiting.
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile()) throw refusedLock(name, ['expected a file, found a folder or a device']);
    if (stats.size > MAX_LOCK_LENGTH) throw refusedLock(name, [`expected at most ${MAX_LOCK_LENGTH} bytes, found ${stats.size}`]);
    return new TextDecoder('utf-8', { fatal: true }).decode(await handle.readFile());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof ToolError) throw error;
    if (code === 'ENOENT') return undefined;
    throw refusedLock(name, [code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'expected UTF-8 text, found bytes that are none' : `expected a file that can be read, found ${code ?? 'an error'}`], error);
  } finally {
    await handle?.close();
  }
}

/** Beside it first, then in its place: a process that dies while it writes leaves the old file whole. */
async function replace(file: string, text: string, name: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(temporary, 'wx');
    try {
      await handle.writeFile(text);
      await handle.sync(); // Otherwise a crash could leave the name on an empty file.
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw cannotWrite(name, error);
  }
}

function cannotWrite(name: string, error: unknown): ToolError {
  return new ToolError('INVALID_ARGUMENT', `expected ${name} in a folder that can be written, found ${(error as NodeJS.ErrnoException).code ?? 'an error'}`, { cause: error });
}
