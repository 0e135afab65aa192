import { DangerLevel, SideEffect } from '../../core/enums.js';
import { AXES, AXIS_NAMES, axisValues } from '../../tool/axes.js';
import { HEALTH_LEVELS } from '../values-on.js';

/** The fields that a row of the list shows. */
export const ROW_FIELDS =
  'name,persona,description,version,access_mode,danger_level,cost_tier,requires_approval,available,health';

/** The facts of a tool. All axes are facts without an entry of their own. */
export const FACTS = [
  'category',
  ...AXIS_NAMES.map((name) => AXES[name].wire),
  'cost_per_call',
  'allow_parallel',
  'side_effects',
  'reads',
  'sends',
  'requires_consent',
  'requires_approval',
  'safety_level',
  'derived_sets',
  'default_timeout',
  'auth_scopes',
  'aliases',
  'keywords',
  'stages',
  'task_types',
  'capability_tags',
  'max_result_bytes',
  'persona_allowlist',
  'requires_flags',
  'source',
  'digest',
  'available',
  'auth_status',
];

/** The parameters by which tools can be filtered, and the order of their values. */
const ORDERS: Readonly<Record<string, readonly string[]>> = {
  requires_approval: [],
  available: [],
  health: HEALTH_LEVELS,
  category: [],
  ...Object.fromEntries(AXIS_NAMES.map((name) => [AXES[name].wire, axisValues(name)])),
  side_effects: Object.values(SideEffect),
  safety_level: Object.values(DangerLevel),
  keyword: [],
  stage: [],
  task_type: [],
  capability: [],
  provider: [],
};

/**
 * The filters of tools. Values that aren't in `order` are sorted by their number of tools. Axes are
 * filters without an entry of their own.
 */
export const FILTERS = Object.entries(ORDERS).map(([key, order]) => ({ key, order }));
export type Filter = (typeof FILTERS)[number];

/** Returns the name of a field for people. */
export const labelOf = (field: string) => field.replaceAll('_', ' ');

export const YES_NO: Readonly<Record<string, string>> = { true: 'yes', false: 'no' };
