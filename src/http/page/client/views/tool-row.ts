import type { WireHit } from '../data/wire.js';
import { element } from '../dom/element.js';
import { formatRoute, type Route } from '../state/route.js';
import { keyOfTool, type Row } from '../state/select-rows.js';
import { factMarks, noticeMarks } from './marks.js';

/** Characters of a description in a list: more than fit, but not too many to load. */
const DESCRIPTION = 240;

/** Shows a tool in the list: a link to it, its facts, and the reason why it was found. */
export function toolRow({ tool, hit }: Row, route: Route, reachable: boolean): HTMLElement {
  const isOpen = route.name === tool.name && route.owner === tool.persona;
  const link = element(
    'a',
    {
      class: 'row-link',
      href: formatRoute({ ...route, name: tool.name, owner: tool.persona }),
      'data-key': rowKey(keyOfTool(tool.name, tool.persona)),
      'aria-current': isOpen && 'true',
      tabindex: reachable ? 0 : -1,
    },
    tool.name,
  );
  return element(
    'li',
    { class: 'row' },
    element('div', { class: 'row-name' }, link, tool.version !== null && element('span', { class: 'version' }, tool.version), ...noticeMarks(tool)),
    element('p', { class: 'row-text' }, tool.description.slice(0, DESCRIPTION)),
    element('div', { class: 'row-facts' }, ...factMarks(tool)),
    hit !== null && reasons(hit),
  );
}

/** Returns the key by which a row's link is recognized. */
export function rowKey(toolKey: string): string {
  return `row:${toolKey}`;
}

/** Shows the words of the request by field, and the score. */
function reasons({ matches, corrections, score }: WireHit): HTMLElement {
  const wordsByField = new Map<string, string[]>();
  for (const { word, fields, related } of matches) {
    for (const field of fields) wordsByField.set(field, [...(wordsByField.get(field) ?? []), related ? `≈ ${word}` : word]);
  }
  return element(
    'p',
    { class: 'row-why' },
    ...[...wordsByField].map(([field, words]) => element('span', { class: 'why' }, element('span', { class: 'why-field' }, field), ' ', element('bdi', { class: 'why-words' }, words.join(', ')))),
    ...corrections.map(({ word, read_as }) => element('span', { class: 'why' }, element('span', { class: 'why-field' }, 'read'), ' ', element('bdi', { class: 'why-words' }, `${word} as ${read_as}`))),
    element('span', { class: 'score', title: 'score: higher fits better; only the order means something' }, score.toFixed(2)),
  );
}
