import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as withNode from '../../src/core/crypto.js';

afterEach(() => vi.restoreAllMocks());

/** The module as it loads without Node's crypto. */
async function elsewhere(): Promise<typeof withNode> {
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined);
  vi.resetModules();
  return import('../../src/core/crypto.js');
}

describe('digests and signatures', () => {
  it("are the same with and without Node's crypto module", async () => {
    const without = await elsewhere();
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ maxLength: 300 }),
      fc.constant('\ud800 half'),
    );
    fc.assert(
      fc.property(text, fc.uint8Array({ minLength: 32, maxLength: 200 }), (value, key) => {
        expect(without.sha256Of(value)).toBe(createHash('sha256').update(value).digest('hex'));
        expect(withNode.sha256Of(value)).toBe(without.sha256Of(value));
        expect(without.hmacOf(key, value)).toBe(
          createHmac('sha256', key).update(value).digest('hex'),
        );
        expect(withNode.hmacOf(key, value)).toBe(without.hmacOf(key, value));
      }),
    );
  });

  it('signatures match only if they are identical', () => {
    const { isEqualSignature } = withNode;
    fc.assert(
      fc.property(
        fc.string(),
        fc.string(),
        (one, other) => isEqualSignature(one, other) === (one === other),
      ),
    );
    fc.assert(
      fc.property(
        fc.string(),
        (one) => isEqualSignature(one, one) && !isEqualSignature(one, `${one}0`),
      ),
    );
  });
});

describe('base64 encoding', () => {
  it("matches Node's encoding for any length", () => {
    for (const length of [0, 1, 2, 3, 8_192, 100_001]) {
      const bytes = withNode.randomBytes(Math.min(length, 65_536));
      expect(withNode.base64Of(bytes)).toBe(Buffer.from(bytes).toString('base64'));
    }
  });

  it("is the same with and without Node's Buffer", () => {
    const { base64Of, base64Size, bytesOf } = withNode;
    const both = <T>(work: () => T): readonly [T, T] => {
      const fast = work();
      vi.stubGlobal('Buffer', undefined);
      try {
        return [fast, work()];
      } finally {
        vi.unstubAllGlobals();
      }
    };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20_000 }), (bytes) => {
        const [fast, slow] = both(() => base64Of(bytes));
        expect([slow, base64Size(fast)]).toEqual([fast, bytes.length]);
        for (const read of both(() => bytesOf(fast))) expect(read).toEqual(bytes);
      }),
    );
    // The bytes don't expose a shared buffer.
    expect(bytesOf('AAAA').buffer.byteLength).toBe(3);
  });

  it.each([
    'A',
    'AA',
    'AAA',
    'AAAA=',
    'A===',
    '====',
    'AA=A',
    '-_-_',
    'AAAA\n',
    'https://example.com/a.png',
    'AAA\u0100',
  ])('throws for the invalid base64 text %j', (text) => {
    expect(withNode.base64Size(text)).toBeUndefined();
    expect(() => withNode.bytesOf(text)).toThrow(TypeError);
  });
});
