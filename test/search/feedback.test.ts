import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LEAST, refusal } from '../tool/sample-tools.js';
import { manyTools, ranking, SUBJECTS, use } from './feedback-catalogue.js';
import { definitionOf } from '../../src/tool/tool-definition.js';
import { propertyRuns } from '../property-runs.js';

describe('learning from recorded uses', () => {
  it('a recorded use ranks the tool higher for a similar request, and the explanation mentions it', () => {
    const registry = manyTools();
    expect(ranking(registry, 'will I need a gazebo in Rome')).not.toContain('weather_report');
    use(registry, 'do I need a gazebo in Oslo today', 'weather_report');
    const [first] = registry.search('will the gazebo stay dry today');
    expect(first).toMatchObject({
      toolName: 'weather_report',
      explanation: expect.stringContaining('"gazebo" in past requests'),
    });
  });

  it("a recorded use makes the tool a result for similar requests that share no word with the tool's metadata", () => {
    const registry = manyTools();
    expect(ranking(registry, 'gazebo wanted')).toEqual([]);
    use(registry, 'gazebo wanted', 'weather_report');
    expect(ranking(registry, 'gazebo wanted?')).toEqual(['weather_report']);
  });

  it('a recorded failure changes nothing', () => {
    const registry = manyTools();
    const text = 'what was the weather in Rome on this date';
    const before = registry.search(text);
    use(registry, text, before[1]!.toolName, 'failure', 3);
    expect(registry.search(text)).toEqual(before);
  });

  it("only a tool's last twenty distinct requests are remembered", () => {
    const registry = manyTools();
    use(registry, 'gazebo for the office', 'weather_report');
    for (const word of 'abcdefghijklmnopqrs')
      use(registry, `${word}${word}${word} album`, 'weather_report');
    use(registry, 'sss album', 'weather_report', 'success', 20);
    expect(ranking(registry, 'gazebo')).toEqual(['weather_report']);
    use(registry, 'a jazz concert', 'weather_report');
    expect(ranking(registry, 'gazebo')).toEqual([]);
  });

  it("small talk, numbers, and quoted values aren't remembered", () => {
    const registry = manyTools();
    use(registry, 'please help me find "gazebo" 17', 'play_music');
    for (const text of ['please help me with "gazebo" 17', 'gazebo'])
      expect(ranking(registry, text)).not.toContain('play_music');
  });

  it("a recorded use changes neither the tool nor the registry's revision", () => {
    const registry = manyTools();
    const before = [...registry];
    use(registry, 'gazebo for the office', 'weather_report');
    registry.search('gazebo');
    expect([...registry]).toEqual(before);
    expect(registry.revision).toBe(manyTools().revision);
  });

  it('a recorded use never makes a filtered or removed tool a result', () => {
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

  it('recordUse throws for invalid values', () => {
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

  it('search returns exactly the best results for any limit', () => {
    fc.assert(
      fc.property(uses, fc.nat(12), fc.constantFrom(...SUBJECTS), (history, limit, text) => {
        const registry = taught(history);
        expect(registry.search(text, { limit })).toEqual(
          registry.search(text, { limit: 1_000 }).slice(0, limit),
        );
      }),
      { numRuns: propertyRuns(100) },
    );
  });
});
