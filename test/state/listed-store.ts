import { MemoryStateStore, type StateStore } from '../../src/state.js';

type Written = Parameters<StateStore['compareAndSet']>;

/** A store in memory that can also list its keys, which only tests need. */
export class ListedStore extends MemoryStateStore {
  readonly #keys = new Set<string>();

  override compareAndSet(...given: Written): Promise<boolean> {
    this.#keys.add(given[0]);
    return super.compareAndSet(...given);
  }

  override append(...given: Parameters<StateStore['append']>): Promise<void> {
    this.#keys.add(given[0]);
    return super.append(...given);
  }

  /** Returns the keys that begin with a prefix, sorted. */
  async list(prefix: string): Promise<readonly string[]> {
    const keys = [...this.#keys].filter((key) => key.startsWith(prefix)).sort();
    const held = await Promise.all(
      keys.map((key) => this.get(key).catch(async () => (await this.read(key))[0])),
    );
    return keys.filter((_, at) => held[at] !== undefined);
  }
}
