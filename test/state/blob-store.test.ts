import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DirectoryBlobStore, MemoryBlobStore, type BlobStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';

const bytes = (text: string) => new TextEncoder().encode(text);
const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
const folder = () => join(mkdtempSync(join(tmpdir(), 'tooldex-blobs-')), 'blobs');
const make = {
  memory: (options = {}) => new MemoryBlobStore(options),
  directory: (options = {}) => new DirectoryBlobStore(folder(), options),
};

describe.each(Object.entries(make))('a blob store in %s', (_, storeWith) => {
  it('a blob store returns bytes by their SHA-256', async () => {
    const store: BlobStore = storeWith();
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (data) => {
        const digest = await store.put(data);
        expect(digest).toBe(sha256(data));
        expect(Buffer.from((await store.get(digest))!).equals(Buffer.from(data))).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it('a blob store returns nothing for unknown or deleted digests', async () => {
    const store = storeWith();
    const digest = sha256(bytes('a'));
    expect([await store.get(digest), await store.delete(digest)]).toEqual([undefined, false]);
    await store.put(bytes('a'));
    expect([await store.delete(digest), await store.get(digest)]).toEqual([true, undefined]);
  });

  it('bytes live for ttlMs after they were last put or read', async () => {
    const clock = new ManualClock();
    const store = storeWith({ ttlMs: 1_000, clock });
    const [read, unread] = [await store.put(bytes('read')), await store.put(bytes('unread'))];
    clock.advance(900);
    expect(await store.get(read)).toEqual(bytes('read'));
    clock.advance(200);
    expect([await store.get(read), await store.get(unread)]).toEqual([bytes('read'), undefined]);
  });

  it.each([['../../etc/passwd'], ['A'.repeat(64)], [`${'a'.repeat(64)}/..`], [''], [7]])(
    'a blob store refuses %j as a digest, and anything but bytes',
    async (digest) => {
      const store = storeWith();
      await expect(store.get(digest as string)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      await expect(store.delete(digest as string)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      await expect(store.put('text' as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    },
  );
});

describe('MemoryBlobStore', () => {
  it('MemoryBlobStore drops the least recently used blobs when full, and refuses what never fits', async () => {
    const store = new MemoryBlobStore({ maxBytes: 6 });
    const [first, second] = [await store.put(bytes('aaa')), await store.put(bytes('bbb'))];
    await store.get(first);
    const third = await store.put(bytes('ccc'));
    expect([await store.get(first), await store.get(second), await store.get(third)]).toEqual([
      bytes('aaa'),
      undefined,
      bytes('ccc'),
    ]);
    await expect(store.put(bytes('1234567'))).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
  });
});

describe('DirectoryBlobStore', () => {
  it('DirectoryBlobStore makes files that only their owner can read, named by digest', async () => {
    const path = folder();
    const digest = await new DirectoryBlobStore(path).put(bytes('secret'));
    expect([
      statSync(path).mode & 0o777,
      readdirSync(path),
      statSync(join(path, digest)).mode & 0o777,
    ]).toEqual([0o700, [digest], 0o600]);
    expect(await new DirectoryBlobStore(path).get(digest)).toEqual(bytes('secret'));
  });

  it('DirectoryBlobStore refuses a directory that every user can write', async () => {
    const path = folder();
    mkdirSync(path);
    chmodSync(path, 0o777);
    await expect(new DirectoryBlobStore(path).put(bytes('a'))).rejects.toMatchObject({
      code: 'STATE_UNAVAILABLE',
      message: expect.stringContaining(
        'got a directory that every user can write. Check the directory and its permissions.',
      ) as string,
    });
    expect(readdirSync(path)).toEqual([]);
  });

  it("a file whose bytes don't match its digest counts as missing and is removed", async () => {
    const path = folder();
    const store = new DirectoryBlobStore(path);
    const digest = await store.put(bytes('honest'));
    writeFileSync(join(path, digest), 'forged');
    expect([await store.get(digest), readdirSync(path)]).toEqual([undefined, []]);
    symlinkSync('/etc/hostname', join(path, digest));
    expect(await store.get(digest)).toBeUndefined();
  });

  it('DirectoryBlobStore removes expired and half-written files, and no others', async () => {
    const path = folder();
    const clock = new ManualClock(Date.now());
    await new DirectoryBlobStore(path, { clock }).put(bytes('old'));
    writeFileSync(
      join(path, `.${'a'.repeat(64)}.01234567-89ab-4def-8123-456789abcdef.tmp`),
      'half',
    );
    writeFileSync(join(path, 'mine.txt'), 'mine');
    clock.advance(8 * 24 * 3_600_000);
    const digest = await new DirectoryBlobStore(path, { clock }).put(bytes('new'));
    expect(readdirSync(path).sort()).toEqual([digest, 'mine.txt'].sort());
  });

  it('an inaccessible directory is STATE_UNAVAILABLE, without its path', async () => {
    const path = folder();
    writeFileSync(path, 'a file');
    const store = new DirectoryBlobStore(path);
    const failing = {
      code: 'STATE_UNAVAILABLE',
      message: expect.not.stringContaining(path) as string,
    };
    await expect(store.put(bytes('a'))).rejects.toMatchObject(failing);
    await expect(store.get(sha256(bytes('a')))).rejects.toMatchObject(failing);
    expect(readFileSync(path, 'utf8')).toBe('a file');
  });
});
