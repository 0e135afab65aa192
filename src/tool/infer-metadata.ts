import { AccessMode, ExecutionCategory, SideEffect } from '../core/enums.js';
import { isParallelizable } from '../core/enum-order.js';
import { FLOW_LABELS, type FlowLabel, type FlowTarget } from '../core/flow.js';
import { AXES, AXIS_NAMES, type AxisName, type AxisValues } from './axes.js';
import type { DeclaredMetadata } from './metadata-schema.js';

/** The axes of a tool, each declared or inferred. */
export interface Axes extends AxisValues {
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
  const values = axisValues(declared);
  const { accessMode, executionCategory } = values;
  const axes: Axes = {
    ...values,
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

/** Returns a value for every axis. Later axes are inferred from earlier axes. */
function axisValues(declared: DeclaredMetadata): AxisValues {
  const values: Partial<Record<AxisName, unknown>> = {};
  for (const axis of AXIS_NAMES)
    values[axis] = declared[axis] ?? AXES[axis].guess(declared, values as AxisValues);
  return values as AxisValues;
}

/** The lists of inferred axes by their content. Thousands of tools share a few of them. */
const LISTS = new Map<string, readonly (keyof Axes)[]>();

const NOTHING: readonly FlowLabel[] = Object.freeze([]);
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
