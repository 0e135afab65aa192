/**
 * A map with a maximum number of entries. Setting an entry makes it the newest entry. If the map is full, the oldest
 * entry is dropped.
 */
export class RecentMap<K, V> extends Map<K, V> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#most) for (const [oldest] of this) return (this.delete(oldest), this);
    return this;
  }
}
