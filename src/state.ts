export type { AppendOptions, Increment, IncrementOptions, LifetimeOptions, ReadOptions, StateStore, StoreMoment } from './state/state-store.js';
export { MemoryStateStore, type MemoryStateStoreOptions } from './state/memory-state-store.js';
export { RedisStateStore } from './state/redis/redis-state-store.js';
export type { RedisClientTemplate, RedisStateStoreOptions } from './state/redis/redis-options.js';
