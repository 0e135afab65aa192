import type { ToolQuery } from '../../capability/capability-query.js';
import { toolHealthWire } from '../../capability/capability-summary.js';
import type { CapabilityTool } from '../../capability/state/capability-items.js';
import { Priority } from '../../core/enums.js';
import { requiresApproval } from '../../registry/derived-sets.js';
import type { ToolFilter } from '../../registry/tool-filter.js';
import {
  TOOL_FIELDS,
  valuesOf,
  type FieldCondition,
  type FieldKind,
  type ToolField,
} from '../../tool/tool-fields.js';
import type { Catalogue } from './callers-catalogue.js';
import { HEALTH_LEVELS, healthLevelOf, type HealthLevel } from './facets.js';
import {
  oneOf,
  share,
  text,
  trueOrFalse,
  versionRange,
  type Asked,
  type Parameter,
} from './parameters.js';

export const AVAILABLE = trueOrFalse('Whether it can be used now.');
export const HEALTH_PARAMETERS: readonly (readonly [string, Parameter])[] = [
  [
    'min_success_rate',
    share('At least this share of the last calls succeeded. Items without calls stay.'),
  ],
  ['require_calls', trueOrFalse('Whether items without calls are left out.')],
];

/** A condition of a list, as the filter or the query of the catalogue knows it. */
interface Condition extends FieldCondition {
  readonly parameter: Parameter;
}

const CONDITIONS: readonly Condition[] = Object.values<ToolField>(TOOL_FIELDS).flatMap(
  ({ kind, filter, most }) => [
    ...(filter === undefined ? [] : [{ ...filter, parameter: filterParameter(kind, filter) }]),
    ...(most === undefined
      ? []
      : [{ ...most, parameter: oneOf(valuesOf(kind)!, most.about, { repeatable: false }) }]),
  ],
);

function filterParameter(
  kind: FieldKind,
  { about, all }: NonNullable<ToolField['filter']>,
): Parameter {
  if (kind === 'version') return versionRange(about);
  const description = `${about}; ${all === true ? 'all' : 'any'} of these.`;
  const values = valuesOf(kind);
  if (values === undefined) return text(description);
  if (kind !== 'priority') return oneOf(values, description);
  return {
    ...text(description),
    expected: `one of ${values.join(', ')}, or their numbers 0 to 3`,
    schema: { type: 'string', enum: [...values, '0', '1', '2', '3'] },
    read: (value) =>
      Object.values(Priority).find(
        (priority) => values[priority] === value || String(priority) === value,
      ),
  };
}

const OWN_METADATA: Parameter<readonly [key: string, value: string]> = {
  ...text(
    'A field of the metadata that authors give their tools, as `team=billing`; any of the same field, and all fields.',
  ),
  expected: 'a field and its value, such as team=billing',
  read: (value) => {
    const [, key, given] = /^([^=]+)=(.+)$/s.exec(value) ?? [];
    return key === undefined || given === undefined ? undefined : [key, given];
  },
};

/** Returns the wanted values of each field: the text, and what it is as JSON. */
function ownMetadata(asked: Asked): Pick<ToolFilter, 'metadata'> {
  const fields = asked.all<readonly [string, string]>('metadata');
  if (fields === undefined) return {};
  const metadata: Record<string, unknown[]> = {};
  for (const [key, value] of fields) {
    (metadata[key] ??= []).push(value);
    if (/^(?:true|false|-?\d+(?:\.\d+)?)$/.test(value)) metadata[key].push(JSON.parse(value));
  }
  return { metadata };
}

/** The parameters that narrow tools down. */
export const TOOL_FILTER_PARAMETERS: readonly (readonly [string, Parameter])[] = [
  ...CONDITIONS.map(({ param, parameter }) => [param, parameter] as const),
  ['metadata', OWN_METADATA],
  ['available', AVAILABLE],
  ['requires_approval', trueOrFalse('Whether calls need approval.')],
  ['health', oneOf(HEALTH_LEVELS, 'How the last calls went; any of these.')],
  ...HEALTH_PARAMETERS,
];

/** The conditions of a request for tools. */
interface WantedTools {
  readonly query: ToolQuery;
  /** The conditions that the query cannot express, if there are any. */
  readonly accepts: ((tool: CapabilityTool) => boolean) | undefined;
}

export function wantedTools(asked: Asked): WantedTools {
  const filter: ToolFilter = { ...given(asked, undefined), ...ownMetadata(asked) };
  const needsApproval = asked.one<boolean>('requires_approval');
  const levels = asked.all<HealthLevel>('health');
  return {
    query: {
      ...given(asked, 'query'),
      ...commonQuery(asked),
      ...healthQuery(asked),
      ...(Object.keys(filter).length === 0 ? {} : { filter }),
    },
    accepts:
      needsApproval === undefined && levels === undefined
        ? undefined
        : ({ entry, health }) =>
            (needsApproval === undefined || requiresApproval(entry) === needsApproval) &&
            (levels === undefined || levels.includes(healthLevelOf(toolHealthWire(health).tool))),
  };
}

export function toolsOf(
  capabilities: Catalogue,
  { query, accepts }: WantedTools,
): readonly CapabilityTool[] {
  const tools = capabilities.tools(query);
  return accepts === undefined ? tools : tools.filter(accepts);
}

/** Returns the conditions that tools, skills and jobs share. */
export function commonQuery(asked: Asked): Pick<ToolQuery, 'personas' | 'available'> {
  const personas = asked.all<string>('persona');
  const available = asked.one<boolean>('available');
  return {
    ...(personas === undefined ? {} : { personas }),
    ...(available === undefined ? {} : { available }),
  };
}

export function healthQuery(asked: Asked): Pick<ToolQuery, 'minSuccessRate' | 'requireCalls'> {
  const minSuccessRate = asked.one<number>('min_success_rate');
  const requireCalls = asked.one<boolean>('require_calls');
  return {
    ...(minSuccessRate === undefined ? {} : { minSuccessRate }),
    ...(requireCalls === undefined ? {} : { requireCalls }),
  };
}

/** Returns the conditions that were asked for, with their values. */
function given(asked: Asked, of: FieldCondition['of']): Readonly<Record<string, unknown>> {
  const conditions = CONDITIONS.filter(
    (each) => each.of === of && asked.all(each.param) !== undefined,
  );
  return Object.fromEntries(
    conditions.map(({ param, condition, parameter }) => [
      condition,
      parameter.repeatable ? asked.all(param) : asked.one(param),
    ]),
  );
}
