import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { randomUUID, sha256Of } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { expectedGot, invalidArgument } from '../core/issues.js';
import { checkOptions, text } from '../core/options.js';
import {
  blobStoreOptions,
  checkBytes,
  checkDigest,
  type BlobStore,
  type BlobStoreOptions,
} from './blob-store.js';

/**
 * The files of a store: blobs, and temporary files. Other files in the directory are left alone.
 */
const OWN_FILE = /^(?:[0-9a-f]{64}|\.[0-9a-f]{64}\.[0-9a-f-]{36}\.tmp)$/;
/** The longest time between two searches for expired files, in milliseconds. */
const SWEEP_MS = 3_600_000;

/**
 * Keeps blobs as files in a directory, for one or more processes on one machine. Each file is named
 * by its digest, only its owner can read it, and it's written atomically. A file whose bytes don't
 * match its name counts as missing and is removed.
 */
export class DirectoryBlobStore implements BlobStore {
  readonly #directory: string;
  readonly #options: z.output<ReturnType<typeof blobStoreOptions>>;
  #nextSweep = -Infinity;

  /**
   * Creates a store in a directory. Storing the first blob creates the directory if necessary.
   * @throws ToolError `INVALID_ARGUMENT` for wrong options.
   */
  constructor(directory: string, options: BlobStoreOptions = {}) {
    if (!text().safeParse(directory).success)
      throw invalidArgument('the path of a directory', directory);
    this.#directory = directory;
    this.#options = checkOptions(blobStoreOptions, options, 'options of DirectoryBlobStore');
  }

  /**
   * @throws ToolError `STATE_UNAVAILABLE` if the directory can't be written, or if every user of
   * the machine can write it.
   */
  async put(given: Uint8Array): Promise<string> {
    const bytes = checkBytes(given).slice(); // Copied, because the caller could change them while they're written.
    const digest = sha256Of(bytes);
    const beside = join(this.#directory, `.${digest}.${randomUUID()}.tmp`);
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      if (process.platform !== 'win32' && ((await stat(this.#directory)).mode & 0o002) !== 0)
        throw Object.assign(new Error(), { code: 'a directory that every user can write' });
      await writeFile(beside, bytes, { flag: 'wx', flush: true, mode: 0o600 });
      await chmod(beside, 0o600); // The process's umask can remove some permissions.
      await this.#touch(beside);
      await rename(beside, this.#path(digest));
    } catch (error) {
      await rm(beside, { force: true }).catch(() => undefined);
      throw unavailable('written', error);
    }
    await this.#sweep().catch(() => undefined); // The next sweep will try again.
    return digest;
  }

  /** @throws ToolError `STATE_UNAVAILABLE` if the directory can't be read. */
  async get(digest: string): Promise<Uint8Array | undefined> {
    const path = this.#path(digest);
    try {
      if (await this.#isOver(path)) return void (await rm(path, { force: true }));
      const bytes = new Uint8Array(await readFile(path));
      if (sha256Of(bytes) !== digest) return void (await rm(path, { force: true }));
      await this.#touch(path).catch(() => undefined); // The store can be read-only.
      return bytes;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw unavailable('read', error);
    }
  }

  /** @throws ToolError `STATE_UNAVAILABLE` if the directory can't be written. */
  async delete(digest: string): Promise<boolean> {
    const path = this.#path(digest);
    try {
      await rm(path);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw unavailable('written', error);
    }
  }

  #path(digest: string): string {
    return join(this.#directory, checkDigest(digest));
  }

  /** Sets a file's time by the store's clock. It records when the file was last used. */
  async #touch(path: string): Promise<void> {
    const now = new Date(this.#options.clock.now());
    await utimes(path, now, now);
  }

  async #isOver(path: string): Promise<boolean> {
    return this.#options.clock.now() - (await stat(path)).mtimeMs >= this.#options.ttlMs;
  }

  /** Removes expired files, and temporary files of processes that ended while writing. */
  async #sweep(): Promise<void> {
    const { clock, ttlMs } = this.#options;
    const now = clock.now();
    if (now < this.#nextSweep) return;
    this.#nextSweep = now + Math.min(SWEEP_MS, ttlMs);
    for (const name of await readdir(this.#directory)) {
      const path = join(this.#directory, name);
      if (OWN_FILE.test(name) && (await this.#isOver(path).catch(() => false)))
        await rm(path, { force: true });
    }
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function unavailable(done: string, cause: unknown): ToolError {
  return new ToolError(
    'STATE_UNAVAILABLE',
    expectedGot(
      `a directory of blobs that can be ${done}`,
      (cause as NodeJS.ErrnoException).code ?? 'an error',
      'Check the directory and its permissions.',
    ),
    { cause },
  );
}
