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
  /**
   * Resolves an item's requirements. Tasks in a job's graph needn't have a manifest for the job to
   * be available.
   */
  const resolve = <Kind extends WorkKind>(
    { raw, manifest }: CheckedWork<Kind>,
    skills: OwnedNames<CapabilitySkill>,
    tasks: Known,
  ) => {
    const { owner, file: source, kind } = raw;
    const { name, required_tools: requiredTools } = manifest;
    const requiredSkills =
      kind === 'skill' ? [] : (manifest as unknown as TaskManifest).required_skills;
    const steps = kind === 'job' ? (manifest as unknown as JobManifest).task_graph : [];
    const missing = (key: keyof typeof WHAT, names: readonly string[], known: Known) =>
      Object.freeze(
        names.filter((each, index) => {
          const isMissing = known.seenBy(owner, each) === undefined;
          if (isMissing) findings.push(danglingReference(raw, name, [key, index], each, known));
          return isMissing;
        }),
      );
    const unresolved = Object.freeze({
      skills: missing('required_skills', requiredSkills, skills),
      tools: missing('required_tools', requiredTools, tools),
      tasks: missing(
        'task_graph',
        steps.map(({ task }) => task),
        tasks,
      ),
    });
    const parts = [
      ...requiredSkills.flatMap((each) => skills.seenBy(owner, each) ?? []),
      ...requiredTools.flatMap((each) => tools.seenBy(owner, each) ?? []),
    ];
    const needed = new Set(parts.flatMap((part) => ('tools' in part ? part.tools : part)));
    return {
      basics: { owner, source, name, manifest, requiredTools, tools: [...needed], unresolved },
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
      const { basics, isAvailable } = resolve(work, none, none);
      const { version, capability_tags: tags, required_capabilities: required } = work.manifest;
      return Object.freeze({
        ...basics,
        version,
        capabilityTags: tagsOf(tags),
        requiredCapabilities: tagsOf(required),
        get available() {
          return isAvailable();
        },
      });
    }),
  );
  const tasks = new OwnedNames(
    checkWork('task', entries, findings).map((work): CapabilityTask => {
      const { basics, requiredSkills, isAvailable } = resolve(work, skills, none);
      return Object.freeze({
        ...basics,
        requiredSkills,
        tags: tagsOf(work.manifest.tags),
        get available() {
          return isAvailable();
        },
      });
    }),
  );
  const jobs = new OwnedNames(
    checkWork('job', entries, findings).map((work): CapabilityJob => {
      const { basics, requiredSkills, parts, isAvailable } = resolve(work, skills, tasks);
      const { owner, name } = basics;
      const capabilities = parts.flatMap((part) => [
        ...('requiredCapabilities' in part ? part.requiredCapabilities : []),
        ...part.capabilityTags,
      ]);
      return Object.freeze({
        ...basics,
        personas: work.manifest.personas,
        requiredSkills,
        requiredCapabilities: tagsOf(capabilities),
        get health() {
          return live.ledger.job(owner, name);
        },
        get lastRun() {
          return live.ledger.lastRun(owner, name);
        },
        get available() {
          return isAvailable();
        },
      });
    }),
  );
  return { skills, tasks, jobs, findings };
}

/** The fields that refer to other items, and the kind of item that each field refers to. */
const WHAT = { required_skills: 'skill', required_tools: 'tool', task_graph: 'task' };

function danglingReference(
  { owner, placeOf }: RawWork,
  name: string,
  path: readonly [key: keyof typeof WHAT, index: number],
  missing: string,
  known: Known,
): CapabilityFinding {
  const owners = known.ownersOf(missing).map((each) => each.owner);
  const whose = owner === null ? 'shared items' : `items of ${owner} and the shared items`;
  const names = known.all.map((each) => each.name);
  const hint =
    owners.length > 0
      ? `; only ${owners.join(', ')} ${owners.length === 1 ? 'has' : 'have'} it.`
      : `.${didYouMean(missing, names)}`;
  const message = `There is no ${WHAT[path[0]]} called ${describeValue(missing)} among the ${whose}${hint}`;
  return findingAt(placeOf(path), 'dangling', 'warning', message, name);
}
