import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { issuesOf } from '../../src/core/errors.js';
import { refusal } from '../tool/sample-tools.js';
import { manyTools, SUBJECTS, use } from './feedback-catalogue.js';

type History = readonly {
  readonly text: string;
  readonly tool: number;
  readonly success: boolean;
}[];
const histories: fc.Arbitrary<History> = fc.array(
  fc.record({ text: fc.constantFrom(...SUBJECTS), tool: fc.nat(19), success: fc.boolean() }),
  { maxLength: 30 },
);

function taught(history: History) {
  const registry = manyTools();
  const names = [...registry].map(({ name }) => name);
  for (const { text, tool, success } of history)
    use(registry, text, names[tool]!, success ? 'success' : 'failure');
  return registry;
}
const answers = (registry: ReturnType<typeof manyTools>) =>
  SUBJECTS.map((text) => registry.search(text));

describe('exported usage', () => {
  it('is plain, frozen JSON with a version', () => {
    const registry = manyTools();
    use(registry, 'Translate the letters, please: "secret"', 'translate');
    use(registry, 'resize images', 'image_resize', 'failure');
    const data = registry.usage.export();
    expect(data).toEqual({
      version: 1,
      uses: 2,
      requests: [
        { stems: ['letter', 'translat'], age: 1, tools: [['translate', 1]] },
        { stems: ['imag', 'resiz'], age: 0, tools: [['image_resize', -0.5]] },
      ],
    });
    expect(Object.isFrozen(data.requests[0]!.tools[0])).toBe(true);
  });

  it('teaches another registry all of it, through JSON', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const one = taught(history);
        const other = manyTools();
        other.usage.merge(JSON.parse(JSON.stringify(one.usage.export())) as never);
        expect(other.usage.export()).toEqual(one.usage.export());
        expect(answers(other)).toEqual(answers(one));
      }),
      { numRuns: 20 },
    );
  });

  it('is merged the same in any order, and a second time without effect', () => {
    fc.assert(
      fc.property(histories, histories, histories, (...all) => {
        const data = all.map((history) => taught(history).usage.export());
        const merged = (...order: readonly number[]) => {
          const registry = manyTools();
          for (const place of order) registry.usage.merge(data[place]!);
          return registry;
        };
        const straight = merged(0, 1, 2);
        for (const order of [
          [2, 1, 0],
          [1, 2, 0],
          [0, 1, 2, 1, 0],
        ]) {
          const other = merged(...order);
          expect(other.usage.export()).toEqual(straight.usage.export());
          expect(answers(other)).toEqual(answers(straight));
        }
        straight.usage.merge(straight.usage.export());
        expect(straight.usage.export()).toEqual(merged(0, 1, 2).usage.export());
      }),
      { numRuns: 20 },
    );
  });

  it('keeps the newest where more comes together than is kept', () => {
    const letters = (number: number) =>
      [...String(number).padStart(5, '0')].map((digit) => 'abcdefghij'[Number(digit)]).join('');
    const half = (word: string) => {
      const registry = manyTools();
      for (let number = 0; number < 6_000; number++)
        use(registry, `${word} ${letters(number)}`, 'translate');
      return registry.usage.export();
    };
    const [one, other] = [half('jazz'), half('rock')];
    const both = manyTools();
    both.usage.merge(one);
    both.usage.merge(other);
    expect(both.usage.size).toBe(10_000);
    expect(Math.max(...both.usage.export().requests.map(({ age }) => age))).toBe(4_999);
    const turned = manyTools();
    turned.usage.merge(other);
    turned.usage.merge(one);
    expect(turned.usage.export()).toEqual(both.usage.export());
  });

  it('may speak of tools that are not registered; they do not appear', () => {
    const registry = manyTools();
    registry.usage.merge({
      version: 1,
      uses: 1,
      requests: [
        {
          stems: ['gazebo'],
          age: 0,
          tools: [
            ['__proto__', 1],
            ['nobody', 2],
          ],
        },
      ],
    });
    expect(registry.search('gazebo')).toEqual([]);
    expect(registry.usage.export().requests[0]!.tools).toEqual([
      ['__proto__', 1],
      ['nobody', 2],
    ]);
  });

  const request = { stems: ['a', 'b'], age: 0, tools: [['translate', 1]] };
  const withRequest = (change: object) => ({
    version: 1,
    uses: 5,
    requests: [request, { ...request, ...change }],
  });
  it.each([
    ['nothing', undefined, []],
    ['a list', [], []],
    ['a function', { version: 1, uses: 0, requests: [() => 1] }, []],
    ['another version', { version: 2, uses: 5, requests: [] }, ['version']],
    ['an unknown key', { version: 1, uses: 5, requests: [], more: 1 }, []],
    ['uses that are no count', { version: 1, uses: -1, requests: [] }, ['uses']],
    ['requests that are no list', { version: 1, uses: 5, requests: {} }, ['requests']],
    [
      'too many requests',
      { version: 1, uses: 5, requests: Array.from({ length: 10_001 }, () => request) },
      ['requests'],
    ],
    ['a request that is none', { version: 1, uses: 5, requests: [request, 7] }, ['requests', 1]],
    ['a request with more', withRequest({ text: 'a' }), ['requests', 1]],
    ['no words', withRequest({ stems: [] }), ['requests', 1, 'stems']],
    ['unsorted words', withRequest({ stems: ['b', 'a'] }), ['requests', 1, 'stems']],
    ['repeated words', withRequest({ stems: ['a', 'a'] }), ['requests', 1, 'stems']],
    ['words with spaces', withRequest({ stems: ['a b'] }), ['requests', 1, 'stems']],
    [
      'too many words',
      withRequest({ stems: Array.from({ length: 65 }, (_, at) => `w${100 + at}`) }),
      ['requests', 1, 'stems'],
    ],
    ['an age of more than there were uses', withRequest({ age: 5 }), ['requests', 1, 'age']],
    ['no tools', withRequest({ tools: [] }), ['requests', 1, 'tools']],
    [
      'a tool twice',
      withRequest({
        tools: [
          ['a', 1],
          ['a', 2],
        ],
      }),
      ['requests', 1, 'tools'],
    ],
    ['too strong a vote', withRequest({ tools: [['a', 11]] }), ['requests', 1, 'tools', 0]],
    ['a vote without strength', withRequest({ tools: [['a']] }), ['requests', 1, 'tools', 0]],
    ['an infinite vote', withRequest({ tools: [['a', Infinity]] }), []],
  ])('is refused whole when it is or has %s', (_, data, path) => {
    const registry = taught([{ text: SUBJECTS[0]!, tool: 0, success: true }]);
    const before = registry.usage.export();
    const error = refusal(() => registry.usage.merge(data as never));
    expect(error.code).toBe('INVALID_ARGUMENT');
    expect(issuesOf(error)[0]!.path).toEqual(path);
    expect(registry.usage.export()).toEqual(before);
  });

  it('can be forgotten', () => {
    const registry = taught([{ text: SUBJECTS[0]!, tool: 5, success: true }]);
    registry.usage.clear();
    expect(registry.usage.export()).toEqual({ version: 1, uses: 0, requests: [] });
    expect(answers(registry)).toEqual(answers(manyTools()));
  });
});
