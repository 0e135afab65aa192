import { AccessMode, ExecutionCategory } from '../../../../core/enums.js';
import { COST_TIERS, DANGER_LEVELS } from '../../../../core/enum-order.js';
import type { WireTool } from '../data/wire.js';
import { healthLevelOf, HEALTH_LEVELS } from './health-level.js';

/** One way to tell tools apart. */
export interface Axis {
  /** As the HTTP interface calls the filter. */
  readonly key: string;
  readonly label: string;
  readonly valuesOf: (tool: WireTool) => readonly string[];
  /** The order of its values, where they have one; others are ordered by how many tools have them. */
  readonly order?: readonly string[];
  /** Whether all chosen values must hold, as the interface has it, rather than one. */
  readonly all?: true;
  /** What people read instead of the value. */
  readonly words?: Readonly<Record<string, string>>;
}

const YES_NO = ['true', 'false'];
const PRIORITIES = ['critical', 'high', 'medium', 'low'];
const some = (value: string | null | undefined): readonly string[] => (value === null || value === undefined || value === '' ? [] : [value]);

/** Every axis that tools are filtered by, the most asked for first. */
export const AXES: readonly Axis[] = [
  { key: 'danger_level', label: 'Danger', valuesOf: (tool) => [tool.danger_level], order: DANGER_LEVELS },
  { key: 'access_mode', label: 'Access', valuesOf: (tool) => [tool.access_mode], order: Object.values(AccessMode) },
  { key: 'requires_approval', label: 'Approval', valuesOf: (tool) => [String(tool.requires_approval)], order: YES_NO, words: { true: 'a person is asked', false: 'runs unasked' } },
  { key: 'available', label: 'Availability', valuesOf: (tool) => [String(tool.available)], order: YES_NO, words: { true: 'available', false: 'unavailable' } },
  { key: 'health', label: 'Health', valuesOf: (tool) => [healthLevelOf(tool.health.tool)], order: HEALTH_LEVELS },
  { key: 'category', label: 'Category', valuesOf: (tool) => some(tool.category) },
  { key: 'cost_tier', label: 'Cost', valuesOf: (tool) => [tool.cost_tier], order: COST_TIERS },
  { key: 'execution_category', label: 'Execution', valuesOf: (tool) => [tool.execution_category], order: Object.values(ExecutionCategory) },
  { key: 'priority', label: 'Priority', valuesOf: (tool) => [tool.priority], order: PRIORITIES },
  { key: 'side_effects', label: 'Side effects', valuesOf: (tool) => sideEffectsOf(tool) },
  { key: 'safety_level', label: 'Safety level', valuesOf: (tool) => some(tool.safety_level) },
  { key: 'stage', label: 'Stage', valuesOf: (tool) => tool.stages },
  { key: 'task_type', label: 'Task type', valuesOf: (tool) => tool.task_types },
  { key: 'capability', label: 'Capability', valuesOf: (tool) => tool.capability_tags, all: true },
  { key: 'provider', label: 'Provider', valuesOf: (tool) => [...new Set(tool.providers.map(({ name }) => name))], all: true },
  { key: 'keyword', label: 'Keyword', valuesOf: (tool) => tool.keywords },
];

/** The filter that only the page has: the interface filters by `min_success_rate`. */
export const PAGE_ONLY_AXES: ReadonlySet<string> = new Set(['health']);

/** None, one or several: the wire has each in its own shape. */
export function sideEffectsOf({ side_effects }: WireTool): readonly string[] {
  return typeof side_effects === 'string' ? [side_effects] : (side_effects ?? []);
}
