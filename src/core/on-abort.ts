/** Who waits for which signal. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back once when a signal fires, unless the returned function is called before.
 *
 * All callbacks of a signal share one listener, which goes with the last of them: a signal that many calls share would
 * otherwise have Node warn of a leak from the eleventh on.
 */
export function onAbort(signal: AbortSignal | undefined, call: () => void): () => void {
  if (signal === undefined) return () => undefined;
  const calls = waiting.get(signal) ?? new Set<() => void>();
  const own = () => call(); // The same function may wait twice.
  if (calls.size === 0) {
    waiting.set(signal, calls);
    signal.addEventListener('abort', fire, { once: true });
  }
  calls.add(own);
  return () => {
    if (calls.delete(own) && calls.size === 0) signal.removeEventListener('abort', fire);
  };
}

function fire(this: AbortSignal): void {
  const calls = waiting.get(this);
  waiting.delete(this);
  if (calls !== undefined) for (const call of [...calls]) if (calls.delete(call)) call();
}
