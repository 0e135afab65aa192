import { AccessMode, CostTier, DangerLevel, ExecutionCategory, Priority } from './enums.js';

/** The names of the priorities, indexed by their number: `critical` to `low`. */
export const PRIORITY_NAMES: readonly PriorityName[] = Object.freeze(
  Object.keys(Priority).map((name) => name.toLowerCase() as PriorityName),
);
export type PriorityName = Lowercase<keyof typeof Priority>;

/** Returns the priority that a name such as `critical` stands for, and any other value unchanged. */
export function priorityOf(value: Priority | PriorityName): Priority {
  const named = PRIORITY_NAMES.indexOf(value as PriorityName);
  return named === -1 ? (value as Priority) : (named as Priority);
}

/** The danger levels, from harmless to most dangerous. A level's rank is its index. */
export const DANGER_LEVELS: readonly DangerLevel[] = Object.freeze(Object.values(DangerLevel));

/** The cost tiers, from free to high. A tier's rank (0–3) is its index. */
const COST_TIERS: readonly CostTier[] = Object.freeze(Object.values(CostTier));

/** Returns the rank of a danger level: 0 for `safe` up to 4 for `critical`. */
export function dangerRank(level: DangerLevel): number {
  return DANGER_LEVELS.indexOf(level);
}

/** Returns the rank of a cost tier: 0 for `free` up to 3 for `high`. */
export function costRank(tier: CostTier): number {
  return COST_TIERS.indexOf(tier);
}

/** Returns true if calls with this danger level need approval: `HIGH` and `CRITICAL`. */
export function isDangerous(level: DangerLevel): boolean {
  return dangerRank(level) >= dangerRank(DangerLevel.HIGH);
}

/** Returns true if the access mode allows changes: every mode except `READONLY`. */
export function isWriting(mode: AccessMode): boolean {
  return mode !== AccessMode.READONLY;
}

/** Returns the stricter of two access modes. */
export function strictest(a: AccessMode, b: AccessMode = AccessMode.READONLY): AccessMode {
  if (a === b || b === AccessMode.READONLY) return a;
  return a === AccessMode.READONLY ? b : AccessMode.MIXED;
}

/**
 * The bonus that each priority adds to a tool's keyword score. See the formula in
 * docs/search-and-scoring.md.
 */
export const PRIORITY_BOOST: Readonly<Record<Priority, number>> = Object.freeze({
  [Priority.CRITICAL]: 0.3,
  [Priority.HIGH]: 0.2,
  [Priority.MEDIUM]: 0.1,
  [Priority.LOW]: 0.05,
});

const { READ_ONLY, WRITE, EXECUTE, COMPUTE, NETWORK, MIXED } = ExecutionCategory;

/**
 * Maps each execution category to the categories that can't run at the same time. The relation is
 * symmetric.
 *
 * Calls that write and calls that execute conflict with each other and among themselves. A mixed
 * call conflicts with every call. Calls that only read or compute can run at the same time.
 */
const CONFLICTS: Readonly<Record<ExecutionCategory, readonly ExecutionCategory[]>> = Object.freeze({
  [READ_ONLY]: [MIXED],
  [COMPUTE]: [MIXED],
  [NETWORK]: [MIXED],
  [WRITE]: [WRITE, EXECUTE, MIXED],
  [EXECUTE]: [WRITE, EXECUTE, MIXED],
  [MIXED]: [READ_ONLY, WRITE, EXECUTE, COMPUTE, NETWORK, MIXED],
});

/** The axes that decide whether two calls can run at the same time. */
interface ConcurrencyAxes {
  readonly accessMode: AccessMode;
  readonly executionCategory: ExecutionCategory;
}

/**
 * Returns the stricter of a tool's access mode and execution category, as a category. The derived
 * sets and the planner use this function.
 */
export function concurrencyOf({
  accessMode,
  executionCategory,
}: ConcurrencyAxes): ExecutionCategory {
  if (accessMode === AccessMode.MIXED || executionCategory === MIXED) return MIXED;
  if (accessMode === AccessMode.EXECUTE || executionCategory === EXECUTE) return EXECUTE;
  return accessMode === AccessMode.WRITE ? WRITE : executionCategory;
}

/** Returns the execution categories that can't run at the same time as this category. */
export function conflictingCategories(category: ExecutionCategory): readonly ExecutionCategory[] {
  return CONFLICTS[category];
}

/**
 * Returns true if calls of this tool can run in parallel: `accessMode` is `readonly` and
 * `executionCategory` is `read_only`, `compute`, or `network`.
 */
export function isParallelizable(axes: ConcurrencyAxes): boolean {
  const category = concurrencyOf(axes);
  return !CONFLICTS[category].includes(category);
}
