import type { SearchWire } from './wire.js';
import { Api, Latest } from './api.js';
import { Catalogue, Changes, type Connection } from './catalogue.js';
import { replaceContent } from './element.js';
import { OtherViews } from './other-views.js';
import { AXES, formatRoute, parseRoute, withFilter, type Route } from './route.js';
import { selectRows, visibleTo } from './rows.js';
import {
  applyTheme,
  listenToKeys,
  makeShell,
  nextTheme,
  rememberedTheme,
  unlockView,
  type Theme,
} from './shell.js';
import { filtersView, ToolList } from './tool-list.js';
import { OpenTool } from './tool-view.js';

/** The pause in typing after which the search starts. */
const PAUSE_MS = 80;
const TOKEN = 'tooldex-token';
const CONNECTION_WORDS: Readonly<Record<Connection, string>> = {
  connecting: 'connecting',
  live: 'live',
  lost: 'not connected',
};

/** The page: its content follows from the route, the catalogue and the answer to the last search. */
class App {
  readonly #shell = makeShell();
  readonly #api = new Api(
    (...request) => fetch(...request),
    () => sessionStorage.getItem(TOKEN),
  );
  readonly #catalogue = new Catalogue(this.#api, () => this.#render());
  readonly #changes = new Changes(
    this.#api,
    (revision) => void this.#reload(revision),
    (connection) => this.#showConnection(connection),
  );
  readonly #list = new ToolList(this.#shell.list);
  readonly #openTool = new OpenTool(
    this.#shell.detail,
    this.#api,
    (query) => this.#ask(query),
    () => this.#close(),
  );
  readonly #others = new OtherViews(this.#shell.page, () => void this.#catalogue.moreFindings());
  readonly #search = new Latest();
  readonly #expanded = new Set<string>();
  #route: Route = parseRoute(location.hash);
  #theme = rememberedTheme();
  #searched:
    | {
        readonly question: string;
        readonly found: SearchWire | null;
        readonly problem: string | null;
      }
    | undefined;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #lastQuestion = '';

  start(): void {
    const { nodes, search, persona, theme, clear, toggleFilters, doneFiltering } = this.#shell;
    document.body.prepend(...nodes);
    search.value = this.#route.query;
    search.form!.addEventListener('submit', (event) => event.preventDefault());
    search.addEventListener('input', () => {
      clearTimeout(this.#pause);
      this.#pause = setTimeout(
        () => this.#go({ ...this.#route, query: search.value }, 'replace'),
        PAUSE_MS,
      );
    });
    persona.addEventListener('change', () =>
      this.#go({ ...this.#route, persona: persona.value === '' ? null : persona.value }, 'push'),
    );
    theme.addEventListener('click', () => this.#setTheme(nextTheme(this.#theme)));
    clear.addEventListener('click', () => {
      this.#go({ ...this.#route, filters: new Map() }, 'push');
      search.focus();
    });
    for (const toggle of [toggleFilters, doneFiltering])
      toggle.addEventListener('click', () => this.#toggleFilters());
    window.addEventListener('hashchange', () => {
      const route = parseRoute(location.hash);
      search.value = route.query;
      this.#follow(route);
    });
    listenToKeys(document, {
      search: () => this.#focusSearch(),
      move: (by) => void this.#list.move(by),
      close: () => this.#close(),
      isSearching: () => document.activeElement === search,
    });
    this.#setTheme(this.#theme);
    void this.#catalogue.load();
    this.#changes.start(document);
    this.#follow(this.#route);
  }

  #go(route: Route, how: 'push' | 'replace'): void {
    history[how === 'push' ? 'pushState' : 'replaceState'](null, '', formatRoute(route));
    this.#follow(route);
  }

  #follow(route: Route): void {
    const before = this.#route;
    this.#route = route;
    this.#searchIfNeeded(false);
    this.#openTool.follow(route.view === 'tools' ? route : null);
    this.#render();
    if (before.view === 'tools' && before.name !== null && route.name === null)
      this.#list.focusTool(before.name, before.owner);
  }

  #ask(query: string): void {
    this.#shell.search.value = query;
    this.#go({ ...this.#route, query, name: null, owner: null, filters: new Map() }, 'push');
    this.#focusSearch();
  }

  #close(): void {
    const { search, toolsPane } = this.#shell;
    if (toolsPane.classList.contains('filtering')) return this.#toggleFilters();
    if (this.#route.view === 'tools' && this.#route.name !== null)
      return this.#go({ ...this.#route, name: null, owner: null }, 'push');
    if (document.activeElement === search && search.value !== '') {
      search.value = '';
      this.#go({ ...this.#route, query: '' }, 'replace');
    }
  }

  #focusSearch(): void {
    if (this.#route.view !== 'tools')
      this.#go({ ...this.#route, view: 'tools', name: null, owner: null }, 'push');
    this.#shell.search.focus();
    this.#shell.search.select();
  }

  /** Asks again for everything on the page, after the catalogue changed. */
  async #reload(revision: number | null): Promise<void> {
    if (!(await this.#catalogue.follow(revision))) return;
    this.#shell.spoken.textContent = `The catalogue was read again: ${this.#catalogue.state.total} tools`;
    this.#searchIfNeeded(true);
    this.#openTool.refresh();
  }

  #searchIfNeeded(again: boolean): void {
    if (this.#route.query.trim() === '') {
      this.#search.cancel();
      this.#searched = undefined;
      return;
    }
    const parameters = questionOf(this.#route);
    const question = parameters.toString();
    if (!again && this.#searched?.question === question) return;
    const show = (found: SearchWire | null, problem: string | null) => {
      this.#searched = { question, found, problem };
      this.#render();
    };
    // The list of the previous question stays until the answer comes.
    this.#searched = { found: null, problem: null, ...this.#searched, question };
    this.#search.ask(
      (signal) => this.#api.search(parameters, signal),
      (found) => show(found, null),
      (error) => show(null, error instanceof Error ? error.message : String(error)),
    );
  }

  #render(): void {
    const { state } = this.#catalogue;
    const route = this.#route;
    const visible = visibleTo(state.tools, route.persona);
    const { toolsPane, page } = this.#shell;
    const locked = state.status === 'locked';
    toolsPane.hidden = locked || route.view !== 'tools';
    page.hidden = !locked && route.view === 'tools';
    this.#others.renderBar(this.#shell, state, route, visible.length);
    if (locked)
      replaceContent(
        page,
        unlockView(sessionStorage.getItem(TOKEN) !== null, (token) => this.#unlock(token)),
      );
    else if (route.view === 'tools') this.#renderTools(visible);
    else this.#others.render(state, route, visible);
  }

  #renderTools(visible: ReturnType<typeof visibleTo>): void {
    const route = this.#route;
    const { state } = this.#catalogue;
    const { status, clear, json, filters, toggleFilters } = this.#shell;
    const { rows, total, of, facets } = selectRows(visible, this.#searched?.found ?? null, route);
    const question = formatRoute({ ...route, name: null, owner: null });
    const problem = state.problem ?? this.#searched?.problem ?? null;
    const loading =
      state.status === 'loading' && state.total > state.tools.length
        ? ` – ${state.tools.length.toLocaleString('en')} of ${state.total.toLocaleString('en')} loaded`
        : '';
    const chosen = [...route.filters.values()].reduce((sum, values) => sum + values.size, 0);
    const best =
      total > rows.length && this.#searched?.found != null
        ? `, the best ${rows.length.toLocaleString('en')} shown`
        : '';
    status.textContent =
      problem ??
      `${total.toLocaleString('en')} of ${of.toLocaleString('en')} tools${best}${loading}`;
    status.classList.toggle('problem', problem !== null);
    clear.hidden = chosen === 0;
    toggleFilters.textContent = chosen === 0 ? 'Filters' : `Filters (${chosen})`;
    json.href = apiAddress(route);
    replaceContent(
      filters,
      ...filtersView(
        facets,
        this.#expanded,
        (axis, value, isChosen) => this.#go(withFilter(this.#route, axis, value, isChosen), 'push'),
        (axis) => this.#expand(axis),
      ),
    );
    this.#list.show(
      rows,
      route,
      question !== this.#lastQuestion,
      emptyWords(state.status, chosen, route.query),
    );
    this.#lastQuestion = question;
  }

  #expand(axis: string): void {
    if (!this.#expanded.delete(axis)) this.#expanded.add(axis);
    this.#render();
  }

  #toggleFilters(): void {
    const { toolsPane, toggleFilters, filters } = this.#shell;
    const open = toolsPane.classList.toggle('filtering');
    toggleFilters.setAttribute('aria-expanded', String(open));
    if (open) filters.querySelector('input')?.focus();
    else toggleFilters.focus();
  }

  #setTheme(theme: Theme): void {
    this.#theme = theme;
    applyTheme(theme);
    this.#shell.theme.textContent = `Theme: ${theme}`;
  }

  #showConnection(connection: Connection): void {
    this.#shell.connection.textContent = CONNECTION_WORDS[connection];
    this.#shell.connection.dataset['state'] = connection;
  }

  #unlock(token: string): void {
    sessionStorage.setItem(TOKEN, token);
    void this.#reload(null);
    this.#changes.connect();
  }
}

/** Returns the route's question in the words of the HTTP interface. */
function questionOf({ query, persona, filters }: Route): URLSearchParams {
  const parameters = new URLSearchParams(query.trim() === '' ? {} : { q: query });
  if (persona !== null) parameters.set('persona', persona);
  for (const { key } of AXES)
    for (const value of filters.get(key) ?? []) parameters.append(key, value);
  return parameters;
}

/** Returns the address of the same question for programs. */
function apiAddress(route: Route): string {
  const parameters = questionOf(route);
  return `${parameters.has('q') ? 'search' : 'tools'}${parameters.size === 0 ? '' : `?${parameters.toString()}`}`;
}

function emptyWords(status: string, chosen: number, query: string): string {
  if (status === 'loading') return 'Loading …';
  if (query !== '')
    return chosen === 0
      ? 'No tool fits this. Try other words, or fewer.'
      : 'No tool fits this with these filters.';
  return chosen === 0 ? 'There are no tools here.' : 'No tool has all of this. Take a filter back.';
}

// This runs while the head is read, so that a dark page does not flash white first.
applyTheme(rememberedTheme());
document.addEventListener('DOMContentLoaded', () => new App().start());
