import { z } from 'zod';
import { fail, tool, type ToolResult } from '../../src/index.js';
import { addMonths, DAY_MS, instantOf, ISO_RULE, MINUTE_MS, parseIso } from './iso-date.js';
import { TIME_TOOL } from './time-tool.js';

const Input = z.object({
  from: z.string().max(64).describe('ISO date, or date and time with Z or an offset'),
  to: z.string().max(64).describe('The other date, of the same kind'),
});

/**
 * The time between two dates. The totals are negative if `to` is earlier. The calendar parts are
 * never negative.
 */
type TimeBetween = {
  readonly totalDays: number;
  readonly totalHours: number;
  readonly totalSeconds: number;
  /** True if `to` is earlier than `from`. */
  readonly backwards: boolean;
  /** The same duration in calendar units, counted from the earlier date. */
  readonly calendar: {
    readonly years: number;
    readonly months: number;
    readonly days: number;
    readonly hours: number;
    readonly minutes: number;
    readonly seconds: number;
  };
};

/** Returns the time between two dates. */
@tool({
  ...TIME_TOOL,
  name: 'date_difference',
  description:
    'Returns the time between two ISO dates, or two date-times with Z or an offset: total days, hours and seconds (negative if "to" is earlier), and the same in years, months, days, hours, minutes and seconds. The end date isn\'t counted as a day of its own.',
  inputSchema: Input,
  keywords: [
    'days between',
    'difference',
    'how long',
    'age',
    'until',
    'since',
    'elapsed',
    'date difference',
    'countdown',
  ],
  mandatoryKeywords: ['days between', 'date difference'],
  examples: [
    'How many days are between 2024-01-15 and 2024-12-24?',
    'How old is someone born on 1990-06-01 on 2024-05-31?',
    'How many hours passed between these two timestamps?',
  ],
})
export class DateDifference {
  execute({ from, to }: z.input<typeof Input>): TimeBetween | ToolResult<never> {
    const [first, second] = [parseIso(from), parseIso(to)];
    if (first === undefined || second === undefined)
      return fail(`Expected ${ISO_RULE}, got "${(first === undefined ? from : to).slice(0, 64)}".`);
    if ((first.offsetMinutes === undefined) !== (second.offsetMinutes === undefined))
      return fail(
        'One value is a date, and the other a date and time with an offset. Use the same format for both.',
      );
    const milliseconds = instantOf(second) - instantOf(first);
    const backwards = milliseconds < 0;
    const earlier = backwards ? second : first;
    const days = milliseconds / DAY_MS;
    return {
      totalDays: rounded(days),
      totalHours: rounded(days * 24),
      totalSeconds: milliseconds / 1_000,
      backwards,
      calendar: calendarParts(earlier.wallMs, earlier.wallMs + Math.abs(milliseconds)),
    };
  }
}

function calendarParts(start: number, end: number): TimeBetween['calendar'] {
  const [a, b] = [new Date(start), new Date(end)];
  let months = (b.getUTCFullYear() - a.getUTCFullYear()) * 12 + b.getUTCMonth() - a.getUTCMonth();
  if (addMonths(start, months) > end) months -= 1;
  const rest = end - addMonths(start, months);
  const minutes = Math.floor(rest / MINUTE_MS);
  return {
    years: Math.floor(months / 12),
    months: months % 12,
    days: Math.floor(rest / DAY_MS),
    hours: Math.floor(minutes / 60) % 24,
    minutes: minutes % 60,
    seconds: (rest % MINUTE_MS) / 1_000,
  };
}

/** Rounds to six decimal places, which is more precise than a tenth of a second even for days. */
function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
