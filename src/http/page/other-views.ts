import type { FindingWire, FindingsWire, ListedJob, ListedSkill, ListedTool } from './wire.js';
import type { CatalogueState } from './catalogue.js';
import { button, element, foldedText, replaceContent, type Child } from './element.js';
import { healthWords } from './marks.js';
import { formatRoute, type Route, type View } from './route.js';
import { isSamePersona } from './rows.js';
import type { Shell } from './shell.js';

const TITLES: Readonly<Record<View, string>> = {
  tools: 'Tools',
  skills: 'Skills',
  jobs: 'Jobs',
  findings: 'Findings',
};
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
  render(state: CatalogueState, route: Route, visible: readonly ListedTool[]): void {
    replaceContent(
      this.#page,
      element(
        'div',
        { class: 'page-content' },
        element('h1', { class: 'hidden' }, TITLES[route.view]),
        ...contentOf(state, route, visible, this.#onMoreFindings),
      ),
    );
    const meant = route.name === null ? '' : `${route.view}/${route.name}`;
    if (meant !== this.#meant && state.status === 'ready') {
      this.#meant = meant;
      this.#page.querySelector<HTMLElement>('[aria-current="true"]')?.focus();
    }
  }

  /** Shows the title, counts, the present view, and the personas to choose from. */
  renderBar({ tabs, persona }: Shell, state: CatalogueState, route: Route, tools: number): void {
    document.title = `${route.name ?? TITLES[route.view]} – tooldex`;
    const counts = {
      tools,
      skills: skillsFor(state, route).length,
      jobs: jobsFor(state, route).length,
      findings: state.findings?.total ?? 0,
    };
    for (const [view, { link, count }] of tabs) {
      link.href = formatRoute({
        ...route,
        view,
        name: null,
        owner: null,
        ...(view === 'tools' ? {} : { query: '', filters: new Map() }),
      });
      if (view === route.view) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
      count.textContent = counts[view].toLocaleString('en');
    }
    const names = personasOf(state, route);
    if (JSON.stringify(names) !== JSON.stringify([...persona.options].map(({ value }) => value))) {
      persona.replaceChildren(
        ...names.map((name) => element('option', { value: name }, name === '' ? EVERYBODY : name)),
      );
    }
    persona.value = names.find((name) => isSamePersona(name, route.persona ?? '')) ?? '';
    persona.hidden = names.length === 1;
  }
}

function contentOf(
  state: CatalogueState,
  route: Route,
  visible: readonly ListedTool[],
  onMoreFindings: () => void,
): readonly Child[] {
  if (state.problem !== null)
    return [element('p', { class: 'problem', role: 'alert' }, state.problem)];
  if (state.status === 'loading') return [element('p', { class: 'empty' }, 'Loading …')];
  // A name means a persona's own tool before a shared one, and any other if it is in neither.
  const owners = new Map(
    [
      ...state.tools,
      ...visible.filter(({ persona }) => persona === null),
      ...visible.filter(
        ({ persona }) => route.persona !== null && isSamePersona(persona, route.persona),
      ),
    ].map((tool) => [tool.name, tool.persona]),
  );
  const references: References = { route, ownerOfTool: (name) => owners.get(name) };
  if (route.view === 'skills') return skillsView(skillsFor(state, route), references);
  if (route.view === 'jobs') return jobsView(jobsFor(state, route), references);
  return state.findings === null ? [] : findingsView(state.findings, references, onMoreFindings);
}

function skillsFor({ skills }: CatalogueState, { persona }: Route): readonly ListedSkill[] {
  return (skills ?? []).filter(
    (skill) => skill.persona === null || persona === null || isSamePersona(skill.persona, persona),
  );
}

/**
 * Returns the jobs for a persona. A job's list of personas is its own rule beside its owner: an empty list allows no
 * persona in particular.
 */
function jobsFor({ jobs }: CatalogueState, { persona }: Route): readonly ListedJob[] {
  return (jobs ?? []).filter(
    (job) =>
      persona === null ||
      ((job.persona === null || isSamePersona(job.persona, persona)) &&
        job.personas.some((name) => isSamePersona(name, persona))),
  );
}

