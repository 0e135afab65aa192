import { BOUNDS_MS, type CallCounts, type SeriesRecord } from '../execution/call-series.js';
import { byName } from './overview.js';
import type { CapabilityRegistry } from '../capability/capability-registry.js';

/** The sums of all counts that this server has read. They only grow, so that `rate()` works. */
export class CallTotals {
  tools: Record<string, CallCounts> = {};
  /** The ids of the records that are counted already. */
  #seen = new Set<string>();

  add(records: readonly SeriesRecord[]): void {
    const seen = new Set<string>();
    const fresh = [this.tools];
    for (const { id, tools } of records) {
      seen.add(id);
      if (!this.#seen.has(id)) fresh.push(tools);
    }
    this.#seen = seen;
    this.tools = Object.fromEntries(byName(fresh));
  }
}

const label = (text: string) => text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n');

/** Returns the counters and the histograms of calls. */
function callLines({ tools }: CallTotals): readonly string[] {
  const lines = [
    '# HELP tooldex_calls_total The calls of each tool, by result.',
    '# TYPE tooldex_calls_total counter',
  ];
  const histogram = [
    '# HELP tooldex_call_duration_seconds The durations of the calls that reached their tool.',
    '# TYPE tooldex_call_duration_seconds histogram',
  ];
  for (const [name, counts] of Object.entries(tools)) {
    const { calls, started, failed, denied, asked, durations, totalMs } = counts;
    const tool = `tool="${label(name)}"`;
    const results = { failed, denied, asked, other: calls - failed - denied - asked };
    for (const [result, count] of Object.entries(results))
      lines.push(`tooldex_calls_total{${tool},result="${result}"} ${count}`);
    let sum = 0;
    for (const [index, count] of durations.entries()) {
      sum += count;
      const bound = BOUNDS_MS[index]! / 1_000;
      const le = bound === Infinity ? '+Inf' : bound;
      histogram.push(`tooldex_call_duration_seconds_bucket{${tool},le="${le}"} ${sum}`);
    }
    histogram.push(
      `tooldex_call_duration_seconds_sum{${tool}} ${totalMs / 1_000}`,
      `tooldex_call_duration_seconds_count{${tool}} ${started}`,
    );
  }
  return [...lines, ...histogram];
}

/** Returns metrics in the Prometheus text format. */
export function metricsOf(
  capabilities: CapabilityRegistry,
  waiting: number | undefined,
  totals: CallTotals,
): string {
  const lines = [
    '# HELP tooldex_tools The tools in the catalogue.',
    '# TYPE tooldex_tools gauge',
    `tooldex_tools ${capabilities.tools().length}`,
  ];
  if (waiting !== undefined)
    lines.push(
      '# HELP tooldex_pending_calls The calls that are waiting for a person, counted up to 100.',
      '# TYPE tooldex_pending_calls gauge',
      `tooldex_pending_calls ${waiting}`,
    );
  return [...lines, ...callLines(totals), ''].join('\n');
}
