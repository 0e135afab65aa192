import { z } from 'zod';
import { fail, tool, type ToolResult } from '../../src/index.js';
import {
  addMonths,
  DAY_MS,
  formatIso,
  ISO_RULE,
  isWritable,
  MINUTE_MS,
  parseIso,
} from './iso-date.js';
import { TIME_TOOL } from './time-tool.js';

/**
 * Maximum amount of any unit. This number is greater than the number of seconds between the years 1
 * and 9999. The resulting date is checked separately.
 */
const MAX_AMOUNT = 400_000_000_000;
const amount = (what: string) =>
  z
    .number()
    .int()
    .min(-MAX_AMOUNT)
    .max(MAX_AMOUNT)
    .default(0)
    .describe(`${what} to add; negative to subtract`);

const Input = z.object({
  date: z.string().max(64).describe('ISO date, or date and time with Z or an offset'),
  years: amount('Years'),
  months: amount('Months'),
  weeks: amount('Weeks'),
  days: amount('Days'),
  hours: amount('Hours; only for a date with a time'),
  minutes: amount('Minutes; only for a date with a time'),
  seconds: amount('Seconds; only for a date with a time'),
});

/** Adds a duration to a date, or subtracts it. */
@tool({
  ...TIME_TOOL,
  name: 'add_duration',
  description:
    "Adds years, months, weeks, days, hours, minutes and seconds to an ISO date or date-time and returns the new date with its weekday. Negative amounts go back in time. Years and months are added first; a day that doesn't exist in the resulting month becomes its last day. The UTC offset doesn't change. Years 1 to 9999.",
  inputSchema: Input,
  keywords: [
    'add days',
    'date',
    'deadline',
    'days from',
    'weeks ago',
    'months later',
    'duration',
    'due date',
    'subtract days',
  ],
  mandatoryKeywords: ['add duration', 'add days'],
  examples: [
    'Which date is 90 days after 2024-03-01?',
    'What was three months before 2024-05-31?',
    'When does a 36 hour deadline from 2024-01-01T09:00Z end?',
  ],
})
export class AddDuration {
  execute({
    date,
    years = 0,
    months = 0,
    weeks = 0,
    days = 0,
    hours = 0,
    minutes = 0,
    seconds = 0,
  }: z.input<typeof Input>):
    { readonly date: string; readonly weekday: string } | ToolResult<never> {
    const start = parseIso(date);
    if (start === undefined) return fail(`Expected ${ISO_RULE}, got "${date.slice(0, 64)}".`);
    if (start.offsetMinutes === undefined && (hours !== 0 || minutes !== 0 || seconds !== 0))
      return fail(
        'Hours, minutes and seconds can only be added to a date with a time. Write it as 2024-02-29T00:00:00Z.',
      );
    const monthsLater = addMonths(start.wallMs, years * 12 + months);
    const wallMs =
      monthsLater +
      (weeks * 7 + days) * DAY_MS +
      (hours * 60 + minutes) * MINUTE_MS +
      seconds * 1_000;
    if (!isWritable(wallMs))
      return fail('The result is outside the years 1 to 9999. Use smaller amounts.');
    return {
      date: formatIso({ ...start, wallMs }),
      weekday: WEEKDAYS[new Date(wallMs).getUTCDay()] ?? '',
    };
  }
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
