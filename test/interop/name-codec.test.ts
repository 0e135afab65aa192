import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createNameCodec,
  FUNCTION_NAME_RULE,
  GEMINI_NAME_RULE,
} from '../../src/interop/export/name-codec.js';

const word = fc.string({
  unit: fc.constantFrom('a', 'b', '.', '_', '-', '1'),
  minLength: 1,
  maxLength: 6,
});
const long = fc.string({ unit: fc.constantFrom('a', '.', '_'), minLength: 60, maxLength: 128 });
const names = fc.array(
  fc.oneof(word, long, fc.constantFrom('constructor', '__proto__', 'toString')),
  { maxLength: 40 },
);

describe.each([
  ['OpenAI and Anthropic', FUNCTION_NAME_RULE, /^[A-Za-z0-9_-]{1,64}$/],
  ['Gemini', GEMINI_NAME_RULE, /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/],
])('encoded names for %s', (_, rule, allowed) => {
  it('are valid and unique, and can be decoded', () => {
    fc.assert(
      fc.property(names, (list) => {
        const codec = createNameCodec(list, rule);
        const encoded = list.map((name) => codec.encode(name)!);
        for (const each of encoded) expect(each).toMatch(allowed);
        expect(encoded.map((each) => codec.decode(each))).toEqual(list);
        expect(new Set(encoded).size).toBe(new Set(list).size);
      }),
    );
  });

  it("valid names aren't changed", () => {
    fc.assert(
      fc.property(names, (list) => {
        const codec = createNameCodec(list, rule);
        for (const name of list) if (allowed.test(name)) expect(codec.encode(name)).toBe(name);
      }),
    );
  });
});

it('colliding names get a digest as a suffix', () => {
  const both = createNameCodec(['a.b', 'a__b'], FUNCTION_NAME_RULE);
  expect(both.encode('a__b')).toBe('a__b');
  expect(both.encode('a.b')).toMatch(/^a__b_[0-9a-f]{8}$/);
  const pair = createNameCodec(['a.b__c', 'a__b.c'], FUNCTION_NAME_RULE);
  expect(pair.encode('a.b__c')).toMatch(/^a__b__c_[0-9a-f]{8}$/);
  expect(pair.encode('a__b.c')).toMatch(/^a__b__c_[0-9a-f]{8}$/);
});

it('a tool with a reserved name gets another name', () => {
  const codec = createNameCodec(['search'], FUNCTION_NAME_RULE, ['search']);
  expect(codec.encode('search')).toMatch(/^search_[0-9a-f]{8}$/);
  expect(codec.decode('search')).toBeUndefined();
});
