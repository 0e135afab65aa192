import { hasToolFailed, type RecordedCall } from '../execution/call-log.js';

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
const SLOTS = 12;
const MOST_NAMED = 10;

/** Returns the failing and slow tools of the last hour. The log may cover less than an hour. */
export function overviewOf(calls: readonly RecordedCall[], now: number) {
  const recent = calls.filter(({ at }) => now - at < HOUR_MS);
  const slots = Array.from({ length: SLOTS }, () => ({ calls: 0, errors: 0 }));
  const tools = new Map<string, { calls: number; errors: number; totalMs: number }>();
  for (const call of recent) {
    const { at, toolName, durationMs, attempts } = call;
    const isError = Number(hasToolFailed(call));
    const slot = slots[SLOTS - 1 - Math.floor((Math.max(0, now - at) / HOUR_MS) * SLOTS)]!;
    slot.calls += 1;
    slot.errors += isError;
    if (attempts === 0) continue; // A call that only waited or was refused says nothing about the tool.
    const tool = tools.get(toolName) ?? { calls: 0, errors: 0, totalMs: 0 };
    tools.set(toolName, {
      calls: tool.calls + 1,
      errors: tool.errors + isError,
      totalMs: tool.totalMs + durationMs,
    });
  }
  const rows = [...tools].map(([name, { totalMs, ...counts }]) => ({
    name,
    ...counts,
    mean_ms: Math.round(totalMs / counts.calls),
  }));
  return {
    last_hour: slots,
    failing: rows
      .filter(({ errors }) => errors > 0)
      .sort((a, b) => b.errors - a.errors)
      .slice(0, MOST_NAMED),
    slowest: rows.sort((a, b) => b.mean_ms - a.mean_ms).slice(0, MOST_NAMED),
  };
}
