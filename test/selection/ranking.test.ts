import { describe, expect, it } from 'vitest';
import { registryOf } from '../tool/sample-tools.js';
import { chosen, droppedBecause, select } from './selection-cases.js';

describe('guaranteed tools', () => {
  const elsewhere = { stages: ['verification'], taskTypes: ['edit'] };
  const registry = registryOf(
    { ...elsewhere, name: 'zulu', priority: 0, mandatoryKeywords: ['deploy'] },
    { ...elsewhere, name: 'must', priority: 3, mandatoryKeywords: ['deploy'] },
    { ...elsewhere, name: 'asked', priority: 3 },
    { ...elsewhere, name: 'core', priority: 0 },
    { name: 'found', description: 'Deploys a site', stages: ['reading'], taskTypes: ['search'] },
  );
  const selection = select(registry, {
    text: 'deploy',
    stage: 'reading',
    taskType: 'search',
    include: ['asked'],
  });

  it('come before search hits regardless of stage and task type, each with its strongest reason', () => {
    expect(
      selection.tools.map(({ toolName, reason, guaranteed }) => [toolName, reason, guaranteed]),
    ).toEqual([
      ['asked', 'included', true],
      ['core', 'critical', true],
      ['zulu', 'critical', true],
      ['must', 'mandatory_keyword', true],
      ['found', 'search', false],
    ]);
    expect(select(registry, { include: ['zulu'] }).tools[0]!.reason).toBe('included');
  });

  it('a mandatory keyword guarantees its tool only if the request contains the whole word', () => {
    expect(chosen(select(registry, { text: 'undeployable' }))).toEqual(['core', 'zulu']);
  });
});

describe('CRITICAL tools', () => {
  const registry = registryOf(
    ...['c1', 'c2', 'c3'].map((name) => ({ name, priority: 0, description: 'Formats text' })),
    ...['one', 'two', 'six'].map((name) => ({ name, description: 'Formats text' })),
  );
  const chosenFor = (request: object) =>
    chosen(select(registry, { text: 'format text', maxTools: 2, ...request }));

  it('are added on top of maxTools without displacing any search hit', () => {
    expect(chosenFor({})).toEqual(['c1', 'c2', 'c3', 'one', 'six']);
    expect(chosenFor({ criticalOutsideLimit: true, include: ['c2'] })).toEqual([
      'c2',
      'c1',
      'c3',
      'one',
      'six',
    ]);
  });

  it('count toward maxTools if criticalOutsideLimit is false', () => {
    expect(chosenFor({ criticalOutsideLimit: false, maxTools: 4 })).toEqual([
      'c1',
      'c2',
      'c3',
      'one',
    ]);
    expect(select(registry, { maxTools: 2, criticalOutsideLimit: false }).error?.code).toBe(
      'BUDGET_EXCEEDED',
    );
  });
});

