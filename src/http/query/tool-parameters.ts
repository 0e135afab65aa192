import { AccessMode, CostTier, DangerLevel, ExecutionCategory, Priority, SideEffect } from '../../core/enums.js';
import type { CapabilityTool, SafetyLevel } from '../../capability/capability-items.js';
import type { CapabilityRegistry } from '../../capability/capability-registry.js';
import type { ToolQuery } from '../../capability/query/tool-query.js';
import { requiresApproval } from '../../registry/derived-sets.js';
import type { ToolFilter } from '../../registry/tool-filter.js';
import { PRIORITY_NAMES } from '../wire/tool-fields.js';
import { oneOf, share, text, trueOrFalse, versionRange, type Parameter } from './parameter.js';
import type { Asked } from './read-parameters.js';

const personas = text('Whose: a persona, with what is shared; `-shared` leaves that out, `-name` a persona. Several mean any of them.');
export const PERSONA: Parameter<string> = {
  ...personas,
  expected: `names of personas, or -shared: ${personas.expected}`,
  read: (value) => (value.split(',').every((name) => /^\s*[-!]?\s*[^\s\-!]/.test(name)) ? personas.read(value) : undefined),
};
export const AVAILABLE = trueOrFalse('Whether it can be used now.');
export const HEALTH_PARAMETERS: readonly (readonly [string, Parameter])[] = [
  ['min_success_rate', share('At least this share of the last calls succeeded. What was never called is not left out.')],
  ['require_calls', trueOrFalse('Whether what was never called is left out.')],
];

const PRIORITIES: Parameter<Priority> = {
  ...text(''),
  description: 'How eagerly the tool is offered; any of these.',
  expected: `one of ${PRIORITY_NAMES.join(', ')}, or their numbers 0 to 3`,
  schema: { type: 'string', enum: [...PRIORITY_NAMES, '0', '1', '2', '3'] },
  read: (value) => Object.values(Priority).find((priority) => PRIORITY_NAMES[priority] === value || String(priority) === value),
};

const values = <T extends string>(enumeration: Readonly<Record<string, T>>) => Object.values(enumeration);

/** Conditions of a list that are conditions of the filter under another name. */
const FILTERS: readonly (readonly [name: string, condition: Exclude<keyof ToolFilter, 'derived' | 'available'>, Parameter])[] = [
  ['name', 'name', text("The tool's own name; any of these.")],
  ['priority', 'priority', PRIORITIES],
  ['access_mode', 'accessMode', oneOf(values(AccessMode), 'What a call may do; any of these.')],
  ['danger_level', 'dangerLevel', oneOf(values(DangerLevel), 'How bad a wrong call can be; any of these.')],
  ['max_danger', 'maxDanger', oneOf(values(DangerLevel), 'At most this dangerous.', { repeatable: false })],
  ['execution_category', 'executionCategory', oneOf(values(ExecutionCategory), 'The kind of work; any of these.')],
  ['cost_tier', 'costTier', oneOf(values(CostTier), 'What a call costs; any of these.')],
  ['max_cost_tier', 'maxCostTier', oneOf(values(CostTier), 'At most this dear.', { repeatable: false })],
  ['category', 'category', text('The group of tools; any of these.')],
  ['keyword', 'keyword', text('A declared keyword; any of these.')],
  ['stage', 'stage', text('A phase of work; any of these.')],
  ['task_type', 'taskType', text('A kind of task; any of these.')],
];

/** Conditions of a list that are conditions of the query under another name. */
const QUERIES: readonly (readonly [name: string, condition: Exclude<keyof ToolQuery, 'filter' | 'minSuccessRate' | 'requireCalls' | 'available' | 'personas'>, Parameter])[] = [
  ['provider', 'provider', text('A service that answers the calls; all of these.')],
  ['version', 'version', versionRange('Semantic versions, as `>=1.2`, `^1` or `1.x || >=2`; a comma means and, as do several.')],
  ['capability', 'capability', text('A capability tag; all of these.')],
  ['side_effects', 'sideEffect', oneOf(values(SideEffect), 'What a call touches; any of these.')],
  ['safety_level', 'safetyLevel', oneOf<SafetyLevel>(['low', 'medium', 'high'], 'Declared, or else that of the danger level; any of these.')],
];

/** Everything by which tools are narrowed down. */
export const TOOL_FILTER_PARAMETERS: readonly (readonly [string, Parameter])[] = [
  ...FILTERS.map(([name, , parameter]) => [name, parameter] as const),
  ...QUERIES.map(([name, , parameter]) => [name, parameter] as const),
  ['available', AVAILABLE],
  ['requires_approval', trueOrFalse("Whether calls need a person's yes.")],
  ...HEALTH_PARAMETERS,
];

/** What a request for tools means. */
export interface WantedTools {
  readonly query: ToolQuery;
  /** What the query cannot say, if anything. */
  readonly accepts: ((tool: CapabilityTool) => boolean) | undefined;
}

export function wantedTools(asked: Asked): WantedTools {
  const filter = Object.fromEntries(given(FILTERS, asked)) as ToolFilter;
  const needsYes = asked.one<boolean>('requires_approval');
  return {
    query: { ...(Object.fromEntries(given(QUERIES, asked)) as ToolQuery), ...commonQuery(asked), ...healthQuery(asked), ...(Object.keys(filter).length === 0 ? {} : { filter }) },
    accepts: needsYes === undefined ? undefined : ({ entry }) => requiresApproval(entry) === needsYes,
  };
}

export function toolsOf(capabilities: CapabilityRegistry, { query, accepts }: WantedTools): readonly CapabilityTool[] {
  const tools = capabilities.tools(query);
  return accepts === undefined ? tools : tools.filter(accepts);
}

/** What tools, skills and jobs are asked alike. */
export function commonQuery(asked: Asked): Pick<ToolQuery, 'personas' | 'available'> {
  const personas = asked.all<string>('persona');
  const available = asked.one<boolean>('available');
  return { ...(personas === undefined ? {} : { personas }), ...(available === undefined ? {} : { available }) };
}

export function healthQuery(asked: Asked): Pick<ToolQuery, 'minSuccessRate' | 'requireCalls'> {
  const minSuccessRate = asked.one<number>('min_success_rate');
  const requireCalls = asked.one<boolean>('require_calls');
  return { ...(minSuccessRate === undefined ? {} : { minSuccessRate }), ...(requireCalls === undefined ? {} : { requireCalls }) };
}

function given(table: readonly (readonly [name: string, condition: string, Parameter])[], asked: Asked): (readonly [string, unknown])[] {
  return table.flatMap(([name, condition, { repeatable }]) => {
    const found = asked.all(name);
    return found === undefined ? [] : [[condition, repeatable ? found : found[0]] as const];
  });
}
