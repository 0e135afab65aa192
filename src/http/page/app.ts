import { html, render } from 'htm/preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { HEALTH_LEVELS, healthLevelOf } from '../values-on.js';
import {
  ApiError,
  followChanges,
  getJson,
  hasToken,
  keepToken,
  readList,
  type Connection,
  type ListPage,
  type Tool,
} from './api.js';
import { listenToKeys } from './keys.js';
import { number } from './marks.js';
import { CallsView, OverviewView, WaitingView, type Overview } from './operator-views.js';
import { FindingsView, WorkView } from './other-views.js';
import {
  AXES,
  formatRoute,
  LISTS,
  OPERATOR_VIEWS,
  parseRoute,
  questionOf,
  ROW_FIELDS,
  type Route,
  type View,
} from './route.js';
import { applyTheme, nextTheme, rememberedTheme } from './theme.js';
import { Filters, keyOf, ToolList } from './tool-list.js';
import { OpenTool } from './tool-view.js';

/** Milliseconds to wait after typing stops before searching. */
const PAUSE_MS = 80;
const UNAUTHORIZED = 401;
const CONNECTION_WORDS = { connecting: 'connecting', live: 'live', lost: 'not connected' };
const SORTS = ['name', 'access_mode', 'danger_level', 'cost_tier', 'health'];

type Answer<Item = never> = ListPage & { readonly items: readonly Item[] };
type Lists = Readonly<Record<string, Answer>>;
interface Tools {
  readonly answer: Answer<Tool>;
  /** The query that this response answers. */
  readonly question: string;
}

const OPERATOR_PAGES = { overview: OverviewView, waiting: WaitingView, calls: CallsView };
const isOperatorView = (view: View): view is keyof typeof OPERATOR_PAGES =>
  Object.hasOwn(OPERATOR_PAGES, view);
