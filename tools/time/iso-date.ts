/** A date, or a date and time with its original UTC offset. */
interface IsoDate {
  /** The date and time in milliseconds since 1970, read as if they were in UTC. */
  readonly wallMs: number;
  /** Minutes east of UTC. Missing for a date without a time. */
  readonly offsetMinutes?: number;
}

export const ISO_RULE =
  'an ISO date such as 2024-02-29, or a date and time with its offset such as 2024-02-29T12:30:00Z or 2024-02-29T12:30+01:00';

const PATTERN =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,3}))?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$/;
export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;
/** Maximum UTC offset in minutes. No time zone is further from UTC. */
const MAX_OFFSET = 18 * 60;

/**
 * Returns midnight (UTC) of a day in milliseconds. Months count from 0. Months out of range carry
 * over to the year.
 */
export function dayMs(year: number, month: number, day: number): number {
  // `Date.UTC` would read the years 0 to 99 as 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  return date.getTime();
}

/** The first and last times that a four-digit year can express. */
const FIRST_MS = dayMs(1, 0, 1);
const LAST_MS = dayMs(9999, 11, 31) + DAY_MS - 1;

export function isWritable(wallMs: number): boolean {
  return wallMs >= FIRST_MS && wallMs <= LAST_MS;
}

/**
 * Parses a date strictly. Dates such as February 30 are refused, and so are times without an
 * offset, because they're ambiguous.
 */
export function parseIso(text: string): IsoDate | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part: string | undefined) => Number(part ?? 0));
  const midnight = dayMs(year, month - 1, day);
  const date = new Date(midnight);
  if (
    date.getUTCMonth() !== month - 1 ||
    date.getUTCDate() !== day ||
    hour > 23 ||
    minute > 59 ||
    second > 59 ||
    !isWritable(midnight)
  )
    return undefined;
  const zone = match[8];
  if (zone === undefined) return { wallMs: midnight };
  const offsetMinutes = offsetOf(zone);
  if (offsetMinutes === undefined) return undefined;
  const milliseconds = Number((match[7] ?? '').padEnd(3, '0'));
  return {
    wallMs: midnight + (hour * 60 + minute) * MINUTE_MS + second * 1_000 + milliseconds,
    offsetMinutes,
  };
}

/** Formats a date in the form that `parseIso` reads. Milliseconds are left out if they're zero. */
export function formatIso({ wallMs, offsetMinutes }: IsoDate): string {
  const text = new Date(wallMs).toISOString();
  if (offsetMinutes === undefined) return text.slice(0, 10);
  const seconds = text.endsWith('.000Z') ? text.slice(0, -5) : text.slice(0, -1);
  if (offsetMinutes === 0) return `${seconds}Z`;
  const absolute = Math.abs(offsetMinutes);
  return `${seconds}${offsetMinutes < 0 ? '-' : '+'}${twoDigits(Math.floor(absolute / 60))}:${twoDigits(absolute % 60)}`;
}

/** Returns a date in milliseconds since 1970. A date without a time means midnight UTC. */
export function instantOf({ wallMs, offsetMinutes = 0 }: IsoDate): number {
  return wallMs - offsetMinutes * MINUTE_MS;
}

/** Adds calendar months. If the resulting month doesn't have that day, uses its last day. */
export function addMonths(wallMs: number, months: number): number {
  const date = new Date(wallMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months];
  const daysInMonth = new Date(dayMs(year, month + 1, 0)).getUTCDate();
  const timeOfDay = wallMs - dayMs(year, date.getUTCMonth(), date.getUTCDate());
  return dayMs(year, month, Math.min(date.getUTCDate(), daysInMonth)) + timeOfDay;
}

function offsetOf(zone: string): number | undefined {
  if (zone === 'Z' || zone === 'z') return 0;
  const minutes = Number(zone.slice(4, 6));
  const offset = Number(zone.slice(1, 3)) * 60 + minutes;
  if (minutes > 59 || offset > MAX_OFFSET) return undefined;
  return zone.startsWith('-') && offset > 0 ? -offset : offset;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
