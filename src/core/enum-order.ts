import { AccessMode, CostTier, DangerLevel, ExecutionCategory, Priority } from './enums.js';

/** Priorities as users read and write them, by number: `critical` to `low`. */
export const PRIORITY_NAMES: readonly PriorityName[] = Object.freeze(
  Object.keys(Priority).map((name) => name.toLowerCase() as PriorityName),
);
type PriorityName = Lowercase<keyof typeof Priority>;

/** Danger levels from harmless to worst; a level's rank is its place. */
export const DANGER_LEVELS: readonly DangerLevel[] = Object.freeze(Object.values(DangerLevel));

/** Cost tiers from free to high; a tier's rank (0–3) is its place. */
const COST_TIERS: readonly CostTier[] = Object.freeze(Object.values(CostTier));

/** The rank of a danger level: 0 for `safe` up to 4 for `critical`. */
export function dangerRank(level: DangerLevel): number {
  return DANGER_LEVELS.indexOf(level);
}

/** The rank of a cost tier: 0 for `free` up to 3 for `high`. */
export function costRank(tier: CostTier): number {
  return COST_TIERS.indexOf(tier);
}

/** Returns true for a danger level that needs approval by itself: `HIGH` and above. */
export function isDangerous(level: DangerLevel): boolean {
  return dangerRank(level) >= dangerRank(DangerLevel.HIGH);
}

/** Returns true for an access mode that can change something: all but `READONLY`. */
export function isWriting(mode: AccessMode): boolean {
  return mode !== AccessMode.READONLY;
}

/** The amount that a tool's priority adds to its keyword score. Source: the scoring formula in docs/search-and-scoring.md. */
export const PRIORITY_BOOST: Readonly<Record<Priority, number>> = Object.freeze({
  [Priority.CRITICAL]: 0.3,
  [Priority.HIGH]: 0.2,
  [Priority.MEDIUM]: 0.1,
  [Priority.LOW]: 0.05,
});

const { READ_ONLY, WRITE, EXECUTE, COMPUTE, NETWORK, MIXED } = ExecutionCategory;

/**
 * The categories that may not run at the same time; the relation is symmetric.
 *
 * A write conflicts with writes, an execute with writes and executes, a mixed call with all others. Calls that only
 * read or compute run together.
 */
const CONFLICTS: Readonly<Record<ExecutionCategory, readonly ExecutionCategory[]>> = Object.freeze({
  [READ_ONLY]: [MIXED],
  [COMPUTE]: [MIXED],
  [NETWORK]: [MIXED],
  [WRITE]: [WRITE, EXECUTE, MIXED],
  [EXECUTE]: [WRITE, EXECUTE, MIXED],
  [MIXED]: [READ_ONLY, WRITE, EXECUTE, COMPUTE, NETWORK, MIXED],
});

/** The axes that decide which calls may run at the same time as a tool's own. */
interface ConcurrencyAxes {
  readonly accessMode: AccessMode;
  readonly executionCategory: ExecutionCategory;
}

/** The stricter of a tool's access mode and execution category, as a category. Derived sets and the planner both use it. */
export function concurrencyOf({
  accessMode,
  executionCategory,
}: ConcurrencyAxes): ExecutionCategory {
  if (accessMode === AccessMode.MIXED || executionCategory === MIXED) return MIXED;
  if (accessMode === AccessMode.EXECUTE || executionCategory === EXECUTE) return EXECUTE;
  return accessMode === AccessMode.WRITE ? WRITE : executionCategory;
}

/** The execution categories that may not run at the same time as a call of this category. */
export function conflictingCategories(category: ExecutionCategory): readonly ExecutionCategory[] {
  return CONFLICTS[category];
}

/** Returns true for tools whose calls may run in parallel: readonly ones of category read_only, compute or network. */
export function isParallelizable(axes: ConcurrencyAxes): boolean {
  const category = concurrencyOf(axes);
  return !CONFLICTS[category].includes(category);
}
