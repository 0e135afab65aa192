import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
} from '../core/enums.js';
import { isParallelizable } from '../core/enum-order.js';
import { FLOW_LABELS, type FlowLabel, type FlowTarget } from '../core/flow.js';
import type { DeclaredMetadata } from './metadata-schema.js';

/** The axes of a tool, each declared or inferred. */
export interface Axes {
  readonly priority: Priority;
  readonly accessMode: AccessMode;
  readonly dangerLevel: DangerLevel;
  readonly executionCategory: ExecutionCategory;
  readonly costTier: CostTier;
  readonly allowParallel: boolean;
  readonly reads: readonly FlowLabel[];
  readonly sends: FlowTarget;
}

/**
 * Fills in the axes that the author left out. Inference uses only declared options. When in doubt,
 * inference assumes the stricter value.
 *
 * A tool that declares nothing is `mixed`, has high danger, and runs alone. Cost is the exception:
 * it defaults to medium. With the highest tier, a cost limit would hide undeclared read-only tools,
 * which wouldn't help anyone.
 */
export function inferAxes(declared: DeclaredMetadata): {
  readonly axes: Axes;
  readonly inferred: readonly (keyof Axes)[];
} {
  const accessMode =
    declared.accessMode ??
    strictest(
      accessFrom(declared.sideEffects ?? []),
      ACCESS_OF_CATEGORY[declared.executionCategory!],
    );
  const executionCategory = declared.executionCategory ?? CATEGORY_OF_ACCESS[accessMode];
  const axes: Axes = {
    priority: declared.priority ?? Priority.MEDIUM,
    accessMode,
    dangerLevel: declared.dangerLevel ?? DANGER_OF_ACCESS[accessMode],
    executionCategory,
    costTier: declared.costTier ?? costFrom(accessMode, declared),
    allowParallel: declared.allowParallel ?? isParallelizable({ accessMode, executionCategory }),
    reads:
      declared.reads ??
      (declared.executionCategory === ExecutionCategory.COMPUTE ? NOTHING : FLOW_LABELS),
    sends: declared.sends ?? sendsFrom(accessMode, declared),
  };
  const inferred = (Object.keys(axes) as (keyof Axes)[]).filter(
    (axis) => declared[axis] === undefined,
  );
  const key = inferred.join();
  if (!LISTS.has(key)) LISTS.set(key, Object.freeze(inferred));
  return { axes, inferred: LISTS.get(key)! };
}

/** The lists of inferred axes by their content. Thousands of tools share a few of them. */
const LISTS = new Map<string, readonly (keyof Axes)[]>();

const NOTHING: readonly FlowLabel[] = Object.freeze([]);
const READING: ReadonlySet<SideEffect> = new Set([
  SideEffect.NONE,
  SideEffect.READ_EXTERNAL_SERVICE,
]);

function accessFrom(effects: readonly SideEffect[]): AccessMode {
  if (effects.length === 0) return AccessMode.MIXED;
  const beyondReading = effects.filter((effect) => !READING.has(effect));
  if (beyondReading.length === 0) return AccessMode.READONLY;
  if (beyondReading.every((effect) => effect === SideEffect.WRITE)) return AccessMode.WRITE;
  if (beyondReading.every((effect) => effect === SideEffect.SYSTEM)) return AccessMode.EXECUTE;
  return AccessMode.MIXED;
}

/**
 * The access mode that a declared category implies. The category can imply a stricter access mode
 * than the side effects do.
 */
const ACCESS_OF_CATEGORY: Readonly<Partial<Record<ExecutionCategory, AccessMode>>> = {
  [ExecutionCategory.WRITE]: AccessMode.WRITE,
  [ExecutionCategory.EXECUTE]: AccessMode.EXECUTE,
};

/** Returns the stricter of two access modes. */
export function strictest(a: AccessMode, b: AccessMode = AccessMode.READONLY): AccessMode {
  if (a === b || b === AccessMode.READONLY) return a;
  return a === AccessMode.READONLY ? b : AccessMode.MIXED;
}

