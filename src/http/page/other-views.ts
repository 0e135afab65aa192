import { html } from 'htm/preact';
import type { Finding, Job, ListPage, Skill, Task } from './api.js';
import { FoldedText, healthWords, number } from './marks.js';
import { formatRoute, type Route } from './route.js';

interface ViewProps<Item> {
  readonly route: Route;
  readonly answer: ListPage & { readonly items: readonly Item[] };
}

type Work = Skill | Task | Job;

/** Shows skills, tasks or jobs with their requirements. */
export function WorkView({ route, answer: { items } }: ViewProps<Work>) {
  const { view } = route;
  if (items.length === 0)
    return html`<p class="empty">There are no ${view} here. They are declared in ${view}.json.</p>`;
  return items.map(
    (item) =>
      html`<${Card} key=${`${view} ${item.name}/${item.persona}`} route=${route} item=${item} />`,
  );
}

function Card({ route, item }: { readonly route: Route; readonly item: Work }) {
  const { name, persona, required_tools: tools, unresolved } = item;
  const links = (view: 'tools' | 'skills', names: readonly string[]) =>
    names.map((each) =>
      unresolved[view].includes(each)
        ? html`<span class="reference unresolved" title="the catalogue has nothing with this name">
            <bdi>${each}</bdi><span class="tag warning">unresolved</span>
          </span>`
        : html`<a
            class="reference"
            href=${formatRoute({ ...route, view, name: each, owner: persona })}
            >${each}</a
          >`,
    );
  const facts: readonly (readonly [string, unknown])[] = [
    ['personas', 'personas' in item && words(item.personas)],
    ['skills', 'required_skills' in item && links('skills', item.required_skills)],
    ['tools', links('tools', tools)],
    [
      'personas' in item ? 'capabilities' : 'needs',
      'required_capabilities' in item && words(item.required_capabilities),
    ],
    ['gives', 'capability_tags' in item && words(item.capability_tags)],
    ['category', 'category' in item && words([item.category])],
    ['safety', 'safety_notes' in item && words([item.safety_notes])],
    ['tags', 'tags' in item && words(item.tags)],
    ['health', 'health' in item && words([healthWords(item.health.job)])],
  ];
  return html`<article
    class="card"
    tabindex="-1"
    aria-label=${name}
    aria-current=${name === route.name ? 'true' : undefined}
  >
    <h2>
      <bdi>${name}</bdi>
      ${'version' in item && html`<span class="version">${item.version}</span>`}
      ${persona !== null && html`<bdi class="tag owner">${persona}</bdi>`}
    </h2>
    ${item.summary !== null && html`<p>${item.summary}</p>`}
    ${'description' in item && item.description !== null && html`<${FoldedText} text=${item.description} />`}
    <dl class="facts">
      ${facts
        .filter(([, values]) => Array.isArray(values) && values.length > 0)
        .map(
          ([label, values]) =>
            html`<dt>${label}</dt>
              <dd class="values">${values}</dd>`,
        )}
    </dl>
    ${
      'instruction_prompt' in item &&
      html`<details>
        <summary>Instructions</summary>
        <${FoldedText} text=${item.instruction_prompt} />
      </details>`
    }
  </article>`;
}

function words(values: readonly (string | null)[]) {
  return values
    .filter((value) => value !== null)
    .map((value) => html`<bdi class="word">${value}</bdi>`);
}

const SEVERITIES = new Map([
  ['error', 'Errors'],
  ['warning', 'Warnings'],
]);

/** Shows findings with their places, worst first. A button loads more. */
export function FindingsView({
  route,
  answer: { items, severities = {}, total, next },
  onMore,
}: ViewProps<Finding> & { readonly onMore: () => void }) {
  if (items.length === 0)
    return html`<p class="empty">
      Nothing to fix: every entry is valid, and every reference resolves.
    </p>`;
  const shown = [...new Set([...SEVERITIES.keys(), ...items.map(({ severity }) => severity)])];
  return html`
    ${shown.map((severity) => {
      const these = items.filter((finding) => finding.severity === severity);
      const count = Object.hasOwn(severities, severity) ? severities[severity]! : these.length;
      return (
        these.length > 0 &&
        html`<h2 class="findings-title">
            ${SEVERITIES.get(severity) ?? severity} <span class="count">${number(count)}</span>
          </h2>
          <ul class="findings" data-level=${severity}>
            ${these.map((finding) => html`<${FindingRow} route=${route} finding=${finding} />`)}
          </ul>`
      );
    })}
    ${
      next !== null &&
      html`<button type="button" class="quiet" onClick=${onMore}>
        Show more (${number(total - items.length)} left)
      </button>`
    }
  `;
}

function FindingRow({ route, finding }: { readonly route: Route; readonly finding: Finding }) {
  const { name, persona: owner, rule, kind, message, source, line, column, path } = finding;
  // A tool with lint findings exists. An entry that was skipped doesn't.
  const title =
    rule === null
      ? html`<bdi class="finding-name">${name}</bdi>`
      : html`<a class="finding-name" href=${formatRoute({ ...route, view: 'tools', name, owner })}
          >${name}</a
        >`;
  // `file:line:column /pointer`, in the form that editors and terminals can open.
  const place = [source === 'code' ? null : source, line, column]
    .filter((part) => part !== null)
    .join(':');
  return html`<li class="finding">
    <div class="finding-head">
      ${name !== null && title}<span class="muted">${rule ?? kind}</span>
    </div>
    <p>${message}</p>
    ${place !== '' && html`<p class="place"><bdi>${[place, path].filter(Boolean).join('  ')}</bdi></p>`}
  </li>`;
}
