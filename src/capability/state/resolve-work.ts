import { describeValue } from '../../core/plain-data.js';
import { normalizeCapabilities } from '../manifest/define-entry.js';
import { findingAt, type CapabilityFinding } from '../manifest/manifest-issue.js';
import {
  OwnedNames,
  type CapabilityJob,
  type CapabilitySkill,
  type CapabilityTask,
  type CapabilityTool,
  type LiveFacts,
} from './capability-items.js';
import { checkWork, didYouMean, type CheckedWork, type RawWork } from './read-work.js';

export interface ResolvedWork {
  readonly skills: OwnedNames<CapabilitySkill>;
  readonly tasks: OwnedNames<CapabilityTask>;
  readonly jobs: OwnedNames<CapabilityJob>;
  readonly findings: readonly CapabilityFinding[];
}

type Known = OwnedNames<{ readonly owner: string | null; readonly name: string }>;

/**
 * Makes skills, tasks and jobs out of entries: merged, checked, and with their references resolved. A reference that
 * leads nowhere is a warning.
 */
export function resolveWork(
  entries: readonly RawWork[],
  tools: OwnedNames<CapabilityTool>,
  live: LiveFacts,
): ResolvedWork {
  const findings: CapabilityFinding[] = [];
  const missing = (
    work: CheckedWork,
    key: string,
    what: string,
    names: readonly string[],
    known: Known,
  ): readonly string[] =>
    Object.freeze(
      names.filter((name, index) => {
        if (known.seenBy(work.raw.owner, name) !== undefined) return false;
        findings.push(danglingReference(work, key, index, what, name, known));
        return true;
      }),
    );
  /** Resolves what work needs. A job can be done without descriptions of its tasks. */
  const resolve = (work: CheckedWork, skills: OwnedNames<CapabilitySkill>, tasks?: Known) => {
    const { raw, manifest } = work;
    const { owner } = raw;
    const requiredSkills = namesIn('required_skills' in manifest ? manifest.required_skills : []);
    const requiredTools = namesIn(manifest.required_tools);
    const unresolved = Object.freeze({
      skills: missing(work, 'required_skills', 'a skill', requiredSkills, skills),
      tools: missing(work, 'required_tools', 'a tool', requiredTools, tools),
      tasks:
        tasks === undefined || !('task_graph' in manifest)
          ? NONE
          : missing(
              work,
              'task_graph',
              'a task',
              namesIn(manifest.task_graph.map(({ task }) => task)),
              tasks,
            ),
    });
    const parts = [
      ...requiredSkills.flatMap((name) => skills.seenBy(owner, name) ?? []),
      ...requiredTools.flatMap((name) => tools.seenBy(owner, name) ?? []),
    ];
    const isAvailable = () =>
      unresolved.skills.length === 0 &&
      unresolved.tools.length === 0 &&
      parts.every((part) => part.available);
    return {
      basics: { owner, source: raw.file, requiredTools, unresolved },
      requiredSkills,
      parts,
      isAvailable,
    };
  };

  const noSkills = new OwnedNames<CapabilitySkill>([]);
  const skills = new OwnedNames(
    checkWork('skill', entries, findings).map((work): CapabilitySkill => {
      const { name, manifest } = work;
      const { basics, isAvailable } = resolve(work, noSkills);
      return Object.freeze({
        ...basics,
        name,
        manifest,
        version: manifest.version,
        capabilityTags: tags(manifest.capability_tags),
        requiredCapabilities: tags(manifest.required_capabilities),
        get available() {
          return isAvailable();
        },
      });
    }),
  );
  const tasks = new OwnedNames(
    checkWork('task', entries, findings).map((work): CapabilityTask => {
      const { name, manifest } = work;
      const { basics, requiredSkills, isAvailable } = resolve(work, skills);
      return Object.freeze({
        ...basics,
        name,
        manifest,
        requiredSkills,
        tags: tags(manifest.tags),
        get available() {
          return isAvailable();
        },
      });
    }),
  );
  const jobs = new OwnedNames(
    checkWork('job', entries, findings).map((work): CapabilityJob => {
      const { raw, name, manifest } = work;
      const { basics, requiredSkills, parts, isAvailable } = resolve(work, skills, tasks);
      findings.push(...stepFaults(work));
      return Object.freeze({
        ...basics,
        name,
        manifest,
        personas: namesIn(manifest.personas),
        requiredSkills,
        requiredCapabilities: tags(
          parts.flatMap((part) =>
            'requiredCapabilities' in part
              ? [...part.requiredCapabilities, ...part.capabilityTags]
              : part.capabilityTags,
          ),
        ),
        get health() {
          return live.ledger.job(raw.owner, name);
        },
        get available() {
          return isAvailable();
        },
      });
    }),
  );
  return { skills, tasks, jobs, findings };
}

const NONE: readonly never[] = Object.freeze([]);

function namesIn(names: readonly string[]): readonly string[] {
  return Object.freeze(names.map((name) => name.trim()));
}

function tags(values: readonly string[] = []): readonly string[] {
  return Object.freeze(normalizeCapabilities(values));
}

function danglingReference(
  { raw, name }: CheckedWork,
  key: string,
  index: number,
  what: string,
  missing: string,
  known: Known,
): CapabilityFinding {
  const owners = known.ownersOf(missing).map(({ owner }) => owner);
  const whose = raw.owner === null ? 'shared' : `of ${raw.owner} or shared`;
  const hint =
    owners.length > 0
      ? `, which only ${owners.join(', ')} ${owners.length === 1 ? 'has' : 'have'}.`
      : `.${didYouMean(
          missing,
          known.all.map((each) => each.name),
        )}`;
  return findingAt(
    raw.placeOf([key, index]),
    'dangling',
    'warning',
    `Expected ${what} that is ${whose}, got ${describeValue(missing)}${hint}`,
    name,
  );
}

/** Returns warnings for steps that depend on a missing step: they would wait for ever. */
function stepFaults({
  raw,
  name,
  manifest: { task_graph: steps },
}: CheckedWork<'job'>): readonly CapabilityFinding[] {
  const there = new Set(steps.map(({ task }) => task.trim()));
  return steps.flatMap(({ depends_on: needed = [] }, step) =>
    needed.flatMap((each, index) =>
      there.has(each.trim())
        ? []
        : [
            findingAt(
              raw.placeOf(['task_graph', step, 'depends_on', index]),
              'dangling',
              'warning',
              `Expected a step of this job, got ${describeValue(each)}.`,
              name,
            ),
          ],
    ),
  );
}
