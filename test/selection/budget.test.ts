import { describe, expect, it } from 'vitest';
import { registryOf } from '../tool/sample-tools.js';
import { bytes, chosen, costs, droppedBecause, long, select } from './selection-cases.js';

const levels = ({ tools }: ReturnType<typeof select>) => tools.map(({ level }) => level);
const text = 'weather forecast';
const four = ['a', 'b', 'c', 'd'].map((name) => long(name));

describe('guaranteed tools that exceed a limit', () => {
  const counted = { criticalOutsideLimit: false };
  const registry = registryOf(
    long('core', { priority: 0 }),
    long('must', { mandatoryKeywords: ['weather'] }),
    long('asked'),
    long('found'),
    { name: 'hit', description: 'The weather' },
  );

  it('cause an error that lists the guaranteed tools if there are more than maxTools', () => {
    const ranking = ['found', 'hit', 'core'].map((toolName) => ({ toolName, score: 1 }));
    const selection = select(registry, {
      ...counted,
      text,
      ranking,
      include: ['asked'],
      maxTools: 1,
    });
    expect(selection.error).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      details: { guaranteed: ['asked', 'core', 'must'] },
    });
    for (const name of ['asked', 'core', 'must', 'maxTools 1'])
      expect(selection.error!.message).toContain(name);
    expect(chosen(selection)).toEqual(['asked', 'core', 'must']);
    expect(selection.tokens).toBe(selection.tools.reduce((sum, { tokens }) => sum + tokens, 0));
    expect(droppedBecause(selection)).toEqual({ found: 'max_tools', hit: 'max_tools' });
    expect(select(registry, { ...counted, include: ['asked'], maxTools: 1 }).error).toBeUndefined();
  });

  it('cause an error that lists them if even their stubs exceed the token budget', () => {
    const selection = select(registry, { text, include: ['asked'], tokenBudget: 50 });
    expect(selection.error).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      details: { guaranteed: ['asked', 'core', 'must'] },
    });
    for (const name of ['asked', 'core', 'must', '50', String(selection.tokens)])
      expect(selection.error!.message).toContain(name);
    expect([chosen(selection), levels(selection)]).toEqual([
      ['asked', 'core', 'must'],
      ['stub', 'stub', 'stub'],
    ]);
    expect(selection.tokens).toBeGreaterThan(50);
    expect(droppedBecause(selection)).toEqual({ found: 'token_budget', hit: 'token_budget' });
    expect(
      select(registry, { text, include: ['asked'], tokenBudget: selection.tokens }),
    ).toMatchObject({ error: undefined, tokens: selection.tokens });
  });
});

describe('the token budget of a selection', () => {
  it('is measured by calling countTokens with exactly the text that the model reads', () => {
    const counted: string[] = [];
    const countTokens = (json: string) => counted.push(json) && json.length;
    const selection = select(registryOf(...four), { text, countTokens, tokenBudget: 1_600 });
    expect(selection.tools.map(({ tokens }) => tokens)).toEqual(
      bytes(selection).map((json) => json.length),
    );
    expect(selection.tokens).toBe(bytes(selection).join('').length);
    expect(selection.tokens).toBeLessThanOrEqual(1_600);
    expect(bytes(selection).every((json) => counted.includes(json))).toBe(true);
    expect(selection.tokenBudget).toBe(1_600);
  });

  it("is measured at one token per four characters if countTokens isn't set", () => {
    const selection = select(registryOf(...four), { text });
    expect(selection.tools.map(({ tokens }) => tokens)).toEqual(
      bytes(selection).map((json) => Math.ceil(json.length / 4)),
    );
  });

  it('demotes later tools first, from full to compact to stub, before any tool is dropped', () => {
    const registry = registryOf(...four);
    const { full, compact, stub } = costs(registry, 'a');
    expect([full > compact, compact > stub]).toEqual([true, true]);
    const at = (tokenBudget: number) => {
      const selection = select(registry, { text, tokenBudget });
      expect(selection.tokens).toBeLessThanOrEqual(tokenBudget);
      return levels(selection);
    };
    expect(at(4 * full)).toEqual(['full', 'full', 'full', 'full']);
    expect(at(4 * full - 1)).toEqual(['full', 'full', 'full', 'compact']);
    expect(at(full + 3 * compact)).toEqual(['full', 'compact', 'compact', 'compact']);
    // Two compact tools are better than one full tool and one stub.
    expect([2 * compact <= full + stub, at(3 * full + stub)]).toEqual([
      true,
      ['full', 'full', 'compact', 'compact'],
    ]);
    expect(at(4 * compact)).toEqual(['compact', 'compact', 'compact', 'compact']);
    expect(at(4 * compact - 1)).toEqual(['compact', 'compact', 'compact', 'stub']);
    expect(at(4 * stub)).toEqual(['stub', 'stub', 'stub', 'stub']);
    expect(at(4 * stub - 1)).toHaveLength(3);
    expect(at(stub)).toEqual(['stub']);
    expect(at(stub - 1)).toEqual([]);
    expect(droppedBecause(select(registry, { text, tokenBudget: 3 * stub }))).toEqual({
      d: 'token_budget',
    });
  });

  it('demotes and drops guaranteed tools last', () => {
    const registry = registryOf(...four, long('zz', { priority: 0 }));
    const { full, compact, stub } = costs(registry, 'a');
    const last = costs(registry, 'zz');
    expect(
      select(registry, { text, tokenBudget: last.full + 4 * compact }).tools.map(
        ({ toolName, level }) => [toolName, level],
      ),
    ).toEqual([['zz', 'full'], ...['a', 'b', 'c', 'd'].map((name) => [name, 'compact'])]);
    const little = select(registry, { text, tokenBudget: last.stub + stub });
    expect([chosen(little), little.error]).toEqual([['zz', 'a'], undefined]);
    expect(full).toBeGreaterThan(compact);
  });

  it("can't be checked if countTokens doesn't return a finite number, so selectTools throws", () => {
    for (const count of [NaN, -1]) {
      expect(() =>
        select(registryOf(...four), {
          text,
          tokenBudget: 1_000,
          countTokens: () => count,
        }),
      ).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining('countTokens'),
        }),
      );
    }
  });
});
