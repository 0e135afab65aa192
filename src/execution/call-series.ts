import type { Clock } from '../core/clock.js';
import { randomUUID } from '../core/crypto.js';
import type { StateStore } from '../state/state-store.js';
import { hasToolFailed, type RecordedCall } from './call-log.js';

/** The counts of a minute's calls: all, or those of one tool or one principal. */
export interface CallCounts {
  readonly calls: number;
  /** The calls that reached their tool, and how many of them failed, counted as health counts. */
  readonly started: number;
  readonly failed: number;
  readonly denied: number;
  /** The calls that ended by waiting for a person. */
  readonly asked: number;
  readonly cost: number;
  /** The errors by code. */
  readonly errors: Readonly<Record<string, number>>;
  /** The total duration of the started calls, and their number up to each of `BOUNDS_MS`. */
  readonly totalMs: number;
  readonly durations: readonly number[];
}

/** The calls of one process in one minute, or in a part of it, as stored. */
export interface SeriesRecord {
  readonly id: string;
  /** The start of the minute, in milliseconds since 1970. */
  readonly at: number;
  readonly all: CallCounts;
  readonly tools: Readonly<Record<string, CallCounts>>;
  readonly principals: Readonly<Record<string, CallCounts>>;
}

/** The upper bounds of the histogram of durations, in milliseconds. */
export const BOUNDS_MS = [5, 25, 100, 250, 1_000, 5_000, 30_000, Infinity] as const;
export const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const KEEP_MS = 25 * HOUR_MS;
/** The maximum number of records in an hour: those of 200 processes. */
const MOST_RECORDS = 12_000;
/** The maximum number of tools and of principals in a record. The others are counted together. */
const MOST_NAMES = 200;
const OTHERS = '…';
const ASKED: readonly string[] = ['approval_required', 'ask_user', 'manual'];

const keyOf = (at: number) => `call-series:${Math.floor(at / HOUR_MS)}`;

/** Returns counts without calls. */
export function noCalls(): CallCounts {
  const none = { calls: 0, started: 0, failed: 0, denied: 0, asked: 0, cost: 0, totalMs: 0 };
  return { ...none, errors: {}, durations: BOUNDS_MS.map(() => 0) };
}

/** Returns the sum of two counts. */
export function added(a: CallCounts, b: CallCounts): CallCounts {
  const errors = { ...a.errors };
  for (const [code, count] of Object.entries(b.errors)) errors[code] = (errors[code] ?? 0) + count;
  return {
    calls: a.calls + b.calls,
    started: a.started + b.started,
    failed: a.failed + b.failed,
    denied: a.denied + b.denied,
    asked: a.asked + b.asked,
    cost: a.cost + b.cost,
    totalMs: a.totalMs + b.totalMs,
    errors,
    durations: a.durations.map((count, index) => count + b.durations[index]!),
  };
}

/** Returns an upper bound of the duration of 95 % of the started calls, or `null` without calls. */
export function p95Of({ started, durations }: CallCounts): number | null {
  let seen = 0;
  const index = durations.findIndex((count) => (seen += count) >= started * 0.95);
  return started === 0 ? null : BOUNDS_MS[Math.min(index, BOUNDS_MS.length - 2)]!;
}

/**
 * Counts a process's calls in memory, and appends one record a minute to a list in the store. A
 * process that is killed loses at most its last minute.
 */
export class CallSeries {
  readonly #store: StateStore;
  readonly #clock: Clock;
  #at = 0;
  #tools = new Map<string, CallCounts>();
  #principals = new Map<string, CallCounts>();
  #stop: (() => void) | undefined;

  constructor(store: StateStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  record(call: RecordedCall, cost: number): void {
    const at = call.at - (call.at % MINUTE_MS);
    if (this.#stop !== undefined && at !== this.#at) void this.flush();
    this.#at = at;
    const background = { background: true };
    this.#stop ??= this.#clock.after(at + MINUTE_MS - call.at, () => void this.flush(), background);
    const counts = countsOf(call, cost);
    count(this.#tools, call.toolName, counts);
    count(this.#principals, call.principal ?? '', counts);
  }

  /** Writes the counts. If the store doesn't respond, they're lost. */
  async flush(): Promise<void> {
    if (this.#stop === undefined) return;
    this.#stop();
    this.#stop = undefined;
    const tools = this.#tools;
    const principals = this.#principals;
    this.#tools = new Map();
    this.#principals = new Map();
    const record: SeriesRecord = {
      id: randomUUID(),
      at: this.#at,
      all: [...tools.values()].reduce(added),
      tools: Object.fromEntries(tools),
      principals: Object.fromEntries(principals),
    };
    const options = { max: MOST_RECORDS, ttlMs: KEEP_MS };
    await this.#store.append(keyOf(record.at), JSON.stringify(record), options).catch(() => {});
  }
}

/**
 * Returns the records of all processes since a time.
 * @throws ToolError `STATE_UNAVAILABLE`.
 */
export async function readCallSeries(
  store: StateStore,
  since: number,
  now: number,
): Promise<readonly SeriesRecord[]> {
  const keys: string[] = [];
  for (let at = since; keys.at(-1) !== keyOf(now); at += HOUR_MS)
    keys.push(keyOf(Math.min(at, now)));
  const lists = await Promise.all(keys.map((key) => store.read(key, { limit: MOST_RECORDS })));
  return lists
    .flat()
    .map((item) => JSON.parse(item) as SeriesRecord)
    .filter(({ at }) => at >= since - MINUTE_MS);
}

function countsOf(call: RecordedCall, cost: number): CallCounts {
  const { status, code, attempts, durationMs } = call;
  const started = Number(attempts > 0);
  const slot = BOUNDS_MS.findIndex((bound) => durationMs <= bound);
  return {
    calls: 1,
    started,
    failed: Number(hasToolFailed(call)),
    denied: Number(status === 'denied'),
    asked: Number(ASKED.includes(status)),
    cost: started * cost,
    errors: code === undefined ? {} : { [code]: 1 },
    totalMs: started * durationMs,
    durations: BOUNDS_MS.map((_, index) => Number(index === slot) * started),
  };
}

function count(counts: Map<string, CallCounts>, name: string, one: CallCounts): void {
  const key = counts.has(name) || counts.size < MOST_NAMES ? name : OTHERS;
  counts.set(key, added(counts.get(key) ?? noCalls(), one));
}
