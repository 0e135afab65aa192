import { describe, expect, it } from 'vitest';
import {
  judgeByName,
  precisionOf,
  recallOf,
  scoreAxis,
  scoreWrites,
  type JudgedTool,
  type Judgement,
} from './score.js';

const judged = (
  readOnly: boolean | null,
  writes: Judgement['writes'],
  more: Partial<JudgedTool['label']> = {},
  server = 'a',
): JudgedTool => ({
  server,
  label: {
    name: 'tool',
    declared: null,
    truth: { readOnly, destructive: readOnly === false, idempotent: 'na', openWorld: null },
    decidable: 'builtin',
    ...more,
  },
  judgement: {
    writes,
    destructive: writes === 'does' ? true : null,
    idempotent: null,
    openWorld: true,
    isCovered: true,
  },
});

describe('the score of who writes', () => {
  it('takes only a sure finding for a label without a condition, and any for one with a condition', () => {
    const needsSure = (['does', 'argued', 'possible', 'no'] as const).map(
      (writes) => scoreWrites([judged(false, writes)]).hits,
    );
    const conditional = (['does', 'argued', 'possible', 'no'] as const).map(
      (writes) => scoreWrites([judged(false, writes, { conditional: 'with filename' })]).hits,
    );
    const argument = (['does', 'argued', 'possible', 'no'] as const).map(
      (writes) => scoreWrites([judged(false, writes, { decidable: 'arg-dependent' })]).hits,
    );
    expect({ needsSure, conditional, argument }).toEqual({
      needsSure: [1, 0, 0, 0],
      conditional: [1, 1, 1, 0],
      argument: [1, 1, 1, 0],
    });
  });

  it('calls a sure or argued write of a reader a false alarm, and a possible one no alarm', () => {
    expect(
      (['does', 'argued', 'possible', 'no'] as const).map((writes) =>
        scoreWrites([judged(true, writes)]),
      ),
    ).toEqual([
      { positives: 0, hits: 0, alarms: 1, falseAlarms: 1 },
      { positives: 0, hits: 0, alarms: 1, falseAlarms: 1 },
      { positives: 0, hits: 0, alarms: 0, falseAlarms: 0 },
      { positives: 0, hits: 0, alarms: 0, falseAlarms: 0 },
    ]);
  });

  it('leaves out what readers contest', () => {
    expect(scoreWrites([judged(null, 'does')])).toEqual({
      positives: 0,
      hits: 0,
      alarms: 0,
      falseAlarms: 0,
    });
    expect(scoreAxis([judged(true, 'does')], 'openWorld')).toEqual({
      positives: 0,
      hits: 0,
      alarms: 0,
      falseAlarms: 0,
    });
  });

  it('has no precision without an alarm and no recall without a positive', () => {
    expect([
      precisionOf(scoreWrites([judged(true, 'no')])),
      recallOf(scoreWrites([judged(true, 'no')])),
    ]).toEqual([null, null]);
  });
});

describe('the baseline of names', () => {
  it.each([
    ['create_issue', 'does'],
    ['createIssue', 'does'],
    ['browser-click', 'does'],
    ['list_issues', 'no'],
    ['settings', 'no'],
  ])('takes %s for one that changes something: %s', (name, writes) => {
    expect(judgeByName(name).writes).toBe(writes);
  });
});
