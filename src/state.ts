export type {
  AppendOptions,
  Increment,
  IncrementOptions,
  LifetimeOptions,
  StateStore,
  StoreMoment,
} from './state/state-store.js';
export { MemoryStateStore } from './state/memory-state-store.js';
export { RedisStateStore } from './state/redis/redis-state-store.js';
export type { RedisStateStoreOptions } from './state/redis/redis-options.js';
