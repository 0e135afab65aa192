import { html, render } from 'htm/preact';
import { useState } from 'preact/hooks';
import type { FindingWire } from '../findings.js';
import type { Allowed } from '../operator-room.js';
import type { Overview } from '../operator-routes.js';
import {
  hasToken,
  keepToken,
  UNAUTHORIZED,
  useJson,
  useList,
  type Answered,
  type List,
  type Tool,
} from './api.js';
import { ActionsView, CallsView, loading, OverviewView } from './operator-views.js';
import { number, pages, waitingCount } from './parts.js';
import {
  currentRoute,
  hrefOf,
  hrefWith,
  OPERATOR_VIEWS,
  questionOf,
  VIEWS,
  type View,
} from './route.js';
import { FILTERS, ROW_FIELDS } from './shown-fields.js';
import { filters, toolList } from './tool-list.js';
import { closeTool, OpenTool } from './tool-view.js';
import { WaitingView } from './waiting-view.js';
import { findingsView, workView, type Work } from './work-views.js';

/** Milliseconds after which the lists are read again, because health changes without a new revision. */
const LISTS_MS = 30_000;
const titled = (view: View) => view.charAt(0).toUpperCase() + view.slice(1);

/** The part of `/health` that the page uses to notice changes. */
interface Health {
  readonly revision: number;
  readonly personas: readonly string[];
}

/** Shows the page, or a form for the token. */
function App() {
  const { answer, error, again } = useJson<Health>('health');
  if (error?.status === UNAUTHORIZED) return html`<${Unlock} onToken=${again} />`;
  if (answer === undefined) return loading(error?.message);
  return html`<${Catalogue} health=${answer} isLost=${error !== undefined} />`;
}

function Unlock({ onToken }: { readonly onToken: () => void }) {
  const onSubmit = (event: Event) => {
    event.preventDefault();
    keepToken((event.target as HTMLFormElement).querySelector('input')!.value.trim());
    onToken();
  };
  return html`<main class="page">
    <form class="unlock" onSubmit=${onSubmit}>
      <h1>This catalogue is locked</h1>
      <p class="muted">
        Enter the token that the server was started with. It's kept until you close this tab.
      </p>
      ${hasToken() && html`<p role="alert" class="problem">Wrong token.</p>`}
      <label for="token">Token</label>
      <input id="token" type="password" autocomplete="off" required />
      <button type="submit" class="primary">Open</button>
    </form>
  </main>`;
}

/** Reads everything in the catalogue that the persona in the URL can use. */
function useLists(version: string) {
  const { parameters } = currentRoute();
  const persona = parameters.get('persona');
  const own = questionOf(new URLSearchParams(persona === null ? {} : { persona }));
  const tools = `callable=true&facets=true&fields=${ROW_FIELDS}&${questionOf(parameters)}`;
  return {
    tools: useList<Tool>('tools', tools, version),
    skills: useList<Work>('skills', own, version),
    tasks: useList<Work>('tasks', own, version),
    jobs: useList<Work>('jobs', own, version),
    findings: useList<FindingWire>('findings', own, version),
  };
}
type Lists = ReturnType<typeof useLists>;

interface CatalogueProps {
  readonly health: Health;
  readonly isLost: boolean;
}

/** Shows the catalogue. The page's content is derived from the URL and the server's responses. */
function Catalogue({ health: { revision, personas }, isLost }: CatalogueProps) {
  const { view, parameters } = currentRoute();
  const version = `${revision} ${isLost} ${Math.floor(Date.now() / LISTS_MS)}`;
  const lists = useLists(version);
  const overview = useJson<Overview>('overview');
  document.title = `${parameters.get('open') ?? titled(view)} – tooldex`;
  return html`
    <header class="bar">
      <a class="brand" href="#/tools">tooldex</a>
      ${tabs(lists, overview.answer)}
      <div class="bar-end">
        <span class="connection" role="status" data-state=${isLost ? 'lost' : 'live'}
          >${isLost ? 'not connected' : 'live'}</span
        >
        ${personaChoice(personas)}
      </div>
    </header>
    ${
      view === 'tools'
        ? html`<${Tools} lists=${lists} version=${version} allowed=${overview.answer?.allowed} />`
        : html`<main class="page" tabindex="-1">
            <div class="page-content">
              <h1 class="hidden">${titled(view)}</h1>
              ${view in OPERATING ? html`<${OPERATING[view]} ...${overview} />` : listed(lists[view as 'skills'], view)}
            </div>
          </main>`
    }
  `;
}

const OPERATING: Partial<Record<View, (overview: Answered<Overview>) => unknown>> = {
  overview: OverviewView,
  waiting: WaitingView,
  calls: CallsView,
  actions: ActionsView,
};

/** Shows skills, tasks, jobs or findings. */
function listed({ answer, error }: Lists['skills'], view: View) {
  if (error !== undefined) return html`<p class="problem" role="alert">${error.message}</p>`;
  if (answer === undefined) return loading(undefined);
  return html`
    ${view === 'findings' ? findingsView(answer as List<never>) : workView(answer)} ${pages(answer)}
  `;
}

