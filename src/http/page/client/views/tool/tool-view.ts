import type { WireToolDetail } from '../../data/wire.js';
import { button, element, type Child } from '../../dom/element.js';
import { foldedText } from '../../dom/folded-text.js';
import { schemaRows, type SchemaRow } from '../../state/schema-rows.js';
import { factsView } from './facts-view.js';
import { factMarks, noticeMarks } from '../marks.js';
import { providersView } from './providers-view.js';

/** Shows all fields of one tool. */
export function toolView(tool: WireToolDetail, onAsk: (query: string) => void, onClose: () => void): readonly Child[] {
  const rows = schemaRows(tool.parameters);
  return [
    detailHead(tool.name, onClose, tool.version),
    element('div', { class: 'marks' }, ...factMarks(tool), ...noticeMarks(tool)),
    foldedText(tool.description, 'description'),
    tool.examples.length > 0 && section('Example requests', ...tool.examples.map((example) => button(example, () => onAsk(example), { class: 'example', title: 'Search for this' }))),
    section('Parameters', rows.length === 0 ? element('p', { class: 'muted' }, 'It takes none.') : parameterTable(rows)),
    section('Metadata', factsView(tool)),
    section('Health', ...providersView(tool)),
    element('details', { 'data-key': 'json' }, element('summary', { 'data-key': 'json-summary' }, 'Raw JSON'), element('pre', { tabindex: 0, 'aria-label': 'Raw JSON' }, JSON.stringify(tool, null, 2))),
  ];
}

/** Shows the head of the open tool, alone while there is nothing more to show. */
export function detailHead(name: string, onClose: () => void, version: string | null = null): HTMLElement {
  return element(
    'div',
    { class: 'detail-head' },
    element('h2', { tabindex: -1, 'data-key': 'detail-title' }, element('bdi', {}, name), version !== null && element('span', { class: 'version' }, version)),
    button('Close', onClose, { class: 'quiet', 'data-key': 'close', 'aria-keyshortcuts': 'Escape' }),
  );
}

function section(title: string, ...content: readonly Child[]): HTMLElement {
  return element('section', {}, element('h3', {}, title), ...content);
}

function parameterTable(rows: readonly SchemaRow[]): HTMLElement {
  const heads = ['Name', 'Type', 'Description'].map((head) => element('th', { scope: 'col' }, head));
  const table = element(
    'table',
    { class: 'parameters' },
    element('thead', {}, element('tr', {}, ...heads)),
    element(
      'tbody',
      {},
      ...rows.map(({ path, type, required, description, rules }) =>
        element(
          'tr',
          {},
          element('th', { scope: 'row' }, element('bdi', {}, path), required && element('span', { class: 'required' }, 'required')),
          element('td', { class: 'type' }, type),
          element('td', {}, description !== '' && element('span', {}, description), rules.length > 0 && element('span', { class: 'rules' }, rules.join(' · '))),
        ),
      ),
    ),
  );
  return element('div', { class: 'table-place' }, table);
}