/** Returns all personas that own something or are named somewhere, each once however it is spelled; '' stands for all. */
function personasOf(
  { tools, skills, jobs }: CatalogueState,
  { persona }: Route,
): readonly string[] {
  const names = [
    ...tools.map((tool) => tool.persona),
    ...(skills ?? []).map((skill) => skill.persona),
    ...(jobs ?? []).flatMap((job) => [job.persona, ...job.personas]),
    ...tools.flatMap((tool) => tool.persona_allowlist ?? []),
  ];
  const bySpelling = new Map<string, string>();
  for (const name of [persona, ...names])
    if (name !== null && name.trim() !== '' && !bySpelling.has(name.trim().toLowerCase()))
      bySpelling.set(name.trim().toLowerCase(), name);
  return ['', ...[...bySpelling].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name)];
}

/** The links for the tools, skills and personas that skills and jobs refer to. */
interface References {
  readonly route: Route;
  /** Returns the owner of the tool with a name; `undefined` if there is none. */
  readonly ownerOfTool: (name: string) => string | null | undefined;
}

/** Shows skills with the tools they need. */
function skillsView(skills: readonly ListedSkill[], references: References): readonly Child[] {
  if (skills.length === 0)
    return [
      element(
        'p',
        { class: 'empty' },
        'There are no skills here. They are declared in skills.json.',
      ),
    ];
  return skills.map((skill) =>
    card(
      'skill',
      skill,
      references.route.name,
      skill.version,
      skill.summary !== null && element('p', {}, skill.summary),
      facts([
        ['tools', toolLinks(skill, references)],
        ['needs', words(skill.required_capabilities)],
        ['gives', words(skill.capability_tags)],
        ['category', words(skill.category === null ? [] : [skill.category])],
        ['safety', words([skill.safety_notes])],
      ]),
      element(
        'details',
        { 'data-key': `prompt:${skill.name}/${skill.persona ?? ''}` },
        element('summary', {}, 'Instructions'),
        foldedText(skill.instruction_prompt, `fold:${skill.name}/${skill.persona ?? ''}`),
      ),
    ),
  );
}

/** Shows jobs with the personas that may schedule them, and the skills and tools they need. */
function jobsView(jobs: readonly ListedJob[], references: References): readonly Child[] {
  if (jobs.length === 0)
    return [
      element('p', { class: 'empty' }, 'There are no jobs here. They are declared in jobs.json.'),
    ];
  return jobs.map((job) =>
    card(
      'job',
      job,
      references.route.name,
      null,
      element('p', {}, job.summary),
      job.description !== null &&
        foldedText(job.description, `fold:${job.name}/${job.persona ?? ''}`),
      facts([
        ['personas', words(job.personas)],
        [
          'skills',
          job.required_skills.map((name) =>
            reference(
              name,
              !job.unresolved.skills.includes(name),
              formatRoute({ ...references.route, view: 'skills', name, owner: null }),
            ),
          ),
        ],
        ['tools', toolLinks(job, references)],
        ['capabilities', words(job.required_capabilities)],
        ['health', words([healthWords(job.health.job)])],
      ]),
    ),
  );
}

function toolLinks(
  { required_tools, unresolved }: Pick<ListedJob, 'required_tools' | 'unresolved'>,
  { route, ownerOfTool }: References,
): readonly HTMLElement[] {
  return required_tools.map((name) =>
    reference(
      name,
      !unresolved.tools.includes(name),
      formatRoute({ ...route, view: 'tools', name, owner: ownerOfTool(name) ?? null }),
    ),
  );
}

function reference(name: string, isThere: boolean, address: string): HTMLElement {
  if (isThere) return element('a', { class: 'reference', href: address }, name);
  return element(
    'span',
    { class: 'reference unresolved', title: 'nothing of this name is in the catalogue' },
    element('bdi', {}, name),
    element('span', { class: 'tag warning' }, 'unresolved'),
  );
}

