import { fieldsOn } from '../../../../../tool/tool-fields.js';
import { flagWords } from '../../../../../safety/required-flags.js';
import type { WireToolDetail } from '../../data/wire.js';
import { element } from '../../dom/element.js';
import { valuesOn } from '../../../../query/facets.js';

/** Shows a tool's metadata by name; values that its author did not write are marked as inferred. */
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
  return fieldsOn('facts').map(([name, { wire, kind, label, words }]) => {
    const value = tool[wire as keyof WireToolDetail];
    if (name === 'authStatus') return [wire, label!, authOf(tool)];
    if (name === 'requiresFlags') return [wire, label!, flagWords(tool.requires_flags)];
    if (kind === 'personas' && Array.isArray(value) && value.length === 0) return [wire, label!, ['no persona']];
    const values = typeof value === 'boolean' && words !== undefined ? [words[value ? 0 : 1]].filter((word) => word !== '') : valuesOn(value);
    const unit = kind === 'wholeSeconds' || kind === 'seconds' ? 's' : name === 'costPerCall' ? (tool.cost_unit ?? '') : '';
    return [wire, label!, unit === '' ? values : values.map((each) => `${each} ${unit}`)];
  });
}

function authOf({ auth_status: { required, ready, missing } }: WireToolDetail): readonly string[] {
  if (!required) return [];
  if (ready) return ['required, and there'];
  return [missing.length === 0 ? 'required, and not there' : `required; not set: ${missing.join(', ')}`];
}
