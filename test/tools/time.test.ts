import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findDefinitions } from '../../src/tool/find-definitions.js';
import { AddDuration, CurrentTime, DateDifference } from '../../tools/time/index.js';

const NOON = Date.UTC(2024, 1, 29, 12, 30, 45, 678);

const at = (timeZone: string, now = NOON) => new CurrentTime(() => now).execute({ timeZone });

it('current_time returns the time in UTC by default', () => {
  expect(new CurrentTime(() => NOON).execute({})).toEqual({
    utc: '2024-02-29T12:30:45.678Z',
    local: '2024-02-29T12:30:45Z',
    timeZone: 'UTC',
    weekday: 'Thursday',
    unixSeconds: 1709209845,
  });
});

it.each([
  ['Europe/Berlin', '2024-02-29T13:30:45+01:00', 'Thursday'],
  ['Asia/Kolkata', '2024-02-29T18:00:45+05:30', 'Thursday'],
])('current_time returns the time in %s', (timeZone, local, weekday) => {
  expect(at(timeZone)).toMatchObject({ local, weekday });
});

it('current_time fails on an unknown time zone', () => {
  expect(at('Mars/Olympus')).toMatchObject({
    status: 'error',
    message: expect.stringContaining('Mars/Olympus'),
  });
});

it('current_time declares that its results are never cached', () => {
  expect(findDefinitions(CurrentTime)[0]?.cacheTtlMs).toBe(0);
});

/** Values that both date tools reject. */
const NO_DATES = [
  '',
  'today',
  '2024-02-30',
  '2024-13-01',
  '2024-01-01T10:00',
  '2024-01-01T24:00Z',
  '2024-01-01T10:00+19:00',
  '2024-01-01\n',
  '٢٠٢٤-٠١-٠١',
];

describe('add_duration', () => {
  const add = (date: string, amounts: object) => new AddDuration().execute({ date, ...amounts });

  it.each([
    ['2024-01-31', { months: 1 }, '2024-02-29'],
    ['2024-02-29', { years: 1 }, '2025-02-28'],
    ['2024-01-01', { weeks: 1, days: -8 }, '2023-12-31'],
    ['2024-01-31', { months: 1, days: 1 }, '2024-03-01'],
    ['2024-01-01T09:00Z', { hours: 36 }, '2024-01-02T21:00:00Z'],
    ['2024-01-01t00:00:00.250z', { seconds: -1 }, '2023-12-31T23:59:59.250Z'],
    ['2024-12-31T23:30:00+05:30', { minutes: 45 }, '2025-01-01T00:15:00+05:30'],
  ])('starting at %s, adds %j', (date, amounts, expected) => {
    expect(add(date, amounts)).toMatchObject({ date: expected });
  });

  it.each(NO_DATES)('fails on the invalid date %j', (date) => {
    expect(add(date, { days: 1 })).toMatchObject({ status: 'error' });
  });

  it('fails to add hours to a date without a time', () => {
    expect(add('2024-01-01', { hours: 1 })).toMatchObject({
      status: 'error',
      message: expect.stringContaining('with a time'),
    });
  });

  it.each([{ days: 1 }, { years: 400_000_000_000 }, { months: 1 }])(
    'fails on a result after the year 9999: %j',
    (amounts) => {
      expect(add('9999-12-31', amounts)).toMatchObject({ status: 'error' });
    },
  );
});

const between = (from: string, to: string) => new DateDifference().execute({ from, to });
const NOTHING = { years: 0, months: 0, days: 0, hours: 0, minutes: 0, seconds: 0 };

it.each([
  ['2024-01-15', '2024-12-24', 344, { ...NOTHING, months: 11, days: 9 }],
  ['2024-02-29', '2025-02-28', 365, { ...NOTHING, years: 1 }],
])('date_difference returns the difference between %s and %s', (from, to, totalDays, calendar) => {
  expect(between(from, to)).toEqual({
    totalDays,
    totalHours: totalDays * 24,
    totalSeconds: totalDays * 86_400,
    backwards: false,
    calendar,
  });
});

it('date_difference returns negative totals and positive parts for a backward difference', () => {
  expect(between('2024-03-01', '2024-02-28')).toMatchObject({
    totalDays: -2,
    backwards: true,
    calendar: { ...NOTHING, days: 2 },
  });
});

it('date_difference compares points in time, not their notation', () => {
  expect(between('2024-01-01T00:00:00+02:00', '2023-12-31T22:00:00Z')).toMatchObject({
    totalSeconds: 0,
    backwards: false,
  });
  expect(between('2024-01-01T12:00:00Z', '2024-01-01T12:00:00-01:30')).toMatchObject({
    totalSeconds: 5_400,
    calendar: { ...NOTHING, hours: 1, minutes: 30 },
  });
});

it('date_difference refuses to compare a date with a date and time', () => {
  expect(between('2024-01-01', '2024-01-02T00:00Z')).toMatchObject({ status: 'error' });
});

it.each(NO_DATES)('date_difference fails on the invalid date %j', (date) => {
  expect(between(date, '2024-01-01')).toMatchObject({ status: 'error' });
  expect(between('2024-01-01', date)).toMatchObject({ status: 'error' });
});

it('date_difference returns a duration that leads from one date to the other when added', () => {
  const date = fc
    .date({ min: new Date('0002-01-01'), max: new Date('9998-12-31'), noInvalidDate: true })
    .map((day) => day.toISOString());
  fc.assert(
    fc.property(date, date, (one, other) => {
      const [from, to] = one < other ? [one, other] : [other, one];
      const found = between(from, to);
      if (!('calendar' in found)) throw new Error('expected a difference');
      const { seconds, ...calendar } = found.calendar;
      const whole = new AddDuration().execute({
        date: from,
        ...calendar,
        seconds: Math.floor(seconds),
      });
      if (!('date' in whole)) throw new Error('expected a date');
      expect(new Date(to).getTime() - new Date(whole.date).getTime()).toBe(
        Math.round((seconds % 1) * 1_000),
      );
    }),
  );
});