const CATEGORY_OF_ACCESS: Readonly<Record<AccessMode, ExecutionCategory>> = {
  [AccessMode.READONLY]: ExecutionCategory.READ_ONLY,
  [AccessMode.WRITE]: ExecutionCategory.WRITE,
  [AccessMode.EXECUTE]: ExecutionCategory.EXECUTE,
  [AccessMode.MIXED]: ExecutionCategory.MIXED,
};

const DANGER_OF_ACCESS: Readonly<Record<AccessMode, DangerLevel>> = {
  [AccessMode.READONLY]: DangerLevel.LOW,
  [AccessMode.WRITE]: DangerLevel.MEDIUM,
  [AccessMode.EXECUTE]: DangerLevel.HIGH,
  [AccessMode.MIXED]: DangerLevel.HIGH,
};

const OUTSIDE: ReadonlySet<SideEffect> = new Set([
  SideEffect.NETWORK,
  SideEffect.READ_EXTERNAL_SERVICE,
  SideEffect.DATABASE,
]);

/**
 * Infers the cost tier: free for local reads, low for compute, medium for anything external or
 * unknown. A declared price of zero means free; any other price means high.
 */
function costFrom(
  accessMode: AccessMode,
  { costPerCall, sideEffects = [], executionCategory }: DeclaredMetadata,
): CostTier {
  if (costPerCall !== undefined) return costPerCall === 0 ? CostTier.FREE : CostTier.HIGH;
  if (
    sideEffects.some((effect) => OUTSIDE.has(effect)) ||
    executionCategory === ExecutionCategory.NETWORK
  )
    return CostTier.MEDIUM;
  if (executionCategory === ExecutionCategory.COMPUTE || sideEffects.includes(SideEffect.COMPUTE))
    return CostTier.LOW;
  return accessMode === AccessMode.READONLY ? CostTier.FREE : CostTier.MEDIUM;
}

/**
 * The side effects that stay on this machine. `write` isn't included, because it doesn't say where
 * the data goes.
 */
const LOCAL: ReadonlySet<SideEffect> = new Set([
  SideEffect.NONE,
  SideEffect.COMPUTE,
  SideEffect.FILESYSTEM,
]);

/**
 * Infers whether arguments leave the machine. A readonly tool sends nothing unless it declares
 * network access. A tool that writes is assumed to send its arguments outside unless all its
 * effects are local.
 */
function sendsFrom(
  accessMode: AccessMode,
  { sideEffects = [], executionCategory }: DeclaredMetadata,
): FlowTarget {
  if (sideEffects.includes(SideEffect.NETWORK) || executionCategory === ExecutionCategory.NETWORK)
    return 'outside';
  if (accessMode === AccessMode.READONLY || executionCategory === ExecutionCategory.COMPUTE)
    return 'nowhere';
  const isLocal =
    sideEffects.some((effect) => LOCAL.has(effect)) &&
    sideEffects.every((effect) => LOCAL.has(effect) || effect === SideEffect.WRITE);
  return isLocal ? 'nowhere' : 'outside';
}

/**
 * Returns the contradictions in a tool's metadata as sentences. A tool with contradictions is
 * refused.
 */
export function contradictionsIn({
  accessMode,
  executionCategory,
  sideEffects = [],
}: DeclaredMetadata): readonly string[] {
  if (accessMode !== AccessMode.READONLY) return [];
  const found: string[] = [];
  if (
    executionCategory === ExecutionCategory.WRITE ||
    executionCategory === ExecutionCategory.EXECUTE
  ) {
    found.push(
      `A tool with accessMode "readonly" can't have executionCategory "${executionCategory}", only read_only, compute, network or mixed. Declare the tool's actual access mode.`,
    );
  }
  for (const effect of sideEffects) {
    if (effect === SideEffect.WRITE || effect === SideEffect.SYSTEM) {
      found.push(
        `A tool with accessMode "readonly" can't have the side effect "${effect}". Declare the tool's actual access mode.`,
      );
    }
  }
  return found;
}