function words(values: readonly string[]): readonly HTMLElement[] {
  return values.map((value) => element('bdi', { class: 'word' }, value));
}

function card(
  kind: string,
  { name, persona }: { readonly name: string; readonly persona: string | null },
  meant: string | null,
  version: string | null,
  ...content: readonly Child[]
): HTMLElement {
  return element(
    'article',
    {
      class: 'card',
      'data-key': `${kind}:${name}/${persona ?? ''}`,
      tabindex: -1,
      'aria-label': name,
      'aria-current': name === meant && 'true',
    },
    element(
      'h3',
      {},
      element('bdi', {}, name),
      version !== null && element('span', { class: 'version' }, version),
      persona !== null && element('bdi', { class: 'tag owner' }, persona),
    ),
    ...content,
  );
}

function facts(list: readonly (readonly [string, readonly HTMLElement[]])[]): HTMLElement {
  return element(
    'dl',
    { class: 'facts' },
    ...list
      .filter(([, values]) => values.length > 0)
      .flatMap(([label, values]) => [
        element('dt', {}, label),
        element('dd', { class: 'values' }, ...values),
      ]),
  );
}

const ORDER = ['error', 'warning', 'info'];
const SEVERITIES: Readonly<Record<string, string>> = {
  error: 'Errors',
  warning: 'Warnings',
  info: 'Notes',
};

/** Shows the problems in manifests and metadata, the worst first, with where to fix them; further ones come on demand. */
function findingsView(
  { findings, severities, total, next }: FindingsWire,
  references: References,
  onMore: () => void,
): readonly Child[] {
  if (findings.length === 0)
    return [
      element(
        'p',
        { class: 'empty' },
        'Nothing to fix: every entry is valid, and every reference leads somewhere.',
      ),
    ];
  const shown = [...new Set([...ORDER, ...findings.map(({ severity }) => severity)])];
  return [
    ...shown.flatMap((severity) => {
      const these = findings.filter((finding) => finding.severity === severity);
      if (these.length === 0) return [];
      const title = Object.hasOwn(SEVERITIES, severity) ? SEVERITIES[severity] : severity;
      const count = Object.hasOwn(severities, severity) ? severities[severity]! : these.length;
      return [
        element(
          'h2',
          { class: 'findings-title' },
          `${title} `,
          element('span', { class: 'count' }, count.toLocaleString('en')),
        ),
        element(
          'ul',
          { class: 'findings', 'data-level': severity },
          ...these.map((finding) => findingRow(finding, references)),
        ),
      ];
    }),
    next !== null &&
      button(`Show more (${(total - findings.length).toLocaleString('en')} left)`, onMore, {
        class: 'quiet',
        'data-key': 'more-findings',
      }),
  ];
}

function findingRow(finding: FindingWire, { route, ownerOfTool }: References): HTMLElement {
  const name = finding.name ?? null;
  const owner = name === null ? undefined : (finding.persona ?? ownerOfTool(name));
  return element(
    'li',
    { class: 'finding' },
    element(
      'div',
      { class: 'finding-head' },
      name !== null &&
        (owner === undefined
          ? element('bdi', { class: 'finding-name' }, name)
          : element(
              'a',
              {
                class: 'finding-name',
                href: formatRoute({ ...route, view: 'tools', name, owner }),
              },
              name,
            )),
      element('span', { class: 'muted' }, finding.rule ?? finding.kind ?? ''),
    ),
    element('p', {}, finding.message),
    placeOf(finding) !== '' &&
      element('p', { class: 'place' }, element('bdi', {}, placeOf(finding))),
  );
}

/** Returns `file:line:column /pointer`, as editors and terminals open it. */
function placeOf({ source, line, column, path }: FindingWire): string {
  if (source === undefined || source === null || source === 'code') return '';
  const position = [source, line, column]
    .filter((part) => part !== null && part !== undefined)
    .join(':');
  return path === undefined || path === null || path === '' ? position : `${position}  ${path}`;
}
