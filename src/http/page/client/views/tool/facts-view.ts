import type { WireToolDetail } from '../../data/wire.js';
import { element } from '../../dom/element.js';
import { sideEffectsOf } from '../../state/axes.js';

/** A tool's metadata by name; what its author did not write is marked as inferred. */
export function factsView(tool: WireToolDetail): HTMLElement {
  const inferred = new Set(tool.inferred);
  const facts = factsOf(tool).filter(([, , values]) => values.length > 0);
  return element(
    'dl',
    { class: 'facts' },
    ...facts.flatMap(([key, label, values]) => [
      element('dt', {}, label),
      element('dd', {}, element('bdi', {}, values.join(', ')), inferred.has(key) && element('span', { class: 'inferred', title: 'not declared: filled in towards the strict side' }, 'inferred')),
    ]),
  );
}

type Fact = readonly [key: string, label: string, values: readonly string[]];

function factsOf(tool: WireToolDetail): readonly Fact[] {
  const one = (value: string | number | boolean | null | undefined) => (value === null || value === undefined || value === '' ? [] : [String(value)]);
  return [
    ['access_mode', 'access', one(tool.access_mode)],
    ['danger_level', 'danger', one(tool.danger_level)],
    ['execution_category', 'execution', one(tool.execution_category)],
    ['cost_tier', 'cost', one(tool.cost_tier)],
    ['cost_per_call', 'cost of a call', tool.cost_per_call === null ? [] : [`${tool.cost_per_call} ${tool.cost_unit ?? ''}`.trim()]],
    ['priority', 'priority', one(tool.priority)],
    ['side_effects', 'side effects', sideEffectsOf(tool)],
    ['requires_approval', 'approval', [tool.requires_approval ? 'a person is asked before each call' : 'runs unasked']],
    ['available', 'available', [tool.available ? 'yes' : 'no']],
    ['allow_parallel', 'beside itself', [tool.allow_parallel ? 'may run' : 'never runs']],
    ['safety_level', 'safety level', one(tool.safety_level)],
    ['default_timeout', 'timeout', tool.default_timeout === null ? [] : [`${tool.default_timeout} s`]],
    ['auth', 'credentials', authOf(tool)],
    ['auth_scopes', 'scopes', tool.auth_scopes],
    ['category', 'category', one(tool.category)],
    ['stages', 'stages', tool.stages],
    ['task_types', 'task types', tool.task_types],
    ['keywords', 'keywords', tool.keywords],
    ['capability_tags', 'capabilities', tool.capability_tags],
    ['persona_allowlist', 'only for', tool.persona_allowlist ?? []],
    ['aliases', 'also called', tool.aliases],
    ['source', 'declared in', one(tool.source)],
    ['digest', 'digest', one(tool.digest)],
  ];
}

function authOf({ auth_status: { required, ready, missing } }: WireToolDetail): readonly string[] {
  if (!required) return [];
  if (ready) return ['required, and there'];
  return [missing.length === 0 ? 'required, and not there' : `required; not set: ${missing.join(', ')}`];
}
