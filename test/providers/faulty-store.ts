import { ToolError } from '../../src/core/errors.js';
import { MemoryStateStore } from '../../src/state/memory-state-store.js';
import type {
  AppendOptions,
  LifetimeOptions,
  ReadOptions,
  StateStore,
  StoreMoment,
} from '../../src/state/state-store.js';

/** The result of an operation: done, refused, or done but answered with an error. */
export type Fault = 'none' | 'refused' | 'lost-answer';

/** A connection to shared memory that fails on demand. Each connection represents a process. */
export class FaultyStore implements StateStore {
  /** Every requested operation, in order. */
  readonly operations: string[] = [];
  /** Decides the result of the next operation. */
  next: () => Fault = () => 'none';
  readonly #memory: MemoryStateStore;
  readonly #listeners = new Set<(available: boolean) => void>();

  constructor(memory: MemoryStateStore = new MemoryStateStore()) {
    this.#memory = memory;
  }

  /** Interrupts or restores the connection, and notifies listeners. */
  setAvailable(available: boolean): void {
    this.next = () => (available ? 'none' : 'refused');
    for (const listener of this.#listeners) listener(available);
  }

  get(key: string): Promise<string | undefined> {
    return this.#do('get', () => this.#memory.get(key));
  }

  compareAndSet(
    key: string,
    expected: string | undefined,
    next: string | undefined,
    options?: LifetimeOptions,
  ): Promise<boolean> {
    return this.#do('compareAndSet', () =>
      this.#memory.compareAndSet(key, expected, next, options),
    );
  }

  increment(): never {
    throw new Error('not used by providers');
  }

  expire(): never {
    throw new Error('not used by providers');
  }

  now(): Promise<StoreMoment> {
    return this.#do('now', () => this.#memory.now());
  }

  append(key: string, item: string, options: AppendOptions): Promise<void> {
    return this.#do('append', () => this.#memory.append(key, item, options));
  }

  read(key: string, options?: ReadOptions): Promise<readonly string[]> {
    return this.#do('read', () => this.#memory.read(key, options));
  }

  addToIndex(): never {
    throw new Error('not used by providers');
  }

  removeFromIndex(): never {
    throw new Error('not used by providers');
  }

  pageOfIndex(): never {
    throw new Error('not used by providers');
  }

  onAvailability(listener: (available: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {}

  async #do<T>(name: string, operation: () => Promise<T>): Promise<T> {
    this.operations.push(name);
    const fault = this.next();
    const result = fault === 'refused' ? undefined : await operation();
    if (fault !== 'none')
      throw new ToolError('STATE_UNAVAILABLE', 'Expected an answer of the store, got none.');
    return result as T;
  }
}
