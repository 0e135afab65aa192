/** A list of whole numbers below 2³² in one typed array, which doubles when it is full. */
export class GrowingArray {
  #values = new Uint32Array(64);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Uint32Array(this.#values.length + (this.#values.length >> 1));
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
  }

  /** The values themselves, with unused room at the end; stale after the next `push`. */
  get values(): Uint32Array {
    return this.#values;
  }
}
