import { describeValue } from '../../core/plain-data.js';
import { suggestNames } from '../../core/issues.js';
import type { CapabilityJob, CapabilitySkill, CapabilityTask, CapabilityTool, LiveFacts, Unresolved } from './capability-items.js';
import { findingAt, type CapabilityFinding } from '../manifest/manifest-issue.js';
import { normalizeCapabilities } from '../manifest/define-entry.js';
import { type CheckedWork, checkWork, type RawWork } from './read-work.js';
import { OwnedNames } from './owned-names.js';

export interface ResolvedWork {
  readonly skills: OwnedNames<CapabilitySkill>;
  readonly tasks: OwnedNames<CapabilityTask>;
  readonly jobs: OwnedNames<CapabilityJob>;
  readonly findings: readonly CapabilityFinding[];
}

type Referable = { readonly owner: string | null; readonly name: string };

/**
 * Makes skills, tasks and jobs out of entries: merged, checked, and with their references resolved. A reference that
 * leads nowhere is a warning.
 */
export function resolveWork(entries: readonly RawWork[], tools: OwnedNames<CapabilityTool>, live: LiveFacts): ResolvedWork {
  const findings: CapabilityFinding[] = [];
  const of = <Kind extends RawWork['kind']>(kind: Kind): readonly CheckedWork<Kind>[] => {
    const { checked, findings: found } = checkWork(kind, entries.filter((each) => each.kind === kind));
    findings.push(...found);
    return checked;
  };
  const missing = (work: CheckedWork, key: string, what: string, names: readonly string[], known: OwnedNames<Referable>): readonly string[] =>
    Object.freeze(
      names.filter((name, index) => {
        if (known.seenBy(work.raw.owner, name) !== undefined) return false;
        findings.push(danglingReference(work, key, index, what, name, known));
        return true;
      }),
    );

  const skills = new OwnedNames(
    of('skill').map((work): CapabilitySkill => {
      const { raw, name, manifest } = work;
      const requiredTools = namesIn(manifest.required_tools);
      const unresolved = freezeUnresolved({ tools: missing(work, 'required_tools', 'a tool', requiredTools, tools) });
      const seen = seenTools(tools, raw.owner, requiredTools);
      return Object.freeze({
        ...basics(work, requiredTools, unresolved),
        name,
        manifest,
        version: manifest.version,
        capabilityTags: tags(manifest.capability_tags),
        requiredCapabilities: tags(manifest.required_capabilities),
        get available() {
          return unresolved.tools.length === 0 && seen.every((tool) => tool.available);
        },
      });
    }),
  );

  const tasks = new OwnedNames(
    of('task').map((work): CapabilityTask => {
      const { name, manifest } = work;
      const requiredSkills = namesIn(manifest.required_skills);
      const requiredTools = namesIn(manifest.required_tools);
      const unresolved = freezeUnresolved({ skills: missing(work, 'required_skills', 'a skill', requiredSkills, skills), tools: missing(work, 'required_tools', 'a tool', requiredTools, tools) });
      const parts = partsOf(work, requiredSkills, requiredTools, skills, tools);
      return Object.freeze({
        ...basics(work, requiredTools, unresolved),
        name,
        manifest,
        requiredSkills,
        tags: tags(manifest.tags),
        get available() {
          return isComplete(unresolved) && parts.every((part) => part.available);
        },
      });
    }),
  );

  const jobs = new OwnedNames(
    of('job').map((work): CapabilityJob => {
      const { raw, name, manifest } = work;
      const requiredSkills = namesIn(manifest.required_skills);
      const requiredTools = namesIn(manifest.required_tools);
      const unresolved = freezeUnresolved({
        skills: missing(work, 'required_skills', 'a skill', requiredSkills, skills),
        tools: missing(work, 'required_tools', 'a tool', requiredTools, tools),
        tasks: missing(work, 'task_graph', 'a task', namesIn(manifest.task_graph.map(({ task }) => task)), tasks),
      });
      findings.push(...stepFaults(work));
      const parts = partsOf(work, requiredSkills, requiredTools, skills, tools);
      return Object.freeze({
        ...basics(work, requiredTools, unresolved),
        name,
        manifest,
        personas: namesIn(manifest.personas),
        requiredSkills,
        requiredCapabilities: Object.freeze(normalizeCapabilities(parts.flatMap((part) => ('requiredCapabilities' in part ? [...part.requiredCapabilities, ...part.capabilityTags] : part.capabilityTags)))),
        get health() {
          return live.ledger.job(raw.owner, name);
        },
        get available() {
          return isComplete(unresolved) && parts.every((part) => part.available);
        },
      });
    }),
  );
  return { skills, tasks, jobs, findings };
}

/** Returns the skills and tools that work needs and that exist: the skills first, each in the order given. */
function partsOf({ raw }: CheckedWork, skillNames: readonly string[], toolNames: readonly string[], skills: OwnedNames<CapabilitySkill>, tools: OwnedNames<CapabilityTool>): readonly (CapabilitySkill | CapabilityTool)[] {
  return [...skillNames.flatMap((name) => skills.seenBy(raw.owner, name) ?? []), ...seenTools(tools, raw.owner, toolNames)];
}

function seenTools(tools: OwnedNames<CapabilityTool>, owner: string | null, names: readonly string[]): readonly CapabilityTool[] {
  return names.flatMap((name) => tools.seenBy(owner, name) ?? []);
}

function basics({ raw }: CheckedWork, requiredTools: readonly string[], unresolved: Unresolved) {
  return { owner: raw.owner, source: raw.file, requiredTools, unresolved };
}

/** Returns true for work with all its skills and tools. A job can be done without descriptions of its tasks. */
function isComplete({ skills, tools }: Unresolved): boolean {
  return skills.length === 0 && tools.length === 0;
}

function freezeUnresolved({ skills = [], tools = [], tasks = [] }: Partial<Unresolved>): Unresolved {
  return Object.freeze({ skills, tools, tasks });
}

function namesIn(names: readonly string[]): readonly string[] {
  return Object.freeze(names.map((name) => name.trim()));
}

function tags(values: readonly string[] = []): readonly string[] {
  return Object.freeze(normalizeCapabilities(values));
}

function danglingReference({ raw, name }: CheckedWork, key: string, index: number, what: string, missing: string, known: OwnedNames<Referable>): CapabilityFinding {
  const owners = known.ownersOf(missing).map(({ owner }) => owner);
  const names = owners.length > 0 ? [] : suggestNames(missing, [...new Set(known.all.map((each) => each.name))]);
  const whose = raw.owner === null ? 'shared' : `of ${raw.owner} or shared`;
  const hint = owners.length > 0 ? `, which only ${owners.join(', ')} ${owners.length === 1 ? 'has' : 'have'}.` : names.length > 0 ? `. Did you mean ${names.join(' or ')}?` : '.';
  return findingAt(raw.placeOf([key, index]), 'dangling', 'warning', `Expected ${what} that is ${whose}, got ${describeValue(missing)}${hint}`, name);
}

/** Returns warnings for steps that depend on a missing step: they would wait for ever. */
function stepFaults({ raw, name, manifest }: CheckedWork<'job'>): readonly CapabilityFinding[] {
  const { task_graph: steps } = manifest;
  const there = new Set(steps.map(({ task }) => task.trim()));
  return steps.flatMap(({ depends_on: needed = [] }, step) =>
    needed.flatMap((each, index) => (there.has(each.trim()) ? [] : [findingAt(raw.placeOf(['task_graph', step, 'depends_on', index]), 'dangling', 'warning', `Expected a step of this job, got ${describeValue(each)}.`, name)])),
  );
}
