import { ignoreRejection } from './plain-data.js';
/** A set of event listeners. Each listener receives one event at a time. */
export class Listeners<Event> {
  /**
   * Each function is wrapped in its own object, so a function that was added twice can be removed
   * separately.
   */
  readonly #listeners = new Set<{ readonly call: (event: Event) => unknown }>();
  readonly #waiting: Event[] = [];
  #telling = false;

  get size(): number {
    return this.#listeners.size;
  }

  /** Calls `call` for every event. Returns a function that removes the listener. */
  add(call: (event: Event) => unknown): () => void {
    const listener = { call };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Sends a frozen event to all listeners. Errors thrown by listeners are ignored, because the
   * event has already happened.
   *
   * If a listener triggers another event, it's sent after the current event, so that all listeners
   * receive events in the same order.
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
          ignoreRejection(returned);
        } catch {
          // The event has already happened, so a listener can't prevent it.
        }
      }
    }
    this.#telling = false;
  }
}

/** The callbacks that are waiting for each signal. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `call` once when the signal is aborted. Returns a function that cancels the callback.
 *
 * All callbacks of a signal share one listener, which is removed together with the last callback.
 * With one listener per callback, Node would warn about a leak as soon as eleven calls share a
 * signal.
 */
export function onAbort(signal: AbortSignal | undefined, call: () => void): () => void {
  if (signal === undefined) return () => undefined;
  const calls = waiting.get(signal) ?? new Set<() => void>();
  const own = () => call(); // The callback is wrapped in a new function, because the same callback can be added twice.
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
