import { systemClock, type Clock } from '../core/clock.js';
import type { Usage, UsageData } from '../search/usage-history.js';
import type { StateStore } from '../state/state-store.js';

const KEY = 'usage';
const USUAL_INTERVAL_MS = 2_000;
/** The largest text in characters of JSON: a text of a store is at most 1 MiB, and a character at most 3 bytes. */
const LONGEST = 2 ** 20 / 3;
/** The attempts at a write. Every lost race was won by another process, whose usage is then learnt. */
const MOST_RACES = 10;

/**
 * Shares what a registry learns from use with all processes on a store.
 *
 * Each reads what all know, merges it with its own, and writes the union. Merging twice changes nothing and the order
 * does not matter, so no use is counted double, whatever fails in between; of two votes on one request the stronger
 * counts. What does not fit into the store is left out, the oldest requests first.
 */
export function shareUsage(
  usage: Usage,
  store: StateStore,
  {
    intervalMs = USUAL_INTERVAL_MS,
    clock = systemClock,
  }: { readonly intervalMs?: number; readonly clock?: Clock } = {},
): {
  /** Writes and reads now. Never rejects: without the store, or when it holds no usage, the process goes on with its own. */
  sync(): Promise<void>;
  /** Writes once more what was learnt, and stops. */
  close(): Promise<void>;
} {
  let cancel = () => {};
  let closed = false;
  const exchange = async (): Promise<void> => {
    for (let race = 0; race < MOST_RACES; race++) {
      const before = await store.get(KEY);
      if (before !== undefined) learn(usage, before);
      const after = boundedJson(usage.export());
      if (after === before || (await store.compareAndSet(KEY, before, after))) return;
    }
  };
  const sync = () => exchange().catch(() => undefined);
  const wait = () => {
    if (closed) return;
    cancel = clock.after(intervalMs, () => void sync().then(wait), { background: true });
  };
  wait();
  return {
    sync,
    close: async () => {
      closed = true;
      cancel();
      await sync();
    },
  };
}

/** Learns from a text that holds usage; any other is ignored and replaced by the next write. */
function learn(usage: Usage, text: string): void {
  try {
    usage.merge(JSON.parse(text) as UsageData);
  } catch {
    // Written by another version or another program.
  }
}

function boundedJson(data: UsageData): string {
  let { requests } = data;
  let text = JSON.stringify(data);
  while (text.length > LONGEST) {
    requests = requests.slice(Math.ceil(requests.length / 4));
    text = JSON.stringify({ ...data, requests });
  }
  return text;
}
