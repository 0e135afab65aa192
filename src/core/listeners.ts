/** A set of listeners, each told of one event after the other. */
export class Listeners<Event> {
  /** The functions, each in an object of its own, so that one added twice can be removed once. */
  readonly #listeners = new Set<{ readonly call: (event: Event) => unknown }>();
  readonly #waiting: Event[] = [];
  #telling = false;

  get size(): number {
    return this.#listeners.size;
  }

  /** Calls the function with every event, until the returned function is called. */
  add(call: (event: Event) => unknown): () => void {
    const listener = { call };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Tells all listeners of an event, which is frozen. An exception of a listener is ignored, because it must not stop
   * what happened.
   *
   * An event caused by a listener is told after the present one, so that all listeners hear events in the same order.
   */
  tell(event: Event): void {
    this.#waiting.push(Object.freeze(event));
    if (this.#telling) return;
    this.#telling = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      for (const listener of [...this.#listeners]) {
        if (!this.#listeners.has(listener)) continue;
        try {
          const returned = listener.call(next);
          if (returned instanceof Promise) returned.catch(() => undefined);
        } catch {
          // A listener must not stop what happened.
        }
      }
    }
    this.#telling = false;
  }
}

/** The callbacks that wait for each signal. */
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
