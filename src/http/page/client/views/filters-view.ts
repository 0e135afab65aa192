import { button, element, listening } from '../dom/element.js';
import type { Facet } from '../state/select-rows.js';

/** The values of an axis that are shown at first, and on demand. */
const SHOWN = 8;
const MOST = 200;

/** Shows every axis with its values, and the number of tools that each would leave. */
export function filtersView(facets: readonly Facet[], expanded: ReadonlySet<string>, onChoose: (axis: string, value: string, chosen: boolean) => void, onExpand: (axis: string) => void): readonly HTMLElement[] {
  return facets.filter(({ values }) => values.length > 0).map((facet) => axisView(facet, expanded.has(facet.axis.key), onChoose, onExpand));
}

function axisView({ axis, values }: Facet, expanded: boolean, onChoose: (axis: string, value: string, chosen: boolean) => void, onExpand: (axis: string) => void): HTMLElement {
  const shown = values.filter(({ chosen }, index) => index < (expanded ? MOST : SHOWN) || chosen);
  const rest = Math.min(values.length, MOST) - shown.length;
  return element(
    'fieldset',
    { class: 'axis' },
    element('legend', {}, axis.label),
    ...shown.map(({ value, count, chosen }) => {
      const box = element('input', { type: 'checkbox', 'data-key': `filter:${axis.key}:${value}`, name: axis.key, value });
      box.checked = chosen;
      listening(box, { change: () => onChoose(axis.key, value, box.checked) });
      const words = axis.words !== undefined && Object.hasOwn(axis.words, value) ? axis.words[value] : value;
      return element('label', { class: count === 0 ? 'choice none' : 'choice' }, box, element('bdi', { class: 'choice-name' }, words), element('span', { class: 'count' }, count.toLocaleString('en')));
    }),
    (rest > 0 || expanded) && button(expanded ? 'Fewer' : `${rest} more`, () => onExpand(axis.key), { class: 'quiet', 'aria-expanded': String(expanded), 'data-key': `expand:${axis.key}` }),
  );
}