describe('search hits', () => {
  it('are ordered by rank, and leave out tools that are only for other stages or task types', () => {
    const registry = registryOf(
      { name: 'one', description: 'Formats text', stages: ['Reading'], taskTypes: ['Edit'] },
      { name: 'two', description: 'Formats text and more' },
      { name: 'three', description: 'Formats text', stages: ['execution'], taskTypes: ['edit'] },
      { name: 'four', description: 'Formats text', stages: ['reading'], taskTypes: ['search'] },
      { name: 'five', description: 'Formats text and much more', stages: ['execution', 'reading'] },
    );
    const text = 'format text';
    const ranked = registry.search(text).map(({ toolName }) => toolName);
    const within = (names: readonly string[]) => ranked.filter((name) => names.includes(name));
    const both = select(registry, { text, stage: ' READING ', taskType: 'edit' });
    expect(chosen(both)).toEqual(within(['one', 'two', 'five']));
    expect(droppedBecause(both)).toEqual({ three: 'stage', four: 'task_type' });
    expect(chosen(select(registry, { text, stage: 'reading' }))).toEqual(
      within(['one', 'two', 'four', 'five']),
    );
    expect(chosen(select(registry, { text, taskType: 'edit' }))).toEqual(
      within(['one', 'two', 'three', 'five']),
    );
    expect(chosen(select(registry, { text }))).toEqual(ranked);
    expect(chosen(select(registry, { text, stage: 'nowhere' }))).toEqual(['two']);
  });

  it('with equal relevance are ordered by priority, then name', () => {
    const same = (name: string, priority: number) => ({
      name,
      priority,
      description: 'Formats text',
    });
    const registry = registryOf(same('aaa', 3), same('bbb', 2), same('ccc', 2), same('zzz', 1));
    const selection = select(registry, { text: 'format text' });
    expect(new Set(selection.tools.map(({ score }) => score)).size).toBe(1);
    expect(chosen(selection)).toEqual(['zzz', 'bbb', 'ccc', 'aaa']);
    expect(chosen(select(registry, { text: 'format text', maxTools: 1 }))).toEqual(['zzz']);
    const ranking = ['aaa', 'ccc', 'bbb', 'zzz'].map((toolName) => ({ toolName, score: 0.5 }));
    expect(chosen(select(registry, { ranking }))).toEqual(['zzz', 'ccc', 'bbb', 'aaa']);
  });

  it('far below the best hit only fill the remaining space, after all other tools', () => {
    const registry = registryOf(
      { name: 'best' },
      { name: 'near' },
      { name: 'far' },
      { name: 'high', priority: 1 },
    );
    const ranking = [
      { toolName: 'best', score: 10 },
      { toolName: 'near', score: 2 },
      { toolName: 'far', score: 1.99 },
    ];
    expect(
      select(registry, { ranking }).tools.map(({ toolName, reason }) => [toolName, reason]),
    ).toEqual([
      ['best', 'search'],
      ['near', 'search'],
      ['high', 'high_priority'],
      ['far', 'weak_match'],
    ]);
    const { tokens } = select(registry, { ranking, exclude: ['far'] });
    expect(chosen(select(registry, { ranking, tokenBudget: tokens }))).toEqual([
      'best',
      'near',
      'high',
    ]);
  });

  it('are dropped with the reason "max_tools" and their score if they exceed maxTools', () => {
    const registry = registryOf({ name: 'a' }, { name: 'b' }, { name: 'c' });
    const selection = select(registry, {
      maxTools: 2,
      ranking: [
        { toolName: 'c', score: 3 },
        { toolName: 'a', score: 2 },
        { toolName: 'b', score: 1 },
      ],
    });
    expect([chosen(selection), selection.dropped]).toMatchObject([
      ['c', 'a'],
      [{ toolName: 'b', reason: 'max_tools', score: 1 }],
    ]);
    expect(
      select(
        registryOf(
          ...Array.from({ length: 30 }, (_, index) => ({
            name: `f${index}`,
            description: 'Formats text',
          })),
        ),
        { text: 'format text' },
      ).tools,
    ).toHaveLength(12);
  });
});

describe("tools that aren't search hits", () => {
  const registry = registryOf(
    { name: 'a_medium', priority: 2, stages: ['reading'] },
    { name: 'z_high', priority: 1, stages: ['reading'] },
    { name: 'b_high', priority: 1, taskTypes: ['search'] },
    { name: 'c_low', priority: 3, stages: ['reading'], taskTypes: ['search'] },
    { name: 'd_high', priority: 1 },
    { name: 'e_low', priority: 3, description: 'Formats text', stages: ['reading'] },
    { name: 'f_medium', priority: 2, taskTypes: ['search'] },
  );

  it('without hits, HIGH tools for the stage and task type come before MEDIUM tools, and LOW tools are left out', () => {
    const selection = select(registry, { stage: 'reading', taskType: 'search' });
    expect(selection.tools.map(({ toolName, reason }) => [toolName, reason])).toEqual([
      ['z_high', 'stage'],
      ['a_medium', 'stage'],
      ['b_high', 'task_type'],
      ['f_medium', 'task_type'],
      ['d_high', 'high_priority'],
    ]);
    expect(chosen(select(registry, { stage: 'reading' }))).toEqual([
      'z_high',
      'a_medium',
      'b_high',
      'd_high',
    ]);
  });

  it('are added after hits only if their priority is HIGH', () => {
    expect(
      chosen(select(registry, { text: 'format text', stage: 'reading', taskType: 'search' })),
    ).toEqual(['e_low', 'z_high', 'b_high', 'd_high']);
  });

  it('HIGH tools fill up the remaining slots, most relevant first', () => {
    const selection = select(registry);
    expect(
      selection.tools.map(({ toolName, reason, guaranteed }) => [toolName, reason, guaranteed]),
    ).toEqual([
      ['b_high', 'high_priority', false],
      ['d_high', 'high_priority', false],
      ['z_high', 'high_priority', false],
    ]);
    const fewer = select(registry, { text: 'format text', maxTools: 3 });
    expect([chosen(fewer), droppedBecause(fewer)]).toEqual([
      ['e_low', 'b_high', 'd_high'],
      { z_high: 'max_tools' },
    ]);
  });
});
