import { z } from 'zod';
import { fail, Priority, tool } from '../../src/index.js';
import { dayMs, formatIso, MINUTE_MS } from './iso-date.js';
import { TIME_TOOL } from './time-tool.js';

const Input = z.object({
  timeZone: z
    .string()
    .min(1)
    .max(64)
    .default('UTC')
    .describe('IANA time zone such as Europe/Berlin'),
});

/** Returns the current time. */
@tool({
  ...TIME_TOOL,
  name: 'current_time',
  description:
    'Returns the current date and time in UTC and in a time zone, the day of the week in that zone, and the Unix time. Every call reads the clock again.',
  inputSchema: Input,
  priority: Priority.HIGH,
  executionCategory: 'read_only',
  keywords: [
    'time',
    'date',
    'today',
    'now',
    'clock',
    'current time',
    'weekday',
    'time zone',
    'what day',
  ],
  mandatoryKeywords: ['current time', 'what time', 'current date'],
  stages: ['initial', 'reading'],
  taskTypes: ['search', 'analysis'],
  examples: [
    'What time is it?',
    'What is the date in Tokyo?',
    'Which weekday is today?',
    'What is the current Unix time?',
  ],
  // Results aren't cached, because they're out of date at once.
  cacheTtlMs: 0,
})
export class CurrentTime {
  constructor(private readonly now: () => number = Date.now) {}

  execute({ timeZone = 'UTC' }: z.input<typeof Input>) {
    const formatter = formatterFor(timeZone);
    if (formatter === undefined)
      return fail(
        `Expected an IANA time zone such as UTC, Europe/Berlin or America/New_York, got "${timeZone.slice(0, 64)}".`,
      );
    const instant = this.now();
    const parts = Object.fromEntries(
      formatter.formatToParts(instant).map(({ type, value }) => [type, value]),
    );
    const part = (name: string) => Number(parts[name]);
    const wallMs =
      dayMs(part('year'), part('month') - 1, part('day')) +
      (part('hour') * 60 + part('minute')) * MINUTE_MS +
      part('second') * 1_000;
    const second = Math.floor(instant / 1_000) * 1_000;
    return {
      utc: new Date(instant).toISOString(),
      local: formatIso({ wallMs, offsetMinutes: Math.round((wallMs - second) / MINUTE_MS) }),
      timeZone: formatter.resolvedOptions().timeZone,
      weekday: parts['weekday'] ?? '',
      unixSeconds: second / 1_000,
    };
  }
}

function formatterFor(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      calendar: 'gregory',
      numberingSystem: 'latn',
      weekday: 'long',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return undefined;
  }
}
