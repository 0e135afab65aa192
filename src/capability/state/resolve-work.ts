import { describeValue } from '../../core/plain-data.js';
import { findingAt, type CapabilityFinding } from '../manifest/manifest-issue.js';
import {
  checkWork,
  didYouMean,
  type CheckedWork,
  type JobManifest,
  type RawWork,
} from '../manifest/read-work.js';
import {
  OwnedNames,
  tagsOf,
  type CapabilityJob,
  type CapabilitySkill,
  type CapabilityTask,
  type CapabilityTool,
  type LiveFacts,
} from './capability-items.js';

export interface ResolvedWork {
  readonly skills: OwnedNames<CapabilitySkill>;
  readonly tasks: OwnedNames<CapabilityTask>;
  readonly jobs: OwnedNames<CapabilityJob>;
  readonly findings: readonly CapabilityFinding[];
}

type Known = OwnedNames<{ readonly owner: string | null; readonly name: string }>;

/**
 * Turns entries into skills, tasks and jobs: merged, checked, and with resolved references. A
 * dangling reference is a warning.
 */
export function resolveWork(
  entries: readonly RawWork[],
  tools: OwnedNames<CapabilityTool>,
  live: LiveFacts,
): ResolvedWork {
  const findings: CapabilityFinding[] = [];
  /** Resolves what an item needs. A job works without descriptions of its tasks. */
  const resolve = (work: CheckedWork, skills: OwnedNames<CapabilitySkill>, tasks: Known) => {
    const { raw, manifest } = work;
    const { owner, file: source } = raw;
    const needed = (key: keyof typeof WHAT, names: readonly string[], known: Known) => {
      const missing = names.flatMap((name, index) =>
        known.seenBy(owner, name) === undefined ? [{ name, index }] : [],
      );
      for (const each of missing) findings.push(danglingReference(work, key, each, known));
      return Object.freeze(missing.map(({ name }) => name));
    };
    const requiredSkills =
      'required_skills' in manifest ? namesIn(manifest['required_skills']) : [];
    const requiredTools = namesIn(manifest.required_tools);
    const steps = (manifest as Partial<JobManifest>).task_graph ?? [];
    const unresolved = Object.freeze({
      skills: needed('required_skills', requiredSkills, skills),
      tools: needed('required_tools', requiredTools, tools),
      tasks: needed('task_graph', namesIn(steps.map(({ task }) => task)), tasks),
    });
    const parts = [
      ...requiredSkills.flatMap((name) => skills.seenBy(owner, name) ?? []),
      ...requiredTools.flatMap((name) => tools.seenBy(owner, name) ?? []),
    ];
    return {
      basics: {
        owner,
        source,
        name: work.name,
        requiredTools,
        tools: [...new Set(parts.flatMap((part) => ('tools' in part ? part.tools : part)))],
        unresolved,
      },
      requiredSkills,
      parts,
      isAvailable: () =>
        unresolved.skills.length + unresolved.tools.length === 0 &&
        parts.every((part) => part.available),
    };
  };

  const none = new OwnedNames<never>([]);
  const skills = new OwnedNames(
    checkWork('skill', entries, findings).map((work): CapabilitySkill => {
      const { manifest } = work;
      const { basics, isAvailable } = resolve(work, none, none);
      return Object.freeze({
        ...basics,
        manifest,
        version: manifest.version,
        capabilityTags: tagsOf(manifest.capability_tags),
        requiredCapabilities: tagsOf(manifest.required_capabilities),
        get available() {
          return isAvailable();
        },
      });
    }),
  );
  const tasks = new OwnedNames(
    checkWork('task', entries, findings).map((work): CapabilityTask => {
      const { manifest } = work;
      const { basics, requiredSkills, isAvailable } = resolve(work, skills, none);
      return Object.freeze({
        ...basics,
        manifest,
        requiredSkills,
        tags: tagsOf(manifest.tags),
        get available() {
          return isAvailable();
        },
      });
    }),
  );
  const jobs = new OwnedNames(
    checkWork('job', entries, findings).map((work): CapabilityJob => {
      const { manifest, name } = work;
      const { basics, requiredSkills, parts, isAvailable } = resolve(work, skills, tasks);
      return Object.freeze({
        ...basics,
        manifest,
        personas: namesIn(manifest.personas),
        requiredSkills,
        requiredCapabilities: tagsOf(
          parts.flatMap((part) => [
            ...('requiredCapabilities' in part ? part.requiredCapabilities : []),
            ...part.capabilityTags,
          ]),
        ),
        get health() {
          return live.ledger.job(basics.owner, name);
        },
        get lastRun() {
          return live.ledger.lastRun(basics.owner, name);
        },
        get available() {
          return isAvailable();
        },
      });
    }),
  );
  return { skills, tasks, jobs, findings };
}

function namesIn(names: unknown): readonly string[] {
  return Object.freeze((names as readonly string[]).map((name) => name.trim()));
}

/** The fields that refer to other items, and the kind of item. */
const WHAT = { required_skills: 'a skill', required_tools: 'a tool', task_graph: 'a task' };

function danglingReference(
  { raw, name }: CheckedWork,
  key: keyof typeof WHAT,
  missing: { readonly name: string; readonly index: number },
  known: Known,
): CapabilityFinding {
  const owners = known.ownersOf(missing.name).map(({ owner }) => owner);
  const whose = raw.owner === null ? 'shared' : `of ${raw.owner} or shared`;
  const hint =
    owners.length > 0
      ? `, which only ${owners.join(', ')} ${owners.length === 1 ? 'has' : 'have'}.`
      : `.${didYouMean(
          missing.name,
          known.all.map((each) => each.name),
        )}`;
  return findingAt(
    raw.placeOf([key, missing.index]),
    'dangling',
    'warning',
    `${describeValue(missing.name)} is not ${WHAT[key]} that is ${whose}${hint}`,
    name,
  );
}
