import { describeValue } from '../../core/plain-data.js';
import { didYouMean, findingAt, type CapabilityFinding } from '../manifest/manifest-issue.js';
import {
  checkWork,
  type CheckedWork,
  type JobManifest,
  type RawWork,
  type TaskManifest,
  type WorkKind,
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
const NONE = new OwnedNames<never>([]);

/**
 * Converts entries to skills, tasks and jobs. Merges and checks the entries, and resolves their
 * references. A dangling reference is a warning.
 */
export function resolveWork(
  entries: readonly RawWork[],
  tools: OwnedNames<CapabilityTool>,
  live: LiveFacts,
): ResolvedWork {
  const findings: CapabilityFinding[] = [];
  const skills = new OwnedNames(
    checkWork('skill', entries, findings).map((work) =>
      skillOf(work, resolve(work, { tools, skills: NONE, tasks: NONE }, findings)),
    ),
  );
  const tasks = new OwnedNames(
    checkWork('task', entries, findings).map((work) =>
      taskOf(work, resolve(work, { tools, skills, tasks: NONE }, findings)),
    ),
  );
  const jobs = new OwnedNames(
    checkWork('job', entries, findings).map((work) =>
      jobOf(work, resolve(work, { tools, skills, tasks }, findings), live),
    ),
  );
  return { skills, tasks, jobs, findings };
}

interface Resolved {
  readonly basics: Pick<
    CapabilitySkill,
    'owner' | 'source' | 'name' | 'requiredTools' | 'tools' | 'unresolved'
  >;
  readonly requiredSkills: readonly string[];
  readonly parts: readonly (CapabilitySkill | CapabilityTool)[];
  readonly isAvailable: () => boolean;
}

/**
 * Resolves an item's requirements. Tasks in a job's graph needn't have a manifest for the job to be
 * available.
 */
function resolve<Kind extends WorkKind>(
  { raw, manifest }: CheckedWork<Kind>,
  items: {
    readonly tools: OwnedNames<CapabilityTool>;
    readonly skills: OwnedNames<CapabilitySkill>;
    readonly tasks: Known;
  },
  findings: CapabilityFinding[],
): Resolved {
  const { owner, file: source, kind } = raw;
  const { name, required_tools: requiredTools } = manifest;
  const requiredSkills =
    kind === 'skill' ? [] : (manifest as unknown as TaskManifest).required_skills;
  const steps = kind === 'job' ? (manifest as unknown as JobManifest).task_graph : [];
  const missing = (key: keyof typeof WHAT, names: readonly string[], among: Known) => {
    const found: string[] = [];
    for (const [index, each] of names.entries()) {
      if (among.seenBy(owner, each) !== undefined) continue;
      findings.push(danglingReference(raw, name, [key, index], each, among));
      found.push(each);
    }
    return Object.freeze(found);
  };
  const unresolved = Object.freeze({
    skills: missing('required_skills', requiredSkills, items.skills),
    tools: missing('required_tools', requiredTools, items.tools),
    tasks: missing(
      'task_graph',
      steps.map(({ task }) => task),
      items.tasks,
    ),
  });
  const parts = [
    ...requiredSkills.flatMap((each) => items.skills.seenBy(owner, each) ?? []),
    ...requiredTools.flatMap((each) => items.tools.seenBy(owner, each) ?? []),
  ];
  const needed = new Set(parts.flatMap((part) => ('tools' in part ? part.tools : part)));
  return {
    basics: { owner, source, name, requiredTools, tools: [...needed], unresolved },
    requiredSkills,
    parts,
    isAvailable: () =>
      unresolved.skills.length + unresolved.tools.length === 0 &&
      parts.every((part) => part.available),
  };
}

function skillOf({ manifest }: CheckedWork<'skill'>, { basics, isAvailable }: Resolved) {
  const { version, capability_tags: tags, required_capabilities: required } = manifest;
  const skill: CapabilitySkill = {
    ...basics,
    manifest,
    version,
    capabilityTags: tagsOf(tags),
    requiredCapabilities: tagsOf(required),
    get available() {
      return isAvailable();
    },
  };
  return Object.freeze(skill);
}

function taskOf(
  { manifest }: CheckedWork<'task'>,
  { basics, requiredSkills, isAvailable }: Resolved,
) {
  const task: CapabilityTask = {
    ...basics,
    manifest,
    requiredSkills,
    tags: tagsOf(manifest.tags),
    get available() {
      return isAvailable();
    },
  };
  return Object.freeze(task);
}

function jobOf(
  { manifest }: CheckedWork<'job'>,
  { basics, requiredSkills, parts, isAvailable }: Resolved,
  { ledger }: LiveFacts,
) {
  const { owner, name } = basics;
  const capabilities = parts.flatMap((part) => [
    ...('requiredCapabilities' in part ? part.requiredCapabilities : []),
    ...part.capabilityTags,
  ]);
  const job: CapabilityJob = {
    ...basics,
    manifest,
    personas: manifest.personas,
    requiredSkills,
    requiredCapabilities: tagsOf(capabilities),
    get health() {
      return ledger.job(owner, name);
    },
    get lastRun() {
      return ledger.lastRun(owner, name);
    },
    get available() {
      return isAvailable();
    },
  };
  return Object.freeze(job);
}

/** The fields that refer to other items, and the kind of item that each field refers to. */
const WHAT = { required_skills: 'skill', required_tools: 'tool', task_graph: 'task' };

function danglingReference(
  { owner, placeOf }: RawWork,
  name: string,
  path: readonly [key: keyof typeof WHAT, index: number],
  missing: string,
  items: Known,
): CapabilityFinding {
  const owners = items.ownersOf(missing).map((each) => each.owner);
  const whose = owner === null ? 'shared items' : `items of ${owner} and the shared items`;
  const names = items.all.map((each) => each.name);
  const hint =
    owners.length > 0
      ? `; only ${owners.join(', ')} ${owners.length === 1 ? 'has' : 'have'} it.`
      : `.${didYouMean(missing, names)}`;
  const message = `There is no ${WHAT[path[0]]} called ${describeValue(missing)} among the ${whose}${hint}`;
  return findingAt(placeOf(path), 'dangling', 'warning', message, name);
}
