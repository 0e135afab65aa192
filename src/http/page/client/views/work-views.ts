import type { WireJob, WireSkill } from '../data/wire.js';
import { element, type Child } from '../dom/element.js';
import { foldedText } from '../dom/folded-text.js';
import { formatRoute, type Route } from '../state/route.js';
import { healthWords } from './marks.js';

/** The links for the tools, skills and personas that skills and jobs refer to. */
export interface References {
  readonly route: Route;
  /** Returns the owner of the tool with a name; `undefined` if there is none. */
  readonly ownerOfTool: (name: string) => string | null | undefined;
}

/** Shows skills with the tools they need. */
export function skillsView(skills: readonly WireSkill[], references: References): readonly Child[] {
  if (skills.length === 0) return [element('p', { class: 'empty' }, 'There are no skills here. They are declared in skills.json.')];
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
      element('details', { 'data-key': `prompt:${skill.name}/${skill.persona ?? ''}` }, element('summary', {}, 'Instructions'), foldedText(skill.instruction_prompt, `fold:${skill.name}/${skill.persona ?? ''}`)),
    ),
  );
}

/** Shows jobs with the personas that may schedule them, and the skills and tools they need. */
export function jobsView(jobs: readonly WireJob[], references: References): readonly Child[] {
  if (jobs.length === 0) return [element('p', { class: 'empty' }, 'There are no jobs here. They are declared in jobs.json.')];
  return jobs.map((job) =>
    card(
      'job',
      job,
      references.route.name,
      null,
      element('p', {}, job.summary),
      job.description !== null && foldedText(job.description, `fold:${job.name}/${job.persona ?? ''}`),
      facts([
        ['personas', words(job.personas)],
        ['skills', job.required_skills.map((name) => reference(name, !job.unresolved.skills.includes(name), formatRoute({ ...references.route, view: 'skills', name, owner: null })))],
        ['tools', toolLinks(job, references)],
        ['capabilities', words(job.required_capabilities)],
        ['health', words([healthWords(job.health.job)])],
      ]),
    ),
  );
}

function toolLinks({ required_tools, unresolved }: Pick<WireJob, 'required_tools' | 'unresolved'>, { route, ownerOfTool }: References): readonly HTMLElement[] {
  return required_tools.map((name) => reference(name, !unresolved.tools.includes(name), formatRoute({ ...route, view: 'tools', name, owner: ownerOfTool(name) ?? null })));
}

function reference(name: string, isThere: boolean, address: string): HTMLElement {
  if (isThere) return element('a', { class: 'reference', href: address }, name);
  return element('span', { class: 'reference unresolved', title: 'nothing of this name is in the catalogue' }, element('bdi', {}, name), element('span', { class: 'tag warning' }, 'unresolved'));
}

function words(values: readonly string[]): readonly HTMLElement[] {
  return values.map((value) => element('bdi', { class: 'word' }, value));
}

function card(kind: string, { name, persona }: { readonly name: string; readonly persona: string | null }, meant: string | null, version: string | null, ...content: readonly Child[]): HTMLElement {
  return element(
    'article',
    { class: 'card', 'data-key': `${kind}:${name}/${persona ?? ''}`, tabindex: -1, 'aria-label': name, 'aria-current': name === meant && 'true' },
    element('h3', {}, element('bdi', {}, name), version !== null && element('span', { class: 'version' }, version), persona !== null && element('bdi', { class: 'tag owner' }, persona)),
    ...content,
  );
}

function facts(list: readonly (readonly [string, readonly HTMLElement[]])[]): HTMLElement {
  return element('dl', { class: 'facts' }, ...list.filter(([, values]) => values.length > 0).flatMap(([label, values]) => [element('dt', {}, label), element('dd', { class: 'values' }, ...values)]));
}
