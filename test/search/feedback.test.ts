import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LEAST, refusal } from '../tool/sample-tools.js';
import { manyTools, ranking, SUBJECTS, use } from './feedback-catalogue.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

const usageOf = (registry: ReturnType<typeof manyTools>, text: string, toolName: string) =>
  registry.search(text, { limit: 100 }).find((result) => result.toolName === toolName)?.usage;

describe('learning from use', () => {
  it('changes nothing until something was used', () => {
    for (const text of SUBJECTS)
      for (const { usage, explanation } of manyTools().search(text))
        expect([usage, explanation.includes('similar requests')]).toEqual([0, false]);
  });

  it('lifts a tool for a request like the one that it served, and says so', () => {
    const registry = manyTools();
    expect(ranking(registry, 'will I need an gazebo in Rome')).not.toContain('weather_report');
    use(registry, 'do I need an gazebo in Oslo today', 'weather_report');
    const [first] = registry.search('will the gazebo stay dry today');
    expect(first).toMatchObject({
      toolName: 'weather_report',
      explanation: expect.stringContaining('served similar requests before') as string,
    });
    expect(first!.usage).toBeGreaterThan(0);
    expect(first!.usage).toBeLessThanOrEqual(first!.score);
  });

  it('brings in a tool that shares no word with the request, also where no tool does', () => {
    const registry = manyTools();
    expect(ranking(registry, 'gazebo wanted')).toEqual([]);
    use(registry, 'gazebo wanted', 'weather_report');
    expect(ranking(registry, 'gazebo wanted?')).toEqual(['weather_report']);
  });

  it('moves a tool down that failed, and never out', () => {
    const registry = manyTools();
    const text = 'what was the weather in Rome on this date';
    const before = ranking(registry, text, 100);
    use(registry, text, before[0]!, 'failure', 3);
    expect(ranking(registry, text, 100)[0]).toBe(before[1]);
    expect(ranking(registry, text, 100).sort()).toEqual([...before].sort());
    const moved = registry
      .search(text, { limit: 100 })
      .find(({ toolName }) => toolName === before[0])!;
    expect(moved.usage).toBeLessThan(0);
    expect(moved.score).toBeGreaterThan(0);
    expect(moved.explanation).toContain('failed on similar requests before');
  });

  it('counts the same use again less and less', () => {
    const registry = manyTools();
    const lifts = Array.from({ length: 60 }, () => {
      use(registry, 'gazebo for the office', 'weather_report');
      return usageOf(registry, 'gazebo for the office', 'weather_report')!;
    });
    const gains = lifts.map((lift, at) => lift - (lifts[at - 1] ?? 0));
    for (const [at, gain] of gains.entries()) {
      expect(gain).toBeGreaterThanOrEqual(0);
      if (at > 0) expect(gain).toBeLessThanOrEqual(gains[at - 1]! + 1e-3);
    }
    expect(lifts[59]! - lifts[49]!).toBeLessThan(lifts[0]! / 100);
  });

  it('lets what serves a request now overtake what served it before', () => {
    const registry = manyTools();
    const text = 'gazebo for the office';
    use(registry, text, 'weather_archive', 'success', 50);
    expect(ranking(registry, text)[0]).toBe('weather_archive');
    use(registry, text, 'weather_report', 'success', 10);
    expect(ranking(registry, text)[0]).toBe('weather_report');
  });

  it('lets a similar request fade when others like it follow, and does not when others follow', () => {
    const lift = (later: string) => {
      const registry = manyTools();
      use(registry, 'gazebo for the office party', 'weather_report');
      use(registry, later, 'play_music', 'success', 2_000);
      return usageOf(registry, 'gazebo for the office', 'weather_report')!;
    };
    const alone = lift('a jazz album');
    expect(lift('a different jazz album')).toBe(alone);
    expect(lift('gazebo for the office garden')).toBeLessThan(alone);
  });

  it('does not take one common word for likeness, nor small talk, numbers and quoted values', () => {
    const registry = manyTools();
    use(registry, 'please help me find "gazebo" 17 in the garden behind the house', 'play_music');
    for (const text of [
      'please help me find a hotel with a garden near the harbour',
      'please help me with "gazebo" 17',
      'gazebo',
    ]) {
      expect([text, usageOf(registry, text, 'play_music') ?? 0]).toEqual([text, 0]);
    }
    expect(JSON.stringify(registry.usage.export())).not.toMatch(/gazebo|17|please/);
  });

  it('remembers nothing of a request without a telling word', () => {
    const registry = manyTools();
    use(registry, 'please help me with this', 'play_music');
    expect(registry.usage.size).toBe(0);
  });

  it('never shows a tool that the filter excludes or that is gone', () => {
    const registry = manyTools();
    use(registry, 'gazebo for the office', 'weather_report', 'success', 20);
    expect(
      registry
        .search('gazebo for the office', { filter: ({ name }) => name !== 'weather_report' })
        .map(({ toolName }) => toolName),
    ).not.toContain('weather_report');
    registry.unregister('weather_report');
    expect(ranking(registry, 'gazebo for the office')).not.toContain('weather_report');
    registry.register(definitionOf({ ...LEAST, name: 'weather_report' }));
    expect(ranking(registry, 'gazebo for the office')[0]).toBe('weather_report');
  });

  it('counts the use of an alias for its tool', () => {
    const registry = manyTools();
    registry.register(definitionOf({ ...LEAST, name: 'sky', aliases: ['heaven'] }));
    use(registry, 'gazebo for the office', 'heaven');
    expect(ranking(registry, 'gazebo for the office')[0]).toBe('sky');
  });

  it('knows that the words of the catalogue changed', () => {
    const registry = manyTools();
    use(registry, 'gazebo for the office', 'weather_report');
    const before = registry.search('gazebo for the office');
    const added = Array.from({ length: 30 }, (_, number) => ({
      ...LEAST,
      name: `gazebo_${number}`,
      description: 'gazebo',
    }));
    registry.registerAll(added.map((tool) => definitionOf(tool)));
    expect(registry.search('gazebo for the office', { limit: 100 })).not.toEqual(before);
    for (const { name } of added) registry.unregister(name);
    expect(registry.search('gazebo for the office')).toEqual(before);
  });

  it('refuses what is no use', () => {
    const registry = manyTools();
    expect(
      refusal(() =>
        registry.recordUse({ text: 'a', toolName: 'weather_repor', outcome: 'success' }),
      ).code,
    ).toBe('TOOL_NOT_FOUND');
    expect(
      refusal(() =>
        registry.recordUse({ text: 7 as never, toolName: 'translate', outcome: 'success' }),
      ).code,
    ).toBe('INVALID_ARGUMENT');
    expect(
      refusal(() =>
        registry.recordUse({ text: 'a', toolName: 'translate', outcome: 'maybe' as never }),
      ).code,
    ).toBe('INVALID_ARGUMENT');
    expect(refusal(() => registry.recordUse(undefined as never)).code).toBe('INVALID_ARGUMENT');
    expect(registry.usage.size).toBe(0);
  });

  it('keeps a bounded number of requests, and of each a bounded number of words and tools', () => {
    const registry = manyTools();
    const letters = (number: number) =>
      [...String(number).padStart(5, '0')].map((digit) => 'abcdefghij'[Number(digit)]).join('');
    use(registry, 'gazebo for the office', 'translate');
    use(registry, 'a jazz album', 'translate');
    for (let number = 0; number < 9_998; number++)
      use(registry, `subject ${letters(number)}`, 'translate');
    expect(registry.usage.size).toBe(10_000);
    use(registry, 'gazebo for the office', 'translate');
    use(registry, 'one more', 'translate');
    expect(registry.usage.size).toBe(10_000);
    expect(usageOf(registry, 'gazebo for the office', 'translate')).toBeGreaterThan(0);
    expect(usageOf(registry, 'a jazz album', 'translate') ?? 0).toBe(0);

    registry.usage.clear();
    const long = Array.from({ length: 2_000 }, (_, number) => letters(number)).join(' ');
    registry.registerAll(
      Array.from({ length: 50 }, (_, number) => definitionOf({ ...LEAST, name: `t${number}` })),
    );
    for (let number = 0; number < 50; number++) use(registry, long, `t${number}`);
    use(registry, 'x'.repeat(5_000), 't0');
    const { requests } = registry.usage.export();
    expect(requests.map(({ stems, tools }) => [stems.length, tools.length])).toEqual([[64, 32]]);
    expect(requests[0]!.tools.map(([name]) => name)).toContain('t49');
  });

  const uses = fc.array(
    fc.record({
      text: fc.constantFrom(
        ...SUBJECTS,
        'book a room and a flight',
        'the weather and the expenses of this month',
      ),
      tool: fc.nat(19),
      success: fc.boolean(),
    }),
    { maxLength: 40 },
  );
  const taught = (history: readonly { text: string; tool: number; success: boolean }[]) => {
    const registry = manyTools();
    const names = [...registry].map(({ name }) => name);
    for (const { text, tool, success } of history)
      use(registry, text, names[tool]!, success ? 'success' : 'failure');
    return registry;
  };

  it('is the same for the same history', () => {
    fc.assert(
      fc.property(uses, (history) => {
        const [one, other] = [taught(history), taught(history)];
        expect(SUBJECTS.map((text) => one.search(text))).toEqual(
          SUBJECTS.map((text) => other.search(text)),
        );
      }),
      { numRuns: 15 },
    );
  });

  it('gives exactly the best of all, however few are asked for', () => {
    fc.assert(
      fc.property(uses, fc.nat(12), fc.constantFrom(...SUBJECTS), (history, limit, text) => {
        const registry = taught(history);
        expect(registry.search(text, { limit })).toEqual(
          registry.search(text, { limit: 1_000 }).slice(0, limit),
        );
      }),
      { numRuns: 100 },
    );
  });

  it('loses no tool that is found without it, and never shows one that is not accepted', () => {
    fc.assert(
      fc.property(uses, fc.constantFrom(...SUBJECTS), fc.nat(19), (history, text, excluded) => {
        const registry = taught(history);
        const names = [...registry].map(({ name }) => name);
        const found = ranking(registry, text, 100);
        expect(found).toEqual(expect.arrayContaining(ranking(manyTools(), text, 100)));
        expect(
          registry
            .search(text, { filter: ({ name }) => name !== names[excluded] })
            .map(({ toolName }) => toolName),
        ).not.toContain(names[excluded]);
      }),
      { numRuns: 50 },
    );
  });
});
