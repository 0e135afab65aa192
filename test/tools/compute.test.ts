import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findDefinitions } from '../../src/tool/find-definitions.js';
import { Calculate, EncodeText, HashText, RandomId } from '../../tools/compute/index.js';
import { propertyRuns } from '../property-runs.js';

const calculate = (expression: string) => new Calculate().execute({ expression });

it.each([
  ['1 + 2 * 3', 7],
  ['2^3^2', 512],
  ['-2^2', -4],
  ['(-2)^2', 4],
  ['2*-3', -6],
  ['-7 % 4', -3],
  ['.5 + 5.', 5.5],
  ['2E-2', 0.02],
  ['sqrt(16) + cbrt(27)', 7],
  ['sum(1,2,3) / avg(1,3)', 3],
  ['round(2.5) + floor(-1.5) + ceil(1.2) + trunc(-1.7)', 2],
  ['ln(e) + log10(100) + log2(8) + exp(0)', 7],
  ['\n 1\t+ 1 ', 2],
])('calculate computes %s', (expression, result) => {
  expect(calculate(expression)).toEqual({ result });
});

it.each([
  ['an empty expression', ' '],
  ['an open parenthesis', '(1'],
  ['an unknown name', 'foo(1)'],
  ['a division by zero', '1 / 0'],
  ['a result that is too large', '10^400'],
  ['an inherited name', 'constructor(1)'],
  ['a prototype', '__proto__'],
  ['a property access', 'pi.constructor'],
  ['a global', 'process.exit(1)'],
  ['a function expression', '(()=>1)()'],
  ['nested parentheses', '('.repeat(400) + '1' + ')'.repeat(400)],
])('calculate fails on %s', (_what, expression) => {
  expect(calculate(expression)).toMatchObject({ status: 'error' });
});

it('calculate never throws, for any input', () => {
  const scraps = fc.array(fc.constantFrom(...'1.e+-*/%^(), \\💥', 'sqrt', 'max', 'pi'), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(scraps, (parts) => void calculate(parts.join(''))),
    { numRuns: propertyRuns(2_000) },
  );
});

it.each([
  ['sha256', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  ['sha1', 'a9993e364706816aba3e25717850c26c9cd0d89d'],
  ['md5', '900150983cd24fb0d6963f7d28e17f72'],
] as const)('hash_text computes the published %s hash of "abc"', (algorithm, hash) => {
  expect(new HashText().execute({ text: 'abc', algorithm })).toEqual({
    algorithm,
    hash,
    bytes: 3,
  });
});

const convert = (
  text: string,
  format: 'base64' | 'base64url' | 'hex' | 'url',
  direction: 'encode' | 'decode',
) => new EncodeText().execute({ text, format, direction });

it.each([
  ['hi?>~ü', 'base64', 'aGk/Pn7DvA=='],
  ['hi?>~ü', 'base64url', 'aGk_Pn7DvA'],
  ['hi ü', 'hex', '686920c3bc'],
  ['a b&c/ü', 'url', 'a%20b%26c%2F%C3%BC'],
] as const)('encode_text encodes %j as %s and back', (text, format, encoded) => {
  expect(convert(text, format, 'encode')).toEqual({ text: encoded });
  expect(convert(encoded, format, 'decode')).toEqual({ text });
});

it.each([
  ['another alphabet', 'aGk_', 'base64'],
  ['an odd number of digits', 'abc', 'hex'],
  ["bytes that aren't valid text", 'ff', 'hex'],
  ['a lone percent sign', '100%', 'url'],
] as const)('encode_text fails to decode %s', (_what, text, format) => {
  expect(convert(text, format, 'decode')).toMatchObject({ status: 'error' });
});

it('encode_text fails to encode half of a surrogate pair', () => {
  for (const format of ['base64', 'base64url', 'hex', 'url'] as const)
    expect(convert('a\ud800', format, 'encode')).toMatchObject({ status: 'error' });
});

it('encode_text decodes every text that it has encoded', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('base64' as const, 'base64url' as const, 'hex' as const, 'url' as const),
      (text, format) => {
        const encoded = convert(text, format, 'encode') as { text: string };
        expect(convert(encoded.text, format, 'decode')).toEqual({ text });
      },
    ),
  );
});

it('random_id returns the requested number of different UUIDs', () => {
  const { ids } = new RandomId().execute({ count: 50 });
  expect(new Set(ids).size).toBe(50);
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

it('random_id declares that its results are never cached', () => {
  expect(findDefinitions(RandomId)[0]).toMatchObject({ cacheTtlMs: 0, idempotencyKey: false });
});
