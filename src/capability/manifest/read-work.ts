import { z } from 'zod';
import { suggestNames, toIssues } from '../../core/issues.js';
import { cloneFrozen, describeValue } from '../../core/plain-data.js';
import type { Path } from '../manifest/json-text.js';
import {
  type CapabilityFinding,
  duplicateName,
  findingAt,
  requiredWords,
} from '../manifest/manifest-issue.js';
import { ownerKey } from '../manifest/persona.js';
import { type Fields, nameOf, type RawEntry } from '../manifest/read-entries.js';

/** The kinds of work that a persona has besides tools. */
export type WorkKind = 'skill' | 'job' | 'task';

const text = () => z.string().regex(/\S/, { error: 'text that is not blank' });
const texts = () => z.array(text());

/** The fields that all kinds have. Names are as long as those of tools, because pages of lists depend on it. */
const common = { name: text().max(128), required_tools: texts() };

const skillSchema = z.looseObject({
  ...common,
  version: text(),
  required_capabilities: texts(),
  instruction_prompt: z.string().default(''),
  safety_notes: z.string().default(''),
  summary: z.string().optional(),
  category: z.string().optional(),
  capability_tags: texts().optional(),
});

const jobSchema = z.looseObject({
  ...common,
  summary: text(),
  description: z.string().optional(),
  personas: texts().min(1),
  required_skills: texts(),
  task_graph: z
    .array(z.looseObject({ task: text(), depends_on: texts().optional() }))
    .default(() => []),
  acceptance_criteria: texts().default(() => []),
  recurrence: z.looseObject({}).optional(),
});

const taskSchema = z.looseObject({
  ...common,
  summary: text(),
  required_skills: texts(),
  tags: texts().optional(),
});

/** A skill in snake_case, with defaults. Other fields of the file are kept. */
export type SkillManifest = Readonly<z.output<typeof skillSchema>>;
/** A job in snake_case, with `extends` merged and defaults. Other fields of the file are kept. */
export type JobManifest = Readonly<z.output<typeof jobSchema>>;
/** A task in snake_case, with `extends` merged. Other fields of the file are kept. */
export type TaskManifest = Readonly<z.output<typeof taskSchema>>;

export type WorkManifests = {
  readonly skill: SkillManifest;
  readonly job: JobManifest;
  readonly task: TaskManifest;
};

const WORK_SCHEMAS: Readonly<Record<WorkKind, z.ZodObject>> = {
  skill: skillSchema,
  job: jobSchema,
  task: taskSchema,
};

/** An entry for a skill, job or task as it was written: neither merged nor checked. */
export interface RawWork extends RawEntry {
  readonly kind: WorkKind;
}

/** A skill, job or task without errors. */
export interface CheckedWork<Kind extends WorkKind = WorkKind> {
  readonly raw: RawWork;
  readonly name: string;
  readonly manifest: WorkManifests[Kind];
}

/**
 * Merges entries with their bases, checks them, and leaves the wrong ones out, with all their errors.
 *
 * An entry has a base if it names one in `extends`, or if it's a persona's job or task with the name of a shared one.
 * It inherits every key that it doesn't have itself. Values aren't merged. A base may have a base, too. It's looked up
 * among the owner's entries, then among shared ones. An entry is never its own base.
 *
 * @param findings receives the problems.
 */
export function checkWork<Kind extends WorkKind>(
  kind: Kind,
  work: readonly RawWork[],
  findings: CapabilityFinding[],
): readonly CheckedWork<Kind>[] {
  const entries = work.filter((raw) => raw.kind === kind);
  const merge = kind === 'skill' ? ({ fields }: RawWork) => fields : createMerge(entries);
  const checked = new Map<string, CheckedWork<Kind>>();
  for (const raw of entries) {
    const say = (path: Path, what: CapabilityFinding['kind'], message: string) =>
      void findings.push(findingAt(raw.placeOf(path), what, 'error', message, nameOf(raw.fields)));
    const merged = merge(raw);
    if (typeof merged === 'string') {
      say(['extends'], 'dangling', merged);
      continue;
    }
    const { data, error }: z.ZodSafeParseResult<unknown> = WORK_SCHEMAS[kind].safeParse(merged);
    if (error !== undefined) {
      for (const { path, message } of toIssues(error, merged))
        say(path, 'invalid', requiredWords(message));
      continue;
    }
    const manifest = cloneFrozen(data) as WorkManifests[Kind];
    const name = manifest.name.trim();
    const key = `${ownerKey(raw.owner)}/${name}`;
    const first = checked.get(key);
    if (first === undefined) checked.set(key, { raw, name, manifest });
    else say(['name'], 'duplicate', duplicateName(kind, name, first.raw.file));
  }
  return [...checked.values()];
}

/** Returns a function that returns an entry with everything it inherits, or the reason why it can't. */
function createMerge(entries: readonly RawWork[]): (raw: RawWork) => Fields | string {
  const byName = new Map<string, RawWork>();
  for (const raw of [...entries].reverse())
    byName.set(`${ownerKey(raw.owner)}/${nameOf(raw.fields) ?? ''}`, raw);
  const merged = new Map<RawWork, Fields | string>();
  const merge = (raw: RawWork): Fields | string => {
    const known = merged.get(raw);
    if (known !== undefined) return known;
    const { kind, owner, fields } = raw;
    const { extends: extended = '', ...own } = fields;
    if (typeof extended !== 'string')
      return `Expected the name of a ${kind} to extend, got ${describeValue(extended)}.`;
    merged.set(
      raw,
      `Expected ${kind}s that extend others, got a circle: one of its bases extends it.`,
    );
    const explicit = extended.trim();
    const name = explicit === '' ? nameOf(raw.fields) : explicit;
    const base =
      (explicit !== '' && explicit !== nameOf(raw.fields)
        ? byName.get(`${ownerKey(owner)}/${explicit}`)
        : undefined) ??
      // Only a persona's entry inherits from the shared one of the same name.
      (ownerKey(owner) === '' || name === undefined ? undefined : byName.get(`/${name}`));
    const inherited =
      base !== undefined
        ? merge(base)
        : explicit === ''
          ? {}
          : `Expected a ${kind} to extend, got none called ${describeValue(explicit)}.${didYouMean(
              explicit,
              entries.flatMap((each) => nameOf(each.fields) ?? []),
            )}`;
    const whole = typeof inherited === 'string' ? inherited : { ...inherited, ...own };
    merged.set(raw, whole);
    return whole;
  };
  return merge;
}

/** Returns advice for an unknown name. Empty if no known name is similar. */
export function didYouMean(name: string, known: readonly string[]): string {
  const names = suggestNames(name, [...new Set(known)]);
  return names.length === 0 ? '' : ` Did you mean ${names.join(' or ')}?`;
}
