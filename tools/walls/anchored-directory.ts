import { constants, existsSync } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { isInside } from './path-rules.js';

/** Linux reaches the entries of an open directory here, whatever its path leads to by now. */
const DESCRIPTORS = '/proc/self/fd';
/** Missing on Windows, where the bitwise or below takes it for 0. */
export const NO_FOLLOW = constants.O_NOFOLLOW;
const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | NO_FOLLOW;

/**
 * A directory below a root, entered segment by segment without following a symlink, and held until it is closed.
 *
 * On Linux it is held by descriptor: swapping any part of its path for a symlink cannot lead a later call elsewhere.
 * Other systems offer Node no such way. There it is held by path: `isInside` and `holds` catch most swaps, but someone
 * who can change the root at the same time, and hits the right instant, can lead a call elsewhere.
 */
export class AnchoredDirectory {
  private constructor(
    private readonly root: string,
    private readonly base: string,
    private readonly handle: FileHandle | undefined,
  ) {}

  /** Enters `root` and then each of the segments; with `create` makes those that are missing. Fails with the system's error. */
  static async enter(
    root: string,
    segments: readonly string[],
    { create = false } = {},
  ): Promise<AnchoredDirectory> {
    let current = await AnchoredDirectory.#hold(root, root);
    try {
      for (const segment of segments) {
        if (create) await mkdir(current.at(segment)).catch(ignoreExisting);
        const next = await AnchoredDirectory.#hold(root, current.at(segment));
        await current.close();
        current = next;
      }
      return current;
    } catch (error) {
      await current.close();
      throw error;
    }
  }

  static async #hold(root: string, path: string): Promise<AnchoredDirectory> {
    if (existsSync(DESCRIPTORS)) {
      const handle = await open(path, OPEN_DIRECTORY);
      return new AnchoredDirectory(root, `${DESCRIPTORS}/${handle.fd}`, handle);
    }
    if (!(await lstat(path)).isDirectory())
      throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
    return new AnchoredDirectory(root, path, undefined);
  }

  /** The path under which one entry of this directory is reached; `.` is the directory itself. */
  at(name: string): string {
    return `${this.base}/${name}`;
  }

  /** Returns true if the directory lies below the root at this moment: it may have been moved while it was entered. */
  async isInside(): Promise<boolean> {
    if (this.handle === undefined) return (await realpath(this.base)) === join(this.base);
    return isInside(this.root, await readlink(this.base));
  }

  /** Returns true if an opened file is the entry it was opened as, and lies below the root. */
  async holds(name: string, file: FileHandle): Promise<boolean> {
    if (this.handle !== undefined)
      return isInside(this.root, await readlink(`${DESCRIPTORS}/${file.fd}`));
    const [opened, entry] = await Promise.all([file.stat(), lstat(this.at(name))]);
    return opened.dev === entry.dev && opened.ino === entry.ino && (await this.isInside());
  }

  async close(): Promise<void> {
    await this.handle?.close();
  }
}

function ignoreExisting(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
}
