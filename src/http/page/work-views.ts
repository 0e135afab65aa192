import { html } from 'htm/preact';
import type { JobWire, SkillWire, TaskWire } from '../../capability/wire-types.js';
import type { FindingWire } from '../findings.js';
import type { List } from './api.js';
import { Facts, fold, healthWords, number, prose, useFocus, type Fact } from './parts.js';
import { currentRoute, hrefOf } from './route.js';

/** A skill, task or job. Each kind has some of these fields. */
export type Work = SkillWire &
  Partial<Omit<TaskWire & JobWire, keyof SkillWire>> &
  Partial<Record<'category' | 'instruction_prompt' | 'safety_notes', string | null>>;

/** Shows skills, tasks or jobs with their requirements. */
export function workView({ items }: List<Work>) {
  const { view } = currentRoute();
  if (items.length === 0)
    return html`<p class="empty">There are no ${view} here. They are declared in ${view}.json.</p>`;
  return items.map(
    (item) => html`<${Card} key=${`${view} ${item.name}/${item.persona}`} item=${item} />`,
  );
}

function Card({ item }: { readonly item: Work }) {
  const { name, persona, unresolved, health, summary, description } = item;
  const isOpen = currentRoute().parameters.get('open') === name;
  const place = useFocus(isOpen);
  const links = (view: 'tools' | 'skills', names: readonly string[] = []) =>
    names.map((each) =>
      unresolved[view].includes(each)
        ? html`<span class="unresolved" title="the catalogue has nothing with this name">
            ${each} <span class="tag warning">unresolved</span>
          </span>`
        : html`<a href=${hrefOf(view, each, persona)}>${each}</a>`,
    );
  const facts: readonly Fact[] = [
    ['personas', item.personas],
    ['skills', links('skills', item.required_skills)],
    ['tools', links('tools', item.required_tools)],
    ['capabilities', item.required_capabilities],
    ['gives', item.capability_tags],
    ['category', item.category],
    ['safety', item.safety_notes],
    ['tags', item.tags],
    ['health', health && healthWords(health.job)],
  ];
  return html`<article
    class="card"
    tabindex="-1"
    ref=${place}
    aria-label=${name}
    aria-current=${isOpen ? 'true' : undefined}
  >
    <h2>
      <bdi>${name}</bdi>
      <span class="version">${item.version}</span>
      ${persona !== null && html`<bdi class="tag owner">${persona}</bdi>`}
    </h2>
    <p>${summary}</p>
    ${prose(description ?? '')}
    <${Facts} facts=${facts} />
    ${item.instruction_prompt != null && fold('Instructions', prose(item.instruction_prompt))}
  </article>`;
}

const TITLES: Readonly<Record<string, string>> = { error: 'Errors', warning: 'Warnings' };

/** Shows findings with their files and lines, worst first. */
export function findingsView({ items, severities = {} }: List<FindingWire>) {
  if (items.length === 0)
    return html`<p class="empty">
      Nothing to fix: every entry is valid, and every reference resolves.
    </p>`;
  return Object.entries(TITLES).map(([severity, title]) => {
    const found = items.filter((finding) => finding.severity === severity);
    return (
      found.length > 0 &&
      html`<h2 class="findings-title">
          ${title} <span class="count">${number(severities[severity] ?? found.length)}</span>
        </h2>
        <ol class="findings ${severity}" aria-label=${title}>
          ${found.map(findingRow)}
        </ol>`
    );
  });
}

function findingRow(finding: FindingWire) {
  const { name, persona, rule, kind, message, source, line, column, path } = finding;
  // `file:line:column /pointer`, in the form that editors and terminals can open.
  const place = [source === 'code' ? null : source, line, column].filter((part) => part !== null);
  return html`<li class="finding">
    <div class="finding-head">
      ${
        // A tool with lint findings has a page. A skipped manifest entry has no page.
        rule === null || name === null
          ? html`<bdi class="finding-name">${name}</bdi>`
          : html`<a class="finding-name" href=${hrefOf('tools', name, persona)}>${name}</a>`
      }
      <span class="muted">${rule ?? kind}</span>
    </div>
    <p>${message}</p>
    <p class="place"><bdi>${place.join(':')} ${path}</bdi></p>
  </li>`;
}
