import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sample } from './catalogue-fixture.js';
import { propertyRuns } from '../property-runs.js';

const NAMES = [
  'persona',
  'provider',
  'version',
  'min_success_rate',
  'capability',
  'side_effects',
  'danger_level',
  'max_danger',
  'limit',
  'offset',
  'fields',
  'name',
  'q',
  'available',
  'x',
  '__proto__',
  'constructor',
];
const VALUES = [
  '',
  'Atlas',
  '-shared',
  '>=1.2',
  '^1 || *',
  '0.5',
  'NaN',
  '1e999',
  'low',
  'true',
  '50',
  '-1',
  'name,version',
  'eyJyIjoxLCJvIjpudWxsLCJuIjoiYSJ9',
  '\u0000',
  '\ud800',
  '💥'.repeat(20),
  '('.repeat(200),
  '>='.repeat(120),
  '%',
  '%ff',
];

describe('random queries', () => {
  const value = fc.oneof(fc.constantFrom(...VALUES), fc.string({ unit: 'binary', maxLength: 40 }));
  const structured = fc
    .array(fc.tuple(fc.constantFrom(...NAMES), value), { maxLength: 8 })
    .map((pairs) => pairs.map(([name, text]) => `${name}=${encodeOr(text)}`).join('&'));
  const raw = fc
    .string({ unit: 'grapheme-ascii', maxLength: 120 })
    .map((text) => text.replaceAll('#', ''));
  const path = fc.constantFrom(
    '/tools',
    '/search',
    '/skills',
    '/jobs',
    '/summary',
    '/tools/alpha',
    '/findings',
    '/health',
  );

  it('get only the status codes 200, 400, and 404', async () => {
    const { get } = await sample();
    await fc.assert(
      fc.asyncProperty(
        path,
        fc.oneof({ weight: 3, arbitrary: structured }, raw),
        async (at, query) => {
          const response = await get(`${at}?${query}`);
          const body = (await response.json()) as { readonly error?: { readonly code: string } };
          // Any text may be the name of an unknown persona.
          expect([200, 400, 404]).toContain(response.status);
          if (response.status === 404) expect(body.error?.code).toBe('PERSONA_NOT_FOUND');
        },
      ),
      { numRuns: propertyRuns(3_000) },
    );
  });
});

function encodeOr(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return '%ED%A0%80'; // Half of a surrogate pair has no encoding.
  }
}
