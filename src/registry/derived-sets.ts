import { AccessMode, Priority } from '../core/enums.js';
import { isDangerous, isParallelizable, isWriting } from '../core/enum-order.js';
import type { ToolMetadata } from '../tool/tool-metadata.js';

type Axes = Pick<
  ToolMetadata,
  'accessMode' | 'dangerLevel' | 'executionCategory' | 'priority' | 'requiresConsent'
> &
  Partial<Pick<ToolMetadata, 'manual'>>;

/** Returns true for a tool whose every call needs approval: it writes, is dangerous, or requires consent, and isn't a user's work anyway. */
export function requiresApproval(tool: Axes): boolean {
  return (
    tool.manual !== true &&
    (isWriting(tool.accessMode) || isDangerous(tool.dangerLevel) || tool.requiresConsent)
  );
}

/** The sets that used to be lists of names kept by hand, each as the rule that derives it. */
export const DERIVED_SETS = {
  write: (tool: Axes) => isWriting(tool.accessMode),
  idempotent: (tool: Axes) => tool.accessMode === AccessMode.READONLY,
  parallelizable: (tool: Axes) => isParallelizable(tool),
  dangerous: (tool: Axes) => isDangerous(tool.dangerLevel),
  requiringApproval: requiresApproval,
  cacheInvalidating: (tool: Axes) => isWriting(tool.accessMode),
  critical: (tool: Axes) => tool.priority === Priority.CRITICAL,
} as const;
/** The name of a set that follows from the axes of its tools. */
export type DerivedSet = keyof typeof DERIVED_SETS;

/** The derived sets that a tool is in. */
export function derivedSetsOf(tool: Axes): readonly DerivedSet[] {
  return (Object.keys(DERIVED_SETS) as DerivedSet[]).filter((set) => DERIVED_SETS[set](tool));
}
