import type { StateStore } from '../../src/state.js';

export type Operation =
  'get' | 'compareAndSet' | 'increment' | 'expire' | 'now' | 'append' | 'read';
const OPERATIONS: ReadonlySet<string> = new Set<Operation>([
  'get',
  'compareAndSet',
  'increment',
  'expire',
  'now',
  'append',
  'read',
]);
/** The operations that change the store. */
export const WRITES: ReadonlySet<Operation> = new Set<Operation>([
  'compareAndSet',
  'increment',
  'expire',
  'append',
]);

/**
 * Returns a store that passes each operation to a function, which can observe, delay, fail, or skip the
 * operation.
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
