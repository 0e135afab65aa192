import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { manyTools, SUBJECTS, use } from './feedback-catalogue.js';

const PLACES = [
  'Rome',
  'Oslo',
  'Lima',
  'Cairo',
  'Quito',
  'Seoul',
  'Delhi',
  'Paris',
  'Accra',
  'Tunis',
];
const COINS = [
  'bitcoin',
  'ether',
  'dogecoin',
  'litecoin',
  'ripple',
  'monero',
  'dash',
  'tether',
  'cardano',
  'solana',
];
const WISHES = [
  'buy',
  'sell',
  'trade',
  'swap',
  'stake',
  'mine',
  'borrow',
  'lend',
  'short',
  'hedge',
];

/** A thousand texts of one topic. */
const ONE_TOPIC = WISHES.flatMap((wish) =>
  COINS.flatMap((coin) =>
    PLACES.map((place) => `please help me ${wish} ${coin} on an exchange in ${place}`),
  ),
);

describe('a thousand false votes', () => {
  // With and without honest history: that of others must not lose its effect either.
  const taught = (honest: boolean) => {
    const registry = manyTools();
    if (honest)
      for (const [at, text] of SUBJECTS.entries())
        use(registry, `${text} again`, [...registry][at]!.name);
    return registry;
  };

  it.each([
    [
      'of one text',
      Array.from({ length: 1_000 }, () => 'please help me buy bitcoin on an exchange'),
    ],
    ['of a thousand texts on one topic', ONE_TOPIC],
  ])('%s leave the results of unrelated requests as they were', (_, texts) => {
    expect(texts).toHaveLength(1_000);
    for (const honest of [false, true]) {
      const poisoned = taught(honest);
      for (const text of texts) use(poisoned, text, 'play_music');
      for (const text of [
        ...SUBJECTS,
        'please help me buy a hotel room in Rome',
        'please help me translate this',
      ])
        expect(poisoned.search(text)).toEqual(taught(honest).search(text));
      expect(poisoned.search('where can I buy bitcoin on an exchange')[0]!.toolName).toBe(
        'play_music',
      );
    }
  });

  it('against a tool leave the results of unrelated requests as they were', () => {
    const poisoned = taught(true);
    for (const text of ONE_TOPIC) use(poisoned, text, 'convert_currency', 'failure');
    for (const text of SUBJECTS) expect(poisoned.search(text)).toEqual(taught(true).search(text));
  });

  it('mean no more than a few for one text', () => {
    const lift = (times: number) => {
      const registry = manyTools();
      use(registry, 'buy bitcoin on an exchange', 'play_music', 'success', times);
      return registry
        .search('buy bitcoin on an exchange')
        .find(({ toolName }) => toolName === 'play_music')!.usage;
    };
    expect(lift(1_000)).toBeLessThan(3 * lift(1));
  });

  it('reach no request that shares no word with them, whatever they say', () => {
    const lies = fc.array(
      fc.array(fc.constantFrom(...COINS, ...WISHES), { minLength: 1, maxLength: 8 }),
      { minLength: 1, maxLength: 60 },
    );
    fc.assert(
      fc.property(lies, fc.constantFrom(...SUBJECTS), fc.nat(19), (texts, text, tool) => {
        const poisoned = taught(true);
        for (const words of texts) use(poisoned, words.join(' '), [...poisoned][tool]!.name);
        expect(poisoned.search(text)).toEqual(taught(true).search(text));
      }),
      { numRuns: 40 },
    );
  });
});