const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Shows the whole page. Its content is derived from the URL and the server's responses. */
function App() {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  const [tools, setTools] = useState<Tools>();
  const [lists, setLists] = useState<Lists>({});
  const [personas, setPersonas] = useState<readonly string[]>([]);
  const [problem, setProblem] = useState('');
  const [isLocked, setLocked] = useState(false);
  const [connection, setConnection] = useState<Connection>('connecting');
  /** Increases when everything has to be read again. */
  const [version, setVersion] = useState(0);
  const [isFiltering, setFiltering] = useState(false);
  const [theme, setTheme] = useState(rememberedTheme);
  const [mostFindings, setMostFindings] = useState(1);
  /** The number of waiting calls. Missing if the server has no views for operators. */
  const [waiting, setWaiting] = useState<number>();
  const search = useRef<HTMLInputElement>(null);
  const move = useRef((_by: number | string) => {});
  const revision = useRef<number | null>(null);
  const pause = useRef<ReturnType<typeof setTimeout>>();
  const question = questionOf(route).toString();
  const { view, name, owner, persona } = route;

  const go = (next: Route, how: 'pushState' | 'replaceState' = 'pushState') => {
    history[how](null, '', formatRoute(next));
    setRoute(next);
  };
  const closeTool = () => {
    go({ ...route, name: null, owner: null });
    if (name !== null) move.current(keyOf({ name, persona: owner }));
  };
  const focusSearch = () => {
    if (view !== 'tools') go({ ...route, view: 'tools', name: null, owner: null });
    search.current?.focus();
    search.current?.select();
  };
  const ask = (query: string) => {
    go({ ...route, query, name: null, owner: null, filters: new Map() });
    search.current!.value = query;
    search.current?.focus();
  };
  const close = () => {
    if (isFiltering) setFiltering(false);
    else if (view === 'tools' && name !== null) closeTool();
    else if (document.activeElement === search.current && search.current!.value !== '') {
      search.current!.value = '';
      go({ ...route, query: '' }, 'replaceState');
    }
  };
  const attempt = (work: (signal: AbortSignal) => Promise<void>) => {
    const running = new AbortController();
    work(running.signal).catch((error: unknown) => {
      if (running.signal.aborted) return;
      setLocked(error instanceof ApiError && error.status === UNAUTHORIZED);
      setProblem(error instanceof Error ? error.message : String(error));
    });
    return () => running.abort();
  };

  useEffect(() => {
    const onHash = () => {
      const next = parseRoute(location.hash);
      search.current!.value = next.query;
      setRoute(next);
    };
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  useEffect(() => {
    // A hidden page closes its connection, because browsers only allow about six connections to a
    // server.
    let running = new AbortController();
    const onRevision = (next: number | null) => {
      if (next === null || (revision.current !== null && next !== revision.current))
        setVersion((last) => last + 1);
      if (next !== null) revision.current = next;
    };
    const connect = () => {
      running.abort();
      running = new AbortController();
      if (!document.hidden) void followChanges(running.signal, onRevision, setConnection);
    };
    const onShown = () => {
      if (!document.hidden) onRevision(null);
      connect();
    };
    connect();
    document.addEventListener('visibilitychange', onShown);
    return () => {
      running.abort();
      document.removeEventListener('visibilitychange', onShown);
    };
  }, [isLocked]);
  useEffect(
    () =>
      attempt(async (signal) => {
        const parameters = new URLSearchParams([
          ...questionOf(route),
          ...Object.entries({ callable: 'true', facets: 'true', fields: ROW_FIELDS.join(',') }),
        ]);
        let isFirst = tools === undefined || tools.question !== question;
        let last: Answer<Tool> | undefined;
        for await (const answer of readList<Tool>('tools', parameters, signal)) {
          last = answer;
          // When a list is read again, it's replaced as a whole, so that nothing jumps.
          if (isFirst) setTools({ answer, question });
          isFirst &&= answer.items.length < 1_000;
        }
        setTools({ answer: last!, question });
        setLocked(false);
        setProblem('');
      }),
    [question, version],
  );
  useEffect(
    () =>
      attempt(async (signal) => {
        const asked = new URLSearchParams(persona === null ? {} : { persona });
        setPersonas((await getJson<{ personas: readonly string[] }>('health', signal)).personas);
        const overview = await getJson<Overview>('overview', signal).catch(() => undefined);
        setWaiting(overview?.waiting);
        for (const list of LISTS) {
          const most = list === 'findings' ? 200 * mostFindings : Infinity;
          for await (const answer of readList<never>(list, asked, signal, most))
            setLists((before) => ({ ...before, [list]: answer }));
        }
      }),
    [persona, version, mostFindings],
  );
  useEffect(() =>
    listenToKeys({ search: focusSearch, move: (by) => move.current(by), close, field: search }),
  );
  useLayoutEffect(() => applyTheme(theme), [theme]);
  const isReady = view === 'tools' || isOperatorView(view) || lists[view] !== undefined;
  useLayoutEffect(() => {
    if (view !== 'tools')
      document.querySelector<HTMLElement>('.card[aria-current="true"]')?.focus();
  }, [view, name, isReady]);
  document.title = `${name ?? capitalized(view)} – tooldex`;

  const answer = tools?.answer;
  const counts = (list: View) =>
    (list === 'tools' ? answer?.searched : list === 'waiting' ? waiting : lists[list]?.total) ?? 0;
  const views: readonly View[] = [
    ...(waiting === undefined ? [] : OPERATOR_VIEWS),
    'tools',
    ...LISTS,
  ];
  const others =
    personas.some((each) => each.toLowerCase() === persona?.toLowerCase()) || persona === null
      ? []
      : [persona];
  const options = [...others, ...personas];
  const chosen = [...route.filters.values()].reduce((sum, values) => sum + values.size, 0);
  const unlock = (event: Event) => {
    event.preventDefault();
    keepToken((event.target as HTMLFormElement).querySelector('input')!.value.trim());
    setVersion((last) => last + 1);
  };
  const onInput = () => {
    clearTimeout(pause.current);
    pause.current = setTimeout(
      () => go({ ...parseRoute(location.hash), query: search.current!.value }, 'replaceState'),
      PAUSE_MS,
    );
  };

  return html`
    <header class="bar">
      <a class="brand" href="#/tools">tooldex</a>
      <nav class="tabs" aria-label="Views">
        ${views.map((each) => {
          const rest =
            each === 'tools' ? {} : { query: '', filters: new Map<string, ReadonlySet<string>>() };
          const href = formatRoute({ ...route, ...rest, view: each, name: null, owner: null });
          return html`<a
            class="tab"
            href=${href}
            aria-current=${each === view ? 'page' : undefined}
          >
            ${capitalized(each)}${each !== 'overview' && each !== 'calls' && html`<span class="count">${number(counts(each))}</span>`}
          </a>`;
        })}
      </nav>
      <div class="bar-end">
        <span class="connection" role="status" data-state=${connection}
          >${CONNECTION_WORDS[connection]}</span
        >
        <label for="persona" class="hidden">Persona</label>
        <select
          id="persona"
          hidden=${options.length === 0}
          onChange=${({ target }: Event) => go({ ...route, persona: (target as HTMLSelectElement).value || null })}
        >
          <option value="" selected=${persona === null}>All personas</option>
          ${options.map(
            (each) =>
              html`<option value=${each} selected=${each.toLowerCase() === persona?.toLowerCase()}>
                ${each}
              </option>`,
          )}
        </select>
        <button type="button" class="quiet" onClick=${() => setTheme(nextTheme(theme))}>
          Theme: ${theme}
        </button>
      </div>
    </header>
    <div class=${isFiltering ? 'tools filtering' : 'tools'} hidden=${isLocked || view !== 'tools'}>
      <nav class="filters" aria-label="Filters">
        <h2 class="only-narrow">Filters</h2>
        <${Filters} route=${route} answer=${answer ?? {}} onGo=${go} />
        <button type="button" class="primary only-narrow" onClick=${() => setFiltering(false)}>
          Show tools
        </button>
      </nav>
      <${view === 'tools' ? 'main' : 'div'} class="results-pane">
        <h1 class="hidden">Tools</h1>
        <div class="search-bar">
          <form role="search" onSubmit=${(event: Event) => event.preventDefault()}>
            <label for="search" class="hidden">Search tools</label>
            <input
              id="search"
              ref=${search}
              type="search"
              placeholder="What should the tool do?"
              autocomplete="off"
              spellcheck=${false}
              maxlength="500"
              aria-keyshortcuts="/"
              defaultValue=${route.query}
              onInput=${onInput}
            />
            <kbd aria-hidden="true">/</kbd>
          </form>
          <div class="results-head">
            <p class=${problem === '' ? 'results' : 'results problem'} role="status">
              ${problem || countWords(answer, route.query !== '')}
            </p>
            <label class="hidden" for="sort">Sort by</label>
            <select
              id="sort"
              onChange=${({ target }: Event) => go({ ...route, sort: (target as HTMLSelectElement).value })}
            >
              <option value="">${route.query === '' ? 'as listed' : 'best first'}</option>
              ${SORTS.map(
                (field) =>
                  html`<option value=${field} selected=${route.sort === field}>
                    by ${field.split('_')[0]}
                  </option>`,
              )}
            </select>
            <button
              type="button"
              class="quiet only-narrow"
              aria-expanded=${String(isFiltering)}
              onClick=${() => setFiltering(true)}
            >
              ${chosen === 0 ? 'Filters' : `Filters (${chosen})`}
            </button>
            <button
              type="button"
              class="quiet"
              hidden=${chosen === 0}
              onClick=${() => {
                go({ ...route, filters: new Map() });
                search.current?.focus();
              }}
            >
              Clear filters
            </button>
            <a
              class="quiet"
              target="_blank"
              rel="noopener"
              href=${question === '' ? 'tools' : `tools?${question}`}
              >JSON</a
            >
          </div>
        </div>
        <${ToolList}
          tools=${sorted(answer?.items ?? [], route.sort)}
          route=${route}
          question=${`${tools?.question} ${route.sort}`}
          empty=${emptyWords(answer === undefined && problem === '', chosen, route.query)}
          onMount=${(mover: (by: number | string) => void) => (move.current = mover)}
        />
      <//>
      ${
        view === 'tools' &&
        name !== null &&
        html`<${OpenTool}
          key=${`${name}/${owner}`}
          name=${name}
          owner=${owner}
          version=${version}
          hasCalls=${waiting !== undefined}
          onAsk=${ask}
          onClose=${closeTool}
        />`
      }
    </div>
    ${
      isLocked
        ? html`<main class="page">
            <form class="unlock" onSubmit=${unlock}>
              <h1>This catalogue is locked</h1>
              <p class="muted">
                Enter the token that the server was started with. It's kept until you close this
                tab.
              </p>
              ${hasToken() && html`<p role="alert" class="problem">Wrong token.</p>`}
              <label for="token">Token</label>
              <input id="token" type="password" autocomplete="off" required />
              <button type="submit" class="primary">Open</button>
            </form>
          </main>`
        : view !== 'tools' &&
          html`<main class="page" tabindex="-1">
            <div class="page-content">
              <h1 class="hidden">${capitalized(view)}</h1>
              ${problem !== '' && html`<p class="problem" role="alert">${problem}</p>`}
              ${
                !isReady
                  ? html`<p class="empty">Loading …</p>`
                  : isOperatorView(view)
                    ? html`<${OPERATOR_PAGES[view]} route=${route} />`
                    : view === 'findings'
                      ? html`<${FindingsView}
                          route=${route}
                          answer=${lists[view]}
                          onMore=${() => setMostFindings(mostFindings + 1)}
                        />`
                      : html`<${WorkView} route=${route} answer=${lists[view]} />`
              }
            </div>
          </main>`
    }
  `;
}

function countWords(answer: Answer<Tool> | undefined, isSearch: boolean): string {
  if (answer === undefined) return '';
  const { total, searched = 0, items } = answer;
  const rest =
    items.length >= total
      ? ''
      : isSearch
        ? `, the best ${number(items.length)} shown`
        : ` – ${number(items.length)} of ${number(total)} loaded`;
  return `${number(total)} of ${number(searched)} tools${rest}`;
}

function emptyWords(isLoading: boolean, chosen: number, query: string): string {
  if (isLoading) return 'Loading …';
  if (query !== '')
    return chosen === 0
      ? 'No tool matches. Try other words, or fewer.'
      : 'No tools match your search with these filters.';
  return chosen === 0
    ? 'There are no tools here.'
    : 'No tool matches all these filters. Remove one.';
}

/**
 * Returns tools sorted by a field: ordered values from highest to lowest, and health from worst to
 * best.
 */
function sorted(tools: readonly Tool[], field: string): readonly Tool[] {
  if (field === 'name')
    return [...tools].sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
  const order = AXES.find(({ key }) => key === field)?.order;
  if (order === undefined || !SORTS.includes(field)) return tools;
  const failing = HEALTH_LEVELS.indexOf('failing');
  const rank = (tool: Tool) => {
    if (field !== 'health') return -order.indexOf(String(tool[field]));
    const level = HEALTH_LEVELS.indexOf(healthLevelOf(tool.health.tool.success_rate));
    return level > failing ? level : failing - level;
  };
  return [...tools].sort((a, b) => rank(a) - rank(b));
}

// Runs while the head is being parsed, so that a dark page doesn't flash white first.
applyTheme(rememberedTheme());
document.addEventListener('DOMContentLoaded', () => {
  const place = document.createElement('div');
  place.className = 'app';
  document.body.prepend(place);
  render(html`<${App} />`, place);
});
