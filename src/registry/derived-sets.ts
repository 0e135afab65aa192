import { AccessMode, Priority } from '../core/enums.js';
import { isDangerous, isParallelizable, isWriting } from '../core/enum-order.js';
import type { ToolMetadata } from '../tool/tool-metadata.js';

type Axes = Pick<
  ToolMetadata,
  'accessMode' | 'dangerLevel' | 'executionCategory' | 'priority' | 'requiresConsent'
> &
  Partial<Pick<ToolMetadata, 'manual'>>;

/**
 * Returns true if every call of the tool needs approval: the tool writes, is dangerous, or requires
 * consent, and isn't manual.
 */
export function requiresApproval(tool: Axes): boolean {
  return (
    tool.manual !== true &&
    (isWriting(tool.accessMode) || isDangerous(tool.dangerLevel) || tool.requiresConsent)
  );
}

/** The derived sets and the rule that decides which tools belong to each. */
export const DERIVED_SETS = {
  write: (tool: Axes) => isWriting(tool.accessMode),
  idempotent: (tool: Axes) => tool.accessMode === AccessMode.READONLY,
  parallelizable: (tool: Axes) => isParallelizable(tool),
  dangerous: (tool: Axes) => isDangerous(tool.dangerLevel),
  requiringApproval: requiresApproval,
  cacheInvalidating: (tool: Axes) => isWriting(tool.accessMode),
  critical: (tool: Axes) => tool.priority === Priority.CRITICAL,
} as const;
/** The name of a set of tools that is derived from their metadata. */
export type DerivedSet = keyof typeof DERIVED_SETS;

/** Returns the derived sets that contain a tool. */
export function derivedSetsOf(tool: Axes): readonly DerivedSet[] {
  return (Object.keys(DERIVED_SETS) as DerivedSet[]).filter((set) => DERIVED_SETS[set](tool));
}
