import { element } from '../dom/element.js';
import { VIEWS, type View } from '../state/route.js';

const LABELS: Readonly<Record<View, string>> = { tools: 'Tools', skills: 'Skills', jobs: 'Jobs', findings: 'Findings' };

/** The places of the page that stay while their content changes. */
export interface Shell {
  readonly tabs: ReadonlyMap<View, { readonly link: HTMLAnchorElement; readonly count: HTMLElement }>;
  readonly persona: HTMLSelectElement;
  readonly theme: HTMLButtonElement;
  readonly connection: HTMLElement;
  readonly search: HTMLInputElement;
  readonly status: HTMLElement;
  readonly toggleFilters: HTMLButtonElement;
  readonly clear: HTMLButtonElement;
  readonly json: HTMLAnchorElement;
  readonly filters: HTMLElement;
  readonly doneFiltering: HTMLButtonElement;
  /** The list of tools, or the text in its place. */
  readonly list: HTMLElement;
  readonly toolsPane: HTMLElement;
  /** The other views. */
  readonly page: HTMLElement;
  readonly detail: HTMLElement;
  /** The announcement of changes for screen readers. */
  readonly spoken: HTMLElement;
  readonly nodes: readonly HTMLElement[];
}

/** Makes the page without content. */
export function makeShell(): Shell {
  const tabs = new Map(
    VIEWS.map((view) => {
      const count = element('span', { class: 'count' });
      return [view, { link: element('a', { class: 'tab', href: `#/${view}` }, LABELS[view], count), count }] as const;
    }),
  );
  const persona = element('select', { id: 'persona' });
  const theme = element('button', { type: 'button', class: 'quiet' });
  const connection = element('span', { class: 'connection', role: 'status' });
  const search = element('input', {
    id: 'search',
    type: 'search',
    placeholder: 'What should the tool do?',
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: 500,
    'aria-keyshortcuts': '/',
  });
  const status = element('p', { class: 'results', role: 'status' });
  const toggleFilters = element('button', { type: 'button', class: 'quiet only-narrow' }, 'Filters');
  const clear = element('button', { type: 'button', class: 'quiet', hidden: true }, 'Clear filters');
  const json = element('a', { class: 'quiet', target: '_blank', rel: 'noopener' }, 'JSON');
  const doneFiltering = element('button', { type: 'button', class: 'primary only-narrow' }, 'Show tools');
  const filters = element('div', { class: 'axes' });
  const list = element('div', { class: 'list-place' });
  const page = element('main', { class: 'page', tabindex: -1, hidden: true });
  const detail = element('aside', { class: 'detail', 'aria-label': 'Tool', hidden: true });
  const spoken = element('p', { class: 'hidden', role: 'status' });
  const toolsPane = element(
    'div',
    { class: 'tools' },
    element('nav', { class: 'filters', 'aria-label': 'Filters' }, element('h2', { class: 'only-narrow' }, 'Filters'), filters, doneFiltering),
    element(
      'main',
      { class: 'results-pane' },
      element('h1', { class: 'hidden' }, 'Tools'),
      element(
        'div',
        { class: 'search-bar' },
        element('form', { role: 'search' }, element('label', { for: 'search', class: 'hidden' }, 'Search tools'), search, element('kbd', { 'aria-hidden': 'true' }, '/')),
        element('div', { class: 'results-head' }, status, toggleFilters, clear, json),
      ),
      list,
    ),
    detail,
  );
  const head = element(
    'header',
    { class: 'bar' },
    element('a', { class: 'brand', href: '#/tools' }, 'tooldex'),
    element('nav', { class: 'tabs', 'aria-label': 'Views' }, ...[...tabs.values()].map(({ link }) => link)),
    element('div', { class: 'bar-end' }, connection, element('label', { for: 'persona', class: 'hidden' }, 'Persona'), persona, theme),
  );
  return { tabs, persona, theme, connection, search, status, toggleFilters, clear, json, filters, doneFiltering, list, toolsPane, page, detail, spoken, nodes: [head, toolsPane, page, spoken] };
}
