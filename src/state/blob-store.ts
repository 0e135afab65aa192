import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { sha256Of } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { expectedGot, invalidArgument } from '../core/issues.js';
import {
  checkOptions,
  clock,
  milliseconds,
  once,
  wholeBetween,
  type FieldsOf,
} from '../core/options.js';

/**
 * A store for bytes that are too large for messages, such as screenshots. Chats and sessions keep
 * the digest instead.
 *
 * Equal bytes have the same digest and are stored once. A store may drop bytes that were neither
 * put nor read for its lifetime. If a conversation continues without them, the model is told.
 */
export interface BlobStore {
  /** Stores bytes and restarts their lifetime. @returns their SHA-256 as 64 hexadecimal digits. */
  put(bytes: Uint8Array): Promise<string>;

  /**
   * Returns the bytes with this digest and restarts their lifetime, or returns `undefined` if the
   * store doesn't have them.
   */
  get(digest: string): Promise<Uint8Array | undefined>;

  /** Removes the bytes with this digest. @returns true if the store had them. */
  delete(digest: string): Promise<boolean>;
}

/**
 * Returns the digest unchanged. File names consist of digests only. @throws ToolError
 * `INVALID_ARGUMENT` for any other value.
 */
export function checkDigest(digest: unknown): string {
  if (typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest))
    throw invalidArgument('a digest as 64 hexadecimal digits', digest);
  return digest;
}

/** Returns the bytes unchanged. @throws ToolError `INVALID_ARGUMENT` for any other value. */
export function checkBytes(bytes: unknown): Uint8Array {
  if (!(bytes instanceof Uint8Array)) throw invalidArgument('bytes as a Uint8Array', bytes);
  return bytes;
}

/** The options of every blob store in this package. */
export interface BlobStoreOptions {
  /** The time for which bytes are kept after they were last put or read, in milliseconds. @default a week */
  readonly ttlMs?: number;
  /** The clock that lifetimes use. @default the time of this machine */
  readonly clock?: Clock;
}

interface MemoryBlobStoreOptions extends BlobStoreOptions {
  /**
   * The maximum size of all blobs together. The least recently used are dropped first. @default 256
   * MiB
   */
  readonly maxBytes?: number;
}

const WEEK_MS = 7 * 24 * 3_600_000;

export const blobStoreOptions = once(() =>
  z.strictObject({
    ttlMs: milliseconds(1, Number.MAX_SAFE_INTEGER).default(WEEK_MS),
    clock: clock().default(systemClock),
  } satisfies FieldsOf<BlobStoreOptions>),
);
const optionsSchema = once(() =>
  blobStoreOptions().extend({ maxBytes: wholeBetween(1).default(256 * 2 ** 20) } satisfies FieldsOf<
    Pick<MemoryBlobStoreOptions, 'maxBytes'>
  >),
);

/** Keeps blobs in the memory of this process. They're lost when it ends. */
export class MemoryBlobStore implements BlobStore {
  readonly #options: z.output<ReturnType<typeof optionsSchema>>;
  /** The blobs in the order of their last use. */
  readonly #blobs = new Map<string, { readonly bytes: Uint8Array; readonly usedAt: number }>();
  #size = 0;

  /** Creates an empty store. @throws ToolError `INVALID_ARGUMENT` for wrong options. */
  constructor(options: MemoryBlobStoreOptions = {}) {
    this.#options = checkOptions(optionsSchema, options, 'options of MemoryBlobStore');
  }

  /** @throws ToolError `LIMIT_EXCEEDED` if the bytes alone exceed the store's maximum size. */
  // eslint-disable-next-line @typescript-eslint/require-await
  async put(bytes: Uint8Array): Promise<string> {
    const { maxBytes } = this.#options;
    if (checkBytes(bytes).length > maxBytes)
      throw new ToolError(
        'LIMIT_EXCEEDED',
        expectedGot(
          `at most ${maxBytes} bytes`,
          String(bytes.length),
          'Give the store a larger maxBytes.',
        ),
      );
    const digest = sha256Of(bytes);
    this.#remove(digest);
    this.#keep(digest, bytes.slice());
    for (const [oldest, { usedAt }] of this.#blobs) {
      if (this.#size <= maxBytes && !this.#isOver(usedAt)) break;
      this.#remove(oldest);
    }
    return digest;
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async get(digest: string): Promise<Uint8Array | undefined> {
    const kept = this.#blobs.get(checkDigest(digest));
    if (kept === undefined) return undefined;
    this.#remove(digest);
    if (this.#isOver(kept.usedAt)) return undefined;
    this.#keep(digest, kept.bytes);
    return kept.bytes.slice();
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async delete(digest: string): Promise<boolean> {
    return this.#remove(checkDigest(digest));
  }

  #isOver(usedAt: number): boolean {
    return this.#options.clock.elapsed() - usedAt >= this.#options.ttlMs;
  }

  #keep(digest: string, bytes: Uint8Array): void {
    this.#blobs.set(digest, { bytes, usedAt: this.#options.clock.elapsed() });
    this.#size += bytes.length;
  }

  #remove(digest: string): boolean {
    this.#size -= this.#blobs.get(digest)?.bytes.length ?? 0;
    return this.#blobs.delete(digest);
  }
}
