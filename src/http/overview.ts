import {
  added,
  MINUTE_MS,
  noCalls,
  p95Of,
  type CallCounts,
  type SeriesRecord,
} from '../execution/call-series.js';

export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
const MOST_NAMED = 10;

/** Summarizes the last hour of all processes by minute, by tool and by principal. */
export function overviewOf(records: readonly SeriesRecord[], now: number) {
  const first = now - (now % MINUTE_MS) - HOUR_MS + MINUTE_MS;
  const recent = records.filter(({ at }) => at >= first);
  const tools = byName(recent.map((record) => record.tools)).map(toolRow);
  const principals = byName(recent.map((record) => record.principals)).map(principalRow);
  return {
    last_hour: minutesOf(recent, first),
    failing: most('errors', tools).filter(({ errors }) => errors > 0),
    slowest: most(
      'mean_ms',
      tools.filter(({ calls }) => calls > 0),
    ),
    principals: most('calls', principals),
  };
}

function minutesOf(records: readonly SeriesRecord[], first: number) {
  const sums = new Map<number, CallCounts>();
  for (const { at, all } of records) sums.set(at, added(sums.get(at) ?? noCalls(), all));
  const minutes: { at: number; calls: number; errors: number; p95_ms: number | null }[] = [];
  for (let at = first; at < first + HOUR_MS; at += MINUTE_MS) {
    const counts = sums.get(at) ?? noCalls();
    minutes.push({ at, calls: counts.calls, errors: counts.failed, p95_ms: p95Of(counts) });
  }
  return minutes;
}

function toolRow([name, counts]: readonly [string, CallCounts]) {
  return {
    name,
    calls: counts.started,
    errors: counts.failed,
    p95_ms: p95Of(counts),
    mean_ms: Math.round(counts.totalMs / Math.max(1, counts.started)),
  };
}

function principalRow([name, { calls, denied, asked, failed, cost }]: readonly [
  string,
  CallCounts,
]) {
  return { name: name || null, calls, denied, asked, failed, cost };
}

/** Returns the rows with the highest values of a column, highest first. */
function most<Column extends string, Row extends Readonly<Record<Column, number>>>(
  column: Column,
  rows: readonly Row[],
): readonly Row[] {
  return rows.toSorted((a, b) => b[column] - a[column]).slice(0, MOST_NAMED);
}

/** Returns the sum of counts by name. */
export function byName(
  records: readonly Readonly<Record<string, CallCounts>>[],
): readonly (readonly [string, CallCounts])[] {
  const sums = new Map<string, CallCounts>();
  for (const record of records)
    for (const [name, counts] of Object.entries(record))
      sums.set(name, added(sums.get(name) ?? noCalls(), counts));
  return [...sums];
}
