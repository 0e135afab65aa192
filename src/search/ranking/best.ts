/** Keeps the best of many, by an order in which no two are equal. */
export class Best<T> {
  readonly #limit: number;
  readonly #isBetter: (a: T, b: T) => boolean;
  /** A heap with the worst of the kept on top. */
  readonly #heap: T[] = [];

  constructor(limit: number, isBetter: (a: T, b: T) => boolean) {
    this.#limit = limit;
    this.#isBetter = isBetter;
  }

  /** The worst that is kept, once as many are kept as wanted: only what is better can still come in. */
  get worst(): T | undefined {
    return this.#heap.length < this.#limit ? undefined : this.#heap[0];
  }

  offer(candidate: T): void {
    if (this.#limit === 0) return;
    if (this.#heap.length < this.#limit) {
      this.#heap.push(candidate);
      this.#up(this.#heap.length - 1);
    } else if (this.#isBetter(candidate, this.#heap[0]!)) {
      this.#heap[0] = candidate;
      this.#down(0);
    }
  }

  /** Best first. */
  sorted(): T[] {
    return [...this.#heap].sort((a, b) => (this.#isBetter(a, b) ? -1 : 1));
  }

  #up(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#isBetter(this.#heap[parent]!, this.#heap[at]!)) return;
      this.#swap(parent, at);
      at = parent;
    }
  }

  #down(from: number): void {
    for (let at = from; ; ) {
      let worst = at;
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < this.#heap.length && this.#isBetter(this.#heap[worst]!, this.#heap[child]!)) worst = child;
      if (worst === at) return;
      this.#swap(worst, at);
      at = worst;
    }
  }

  #swap(a: number, b: number): void {
    [this.#heap[a], this.#heap[b]] = [this.#heap[b]!, this.#heap[a]!];
  }
}