/** Links to the views. Views of empty lists are left out. */
function tabs(lists: Lists, overview: Overview | undefined) {
  const { view } = currentRoute();
  const counts: Partial<Record<View, number>> = {};
  for (const each of VIEWS) {
    const { searched, total = 0 } = lists[each].answer ?? {};
    counts[each] = searched ?? total;
  }
  const shown = [...(overview ? OPERATOR_VIEWS : []), ...VIEWS].filter(
    (each) => counts[each] !== 0 || ['tools', 'waiting', view].includes(each),
  );
  return html`<nav class="tabs" aria-label="Views">
    ${shown.map(
      (each) =>
        html`<a class="tab" href=${hrefOf(each)} aria-current=${each === view ? 'page' : undefined}>
          ${titled(each)}
          ${counts[each] !== undefined && html`<span class="count">${number(counts[each])}</span>`}
          ${each === 'waiting' && overview && html`<span class="count">${waitingCount(overview.waiting)}</span>`}
        </a>`,
    )}
  </nav>`;
}

function personaChoice(personas: readonly string[]) {
  const persona = currentRoute().parameters.get('persona');
  return html`<label for="persona" class="hidden">Persona</label>
    <select
      id="persona"
      hidden=${personas.length === 0 && persona === null}
      value=${persona ?? ''}
      onChange=${({ target }: Event) =>
        location.assign(hrefWith({ persona: (target as HTMLSelectElement).value || null }))}
    >
      <option value="">All personas</option>
      ${[...new Set([...personas, ...(persona === null ? [] : [persona])])].map(
        (each) => html`<option>${each}</option>`,
      )}
    </select>`;
}

interface ToolsProps {
  readonly lists: Lists;
  readonly version: string;
  readonly allowed: Allowed | undefined;
}

/** Shows the filters, the list of tools and the open tool. */
function Tools({ lists, version, allowed }: ToolsProps) {
  const { answer, error } = lists.tools;
  const [isFiltering, setFiltering] = useState(false);
  const { parameters } = currentRoute();
  const [open, owner, query] = ['open', 'owner', 'q'].map((name) => parameters.get(name));
  const isFiltered = FILTERS.some(({ key }) => parameters.has(key));
  const search = ({ target }: Event) =>
    location.replace(hrefWith({ q: (target as HTMLInputElement).value || null }));
  const counts = answer && `${number(answer.total)} of ${number(answer.searched ?? 0)} tools`;
  return html`<div class=${isFiltering ? 'tools filtering' : 'tools'}>
    <nav class="filters" aria-label="Filters">
      <h2 class="only-narrow">Filters</h2>
      ${filters(answer ?? {})}
      <button type="button" class="primary only-narrow" onClick=${() => setFiltering(false)}>
        Show tools
      </button>
    </nav>
    <main class="results-pane">
      <h1 class="hidden">Tools</h1>
      <div class="search-bar">
        <form role="search" onSubmit=${(event: Event) => event.preventDefault()}>
          <label for="search" class="hidden">Search tools</label>
          <input
            id="search"
            type="search"
            placeholder="What should the tool do?"
            autocomplete="off"
            spellcheck=${false}
            maxlength="500"
            aria-keyshortcuts="/"
            value=${query ?? ''}
            onInput=${search}
          />
          <kbd aria-hidden="true">/</kbd>
        </form>
        <div class="results-head">
          <p class=${error ? 'results problem' : 'results'} role="status">
            ${error?.message ?? counts}
          </p>
          <button
            type="button"
            class="quiet only-narrow"
            aria-expanded=${String(isFiltering)}
            onClick=${() => setFiltering(true)}
          >
            Filters
          </button>
          ${
            isFiltered &&
            html`<a
              class="quiet"
              href=${hrefWith(Object.fromEntries(FILTERS.map(({ key }) => [key, null])))}
              >Clear filters</a
            >`
          }
          <a class="quiet" target="_blank" rel="noopener" href=${`tools?${questionOf(parameters)}`}
            >JSON</a
          >
        </div>
      </div>
      ${
        answer?.total === 0
          ? html`<p class="empty">
              ${query == null && !isFiltered ? 'There are no tools here.' : 'No tool matches. Try other words, or fewer filters.'}
            </p>`
          : answer && toolList(answer)
      }
    </main>
    ${
      open != null &&
      html`<${OpenTool}
        key=${`${open}/${owner}`}
        name=${open}
        owner=${owner}
        version=${version}
        allowed=${allowed}
        skills=${lists.skills.answer?.items}
        jobs=${lists.jobs.answer?.items}
      />`
    }
  </div>`;
}

/** Focuses the search field on `/`, and closes the open tool on Escape. */
function onKey(event: KeyboardEvent): void {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (key === 'Escape' && currentRoute().parameters.has('open')) closeTool();
  else if (key === '/' && !(target as HTMLElement).matches('input, select, textarea'))
    document.getElementById('search')?.focus();
  else return;
  event.preventDefault();
}

document.addEventListener('DOMContentLoaded', () => {
  const place = document.createElement('div');
  place.className = 'app';
  document.body.prepend(place);
  const draw = () => render(html`<${App} />`, place);
  addEventListener('hashchange', draw);
  document.addEventListener('keydown', onKey);
  draw();
});
