import { element, listening } from './element.js';
import { VIEWS, type View } from './route.js';

const LABELS: Readonly<Record<View, string>> = {
  tools: 'Tools',
  skills: 'Skills',
  jobs: 'Jobs',
  findings: 'Findings',
};

/** The places of the page that stay while their content changes. */
export type Shell = Readonly<ReturnType<typeof makeShell>>;

/** Makes the page without content. */
export function makeShell() {
  const tabs = new Map(
    VIEWS.map((view) => {
      const count = element('span', { class: 'count' });
      return [
        view,
        { link: element('a', { class: 'tab', href: `#/${view}` }, LABELS[view], count), count },
      ] as const;
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
  const toggleFilters = element(
    'button',
    { type: 'button', class: 'quiet only-narrow' },
    'Filters',
  );
  const clear = element(
    'button',
    { type: 'button', class: 'quiet', hidden: true },
    'Clear filters',
  );
  const json = element('a', { class: 'quiet', target: '_blank', rel: 'noopener' }, 'JSON');
  const doneFiltering = element(
    'button',
    { type: 'button', class: 'primary only-narrow' },
    'Show tools',
  );
  const filters = element('div', { class: 'axes' });
  const list = element('div', { class: 'list-place' });
  const page = element('main', { class: 'page', tabindex: -1, hidden: true });
  const detail = element('aside', { class: 'detail', 'aria-label': 'Tool', hidden: true });
  const spoken = element('p', { class: 'hidden', role: 'status' });
  const toolsPane = element(
    'div',
    { class: 'tools' },
    element(
      'nav',
      { class: 'filters', 'aria-label': 'Filters' },
      element('h2', { class: 'only-narrow' }, 'Filters'),
      filters,
      doneFiltering,
    ),
    element(
      'main',
      { class: 'results-pane' },
      element('h1', { class: 'hidden' }, 'Tools'),
      element(
        'div',
        { class: 'search-bar' },
        element(
          'form',
          { role: 'search' },
          element('label', { for: 'search', class: 'hidden' }, 'Search tools'),
          search,
          element('kbd', { 'aria-hidden': 'true' }, '/'),
        ),
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
    element(
      'nav',
      { class: 'tabs', 'aria-label': 'Views' },
      ...[...tabs.values()].map(({ link }) => link),
    ),
    element(
      'div',
      { class: 'bar-end' },
      connection,
      element('label', { for: 'persona', class: 'hidden' }, 'Persona'),
      persona,
      theme,
    ),
  );
  return {
    tabs,
    persona,
    theme,
    connection,
    search,
    status,
    toggleFilters,
    clear,
    json,
    filters,
    doneFiltering,
    list,
    toolsPane,
    page,
    detail,
    spoken,
    nodes: [head, toolsPane, page, spoken],
  };
}

/** Asks for the token of the server. */
export function unlockView(wasWrong: boolean, onToken: (token: string) => void): HTMLElement {
  const field = element('input', {
    id: 'token',
    type: 'password',
    autocomplete: 'off',
    required: true,
    'data-key': 'token',
  });
  return listening(
    element(
      'form',
      { class: 'unlock' },
      element('h2', {}, 'This catalogue is locked'),
      element(
        'p',
        { class: 'muted' },
        'It was started with a token. The token is kept until this tab is closed.',
      ),
      wasWrong && element('p', { role: 'alert', class: 'problem' }, 'That was not the token.'),
      element('label', { for: 'token' }, 'Token'),
      field,
      element('button', { type: 'submit', class: 'primary' }, 'Open'),
    ),
    {
      submit: (event) => {
        event.preventDefault();
        onToken(field.value.trim());
      },
    },
  );
}

export type Theme = 'auto' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];
const KEY = 'tooldex-theme';

/** Returns the theme chosen last; `auto`, which follows the system, if there is none or nothing may be stored. */
export function rememberedTheme(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'auto';
  } catch {
    return 'auto';
  }
}

/** Shows the page in a theme and remembers it. */
export function applyTheme(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Browsers may forbid it: then it lasts until the page is left.
  }
}

export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
}

/** The actions of keys on the page. */
interface KeyActions {
  readonly search: () => void;
  readonly move: (by: number) => void;
  readonly close: () => void;
  /** Returns true if the search field has the focus. */
  readonly isSearching: () => boolean;
}

/**
 * Listens to keys: `/` searches, arrows and `j` `k` walk through the list, Escape closes. Enter opens because rows are
 * links.
 */
export function listenToKeys(document: Document, actions: KeyActions): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target instanceof HTMLElement ? event.target : document.body;
    const writes =
      target instanceof HTMLSelectElement ||
      target instanceof HTMLTextAreaElement ||
      (target instanceof HTMLInputElement && target.type !== 'checkbox');
    const act = actionOf(event.key, writes, actions, target);
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}

function actionOf(
  key: string,
  writes: boolean,
  actions: KeyActions,
  target: HTMLElement,
): (() => void) | undefined {
  if (key === 'Escape') return actions.close;
  if (key === 'ArrowDown' && actions.isSearching()) return () => actions.move(1);
  if (writes) return undefined;
  if (key === '/') return actions.search;
  if (key === 'j') return () => actions.move(1);
  if (key === 'k') return () => actions.move(-1);
  // Elsewhere arrows scroll, as users expect.
  const inList = target.classList.contains('row-link');
  if (key === 'ArrowDown' && (inList || target === target.ownerDocument.body))
    return () => actions.move(1);
  if (key === 'ArrowUp' && inList) return () => actions.move(-1);
  return undefined;
}
