/** Tells whoever listens, one event after the other. */
export class Listeners<Event> {
  /** Wrapped, so that a function that listens twice can stop once. */
  readonly #listeners = new Set<{ readonly call: (event: Event) => unknown }>();
  readonly #waiting: Event[] = [];
  #telling = false;

  /** Calls the function with every event, until the returned function is called. */
  add(call: (event: Event) => unknown): () => void {
    const listener = { call };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Tells all listeners of an event, which is frozen; what one throws is ignored, because what happened is not its to stop.
   *
   * An event caused by a listener is told after the present one, so that everybody hears them in order.
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
          // See above.
        }
      }
    }
    this.#telling = false;
  }
}
