import type { CatalogueState } from '../data/catalogue.js';
import type { WireJob, WireSkill, WireTool } from '../data/wire.js';
import { element, type Child } from '../dom/element.js';
import { replaceContent } from '../dom/replace-content.js';
import { formatRoute, type Route, type View } from '../state/route.js';
import { findingsView } from './findings-view.js';
import { isSamePersona } from '../state/select-rows.js';
import type { Shell } from './shell.js';
import { jobsView, skillsView, type References } from './work-views.js';

const TITLES: Readonly<Record<View, string>> = { tools: 'Tools', skills: 'Skills', jobs: 'Jobs', findings: 'Findings' };
const EVERYBODY = 'All personas';

/** Skills, jobs and findings, and the bar above every view. */
export class OtherViews {
  readonly #page: HTMLElement;
  readonly #onMoreFindings: () => void;
  /** The card that was scrolled to, so that it happens once. */
  #meant = '';

  constructor(page: HTMLElement, onMoreFindings: () => void) {
    this.#page = page;
    this.#onMoreFindings = onMoreFindings;
  }

  /** Shows the route's view with what the persona sees. */
  render(state: CatalogueState, route: Route, visible: readonly WireTool[]): void {
    replaceContent(this.#page, element('div', { class: 'page-content' }, element('h1', { class: 'hidden' }, TITLES[route.view]), ...contentOf(state, route, visible, this.#onMoreFindings)));
    const meant = route.name === null ? '' : `${route.view}/${route.name}`;
    if (meant !== this.#meant && state.status === 'ready') {
      this.#meant = meant;
      this.#page.querySelector<HTMLElement>('[aria-current="true"]')?.focus();
    }
  }

  /** Shows the title, counts, the present view, and the personas to choose from. */
  renderBar({ tabs, persona }: Shell, state: CatalogueState, route: Route, tools: number): void {
    document.title = `${route.name ?? TITLES[route.view]} – tooldex`;
    const counts = { tools, skills: skillsFor(state, route).length, jobs: jobsFor(state, route).length, findings: state.findings?.total ?? 0 };
    for (const [view, { link, count }] of tabs) {
      link.href = formatRoute({ ...route, view, name: null, owner: null, ...(view === 'tools' ? {} : { query: '', filters: new Map() }) });
      if (view === route.view) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
      count.textContent = counts[view].toLocaleString('en');
    }
    const names = personasOf(state, route);
    if (JSON.stringify(names) !== JSON.stringify([...persona.options].map(({ value }) => value))) {
      persona.replaceChildren(...names.map((name) => element('option', { value: name }, name === '' ? EVERYBODY : name)));
    }
    persona.value = names.find((name) => isSamePersona(name, route.persona ?? '')) ?? '';
    persona.hidden = names.length === 1;
  }
}

function contentOf(state: CatalogueState, route: Route, visible: readonly WireTool[], onMoreFindings: () => void): readonly Child[] {
  if (state.problem !== null) return [element('p', { class: 'problem', role: 'alert' }, state.problem)];
  if (state.status === 'loading') return [element('p', { class: 'empty' }, 'Loading …')];
  // A name means a persona's own tool before a shared one, and any other if it is in neither.
  const owners = new Map([...state.tools, ...visible.filter(({ persona }) => persona === null), ...visible.filter(({ persona }) => route.persona !== null && isSamePersona(persona, route.persona))].map((tool) => [tool.name, tool.persona]));
  const references: References = { route, ownerOfTool: (name) => owners.get(name) };
  if (route.view === 'skills') return skillsView(skillsFor(state, route), references);
  if (route.view === 'jobs') return jobsView(jobsFor(state, route), references);
  return state.findings === null ? [] : findingsView(state.findings, references, onMoreFindings);
}

function skillsFor({ skills }: CatalogueState, { persona }: Route): readonly WireSkill[] {
  return (skills ?? []).filter((skill) => skill.persona === null || persona === null || isSamePersona(skill.persona, persona));
}

/**
 * Returns the jobs for a persona. A job's list of personas is its own rule beside its owner: an empty list allows no
 * persona in particular.
 */
function jobsFor({ jobs }: CatalogueState, { persona }: Route): readonly WireJob[] {
  return (jobs ?? []).filter((job) => persona === null || ((job.persona === null || isSamePersona(job.persona, persona)) && job.personas.some((name) => isSamePersona(name, persona))));
}

/** Returns all personas that own something or are named somewhere, each once however it is spelled; '' stands for all. */
function personasOf({ tools, skills, jobs }: CatalogueState, { persona }: Route): readonly string[] {
  const names = [...tools.map((tool) => tool.persona), ...(skills ?? []).map((skill) => skill.persona), ...(jobs ?? []).flatMap((job) => [job.persona, ...job.personas]), ...tools.flatMap((tool) => tool.persona_allowlist ?? [])];
  const bySpelling = new Map<string, string>();
  for (const name of [persona, ...names]) if (name !== null && name.trim() !== '' && !bySpelling.has(name.trim().toLowerCase())) bySpelling.set(name.trim().toLowerCase(), name);
  return ['', ...[...bySpelling].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name)];
}
