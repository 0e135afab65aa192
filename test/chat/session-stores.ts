import { MemoryStateStore, type StateStore } from '../../src/state.js';

export type Operation =
  'get' | 'compareAndSet' | 'increment' | 'expire' | 'now' | 'list' | 'append' | 'read';
const OPERATIONS: ReadonlySet<string> = new Set<Operation>([
  'get',
  'compareAndSet',
  'increment',
  'expire',
  'now',
  'list',
  'append',
  'read',
]);
/** Operations that change something. */
export const WRITES: ReadonlySet<Operation> = new Set<Operation>([
  'compareAndSet',
  'increment',
  'expire',
  'append',
]);

/**
 * Returns a store whose operations all go through a function that can observe, delay, fail, or skip
 * them.
 */
export function watched(
  store: StateStore,
  around: (
    operation: Operation,
    given: readonly unknown[],
    go: () => Promise<unknown>,
  ) => Promise<unknown>,
): StateStore {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      if (!OPERATIONS.has(name as string)) return method.bind(target) as unknown;
      return (...given: unknown[]) =>
        around(name as Operation, given, () =>
          (method as (...given: unknown[]) => Promise<unknown>).apply(target, given),
        );
    },
  });
}

/**
 * A memory store that can restart with earlier data, like a server restarted from an older
 * snapshot.
 */
export class RestartingStore {
  /** The store to pass to the code under test. It stays the same after restarts. */
  readonly store: StateStore;
  readonly #writes: { readonly operation: Operation; readonly given: readonly unknown[] }[] = [];
  #memory = new MemoryStateStore();

  constructor() {
    this.store = watched(this.#memory, async (operation, given) => {
      const answer = await this.#run(operation, given);
      if (WRITES.has(operation)) this.#writes.push({ operation, given });
      return answer;
    });
  }

  /** The number of writes so far. Pass it to `restart`. */
  get saved(): number {
    return this.#writes.length;
  }

  async restart(saved: number): Promise<void> {
    this.#memory = new MemoryStateStore();
    this.#writes.length = saved;
    for (const { operation, given } of this.#writes)
      await this.#run(operation, given.map(withoutIdentity));
  }

  #run(operation: Operation, given: readonly unknown[]): Promise<unknown> {
    return (this.#memory[operation] as (...given: readonly unknown[]) => Promise<unknown>)(
      ...given,
    );
  }
}

function withoutIdentity(given: unknown): unknown {
  return typeof given === 'object' && given !== null && 'identity' in given
    ? { ...given, identity: undefined }
    : given;
}
