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

describe('scoreWrites', () => {
  it('counts only a certain write as a hit, or any write if the label has a condition', () => {
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

  it('counts a certain or argument-dependent write of a read-only tool as a false alarm, but not a possible write', () => {
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

  it('ignores labels that are disputed', () => {
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

  it('returns no precision without alarms and no recall without positives', () => {
    expect([
      precisionOf(scoreWrites([judged(true, 'no')])),
      recallOf(scoreWrites([judged(true, 'no')])),
    ]).toEqual([null, null]);
  });
});

describe('judgeByName', () => {
  it.each([
    ['create_issue', 'does'],
    ['createIssue', 'does'],
    ['browser-click', 'does'],
    ['list_issues', 'no'],
    ['settings', 'no'],
  ])('judges whether a tool named %s writes: %s', (name, writes) => {
    expect(judgeByName(name).writes).toBe(writes);
  });
});
