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
const SLOTS = HOUR_MS / MINUTE_MS;
const MOST_NAMED = 10;

/** Summarizes the last hour of all processes by minute, by tool and by principal. */
export function overviewOf(records: readonly SeriesRecord[], now: number) {
  const first = now - (now % MINUTE_MS) - HOUR_MS + MINUTE_MS;
  const recent = records.filter(({ at }) => at >= first);
  const minutes = new Map(recent.map(({ at }) => [at, noCalls()]));
  for (const { at, all } of recent) minutes.set(at, added(minutes.get(at)!, all));
  const tools = byName(recent.map((record) => record.tools)).map(([name, counts]) => ({
    name,
    calls: counts.started,
    errors: counts.failed,
    p95_ms: p95Of(counts),
    mean_ms: Math.round(counts.totalMs / Math.max(1, counts.started)),
  }));
  return {
    last_hour: Array.from({ length: SLOTS }, (_, index) => {
      const at = first + index * MINUTE_MS;
      const counts = minutes.get(at) ?? noCalls();
      return { at, calls: counts.calls, errors: counts.failed, p95_ms: p95Of(counts) };
    }),
    failing: tools
      .filter(({ errors }) => errors > 0)
      .sort((a, b) => b.errors - a.errors)
      .slice(0, MOST_NAMED),
    slowest: tools
      .filter(({ calls }) => calls > 0)
      .sort((a, b) => b.mean_ms - a.mean_ms)
      .slice(0, MOST_NAMED),
    principals: byName(recent.map((record) => record.principals))
      .map(([name, { calls, denied, asked, failed, cost }]) => ({
        name: name || null,
        ...{ calls, denied, asked, failed, cost },
      }))
      .sort((a, b) => b.calls - a.calls)
      .slice(0, MOST_NAMED),
  };
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
