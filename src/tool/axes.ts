import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
} from '../core/enums.js';
import { PRIORITY_NAMES, strictest } from '../core/enum-order.js';
import type { ToolOptions } from './tool-options.js';

/** The declared options from which a missing value can be inferred. */
type DeclaredFacts = {
  readonly executionCategory?: ExecutionCategory | undefined;
  readonly sideEffects?: readonly SideEffect[] | undefined;
  readonly costPerCall?: number | undefined;
};

/** An axis with a fixed set of values. Every tool has exactly one value of each axis. */
export interface AxisRow {
  /** The name outside the process, in snake_case. */
  readonly wire: string;
  /** The enum of the values. If the values are ordered, they're in ascending order. */
  readonly values: Readonly<Record<string, string | number>>;
  /**
   * Returns the value if the author didn't declare one. When in doubt, it's the strictest value. The
   * second argument contains the axes above this one.
   */
  readonly guess: (
    declared: DeclaredFacts,
    metadata: { readonly accessMode: AccessMode },
  ) => string | number;
  /** The meaning of the axis, written for manifest authors. */
  readonly about: string;
  /** The filter's condition for a maximum value. Only ordered values have a maximum. */
  readonly most?: string;
}

/**
 * The axes with fixed values, in the order in which they're inferred and shown. The options, indexes,
 * filters, counts, exports, HTTP parameters, command-line options, and the page are derived from
 * these rows. The first word of `wire` is the axis's name on the command line.
 */
export const AXES = {
  priority: {
    wire: 'priority',
    values: Priority,
    guess: () => Priority.MEDIUM,
    about: 'How strongly the tool is preferred in selections. The default is "medium".',
  },
  accessMode: {
    wire: 'access_mode',
    values: AccessMode,
    guess: ({ sideEffects = [], executionCategory }) =>
      strictest(accessFrom(sideEffects), ACCESS_OF_CATEGORY[executionCategory!]),
    about: 'What a call can do. Inferred from side_effects if omitted.',
  },
  dangerLevel: {
    wire: 'danger_level',
    values: DangerLevel,
    guess: (_, { accessMode }) => DANGER_OF_ACCESS[accessMode],
    about: 'How much harm a wrong call can do. Calls need approval from "high" upwards.',
    most: 'maxDanger',
  },
  executionCategory: {
    wire: 'execution_category',
    values: ExecutionCategory,
    guess: (_, { accessMode }) => CATEGORY_OF_ACCESS[accessMode],
    about: 'The kind of work. Determines which calls can run in parallel.',
  },
  costTier: {
    wire: 'cost_tier',
    values: CostTier,
    guess: costFrom,
    about: 'The approximate cost of a call. Inferred if omitted.',
    most: 'maxCostTier',
  },
} as const satisfies { readonly [Name in keyof ToolOptions]?: AxisRow };

export type AxisName = keyof typeof AXES;
type Enum<Name extends AxisName> = (typeof AXES)[Name]['values'];
/** A value of an axis, in stored form. */
export type AxisValue<Name extends AxisName> = Enum<Name>[keyof Enum<Name>];
/** The value of every axis. */
export type AxisValues = { readonly [Name in AxisName]: AxisValue<Name> };

/** The names of the axes, in order. */
export const AXIS_NAMES = Object.freeze(Object.keys(AXES) as AxisName[]);

/** Returns one item for every axis, by name. */
export function mapAxes<Items extends { readonly [Name in AxisName]: unknown }>(
  make: (name: AxisName, row: AxisRow) => Items[AxisName],
): Items {
  return Object.fromEntries(AXIS_NAMES.map((name) => [name, make(name, AXES[name])])) as Items;
}

/** Returns the values of an axis in the form used outside the process. */
export function axisValues(name: AxisName): readonly string[] {
  return name === 'priority' ? PRIORITY_NAMES : Object.values<string>(AXES[name].values);
}

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
  { costPerCall, sideEffects = [], executionCategory }: DeclaredFacts,
  { accessMode }: { readonly accessMode: AccessMode },
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
