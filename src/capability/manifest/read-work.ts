import { z } from 'zod';
import { toIssues } from '../../core/issues.js';
import { cloneFrozen, describeValue } from '../../core/plain-data.js';
import type { JsonPath } from '../manifest/json-text.js';
import {
  type CapabilityFinding,
  didYouMean,
  duplicateName,
  findingAt,
  requiredWords,
} from '../manifest/manifest-issue.js';
import { ownerKey } from '../manifest/persona.js';
import { type Fields, entryNameOf, type RawEntry } from '../manifest/read-entries.js';

/** The kinds of catalogue items other than tools. */
export type WorkKind = 'skill' | 'job' | 'task';

const text = () => z.string().regex(/\S/, { error: "text that isn't blank" }).trim();
const texts = () => z.array(text());

/**
 * The fields that skills, jobs and tasks all have. Their names have the same maximum length as tool
 * names, because the page size of lists depends on that length.
 */
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

/**
 * A skill as its file describes it: in snake_case, with defaults filled in. Other fields of the
 * file are kept.
 */
export type SkillManifest = Readonly<z.output<typeof skillSchema>>;
/**
 * A job as its file describes it: in snake_case, with `extends` merged and defaults filled in. Other fields of
 * the file are kept.
 */
export type JobManifest = Readonly<z.output<typeof jobSchema>>;
/**
 * A task as its file describes it: in snake_case, with `extends` merged. Other fields of the file
 * are kept.
 */
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

/** An entry as written in a file of skills, jobs or tasks, before it's merged and checked. */
export interface RawWork extends RawEntry {
  readonly kind: WorkKind;
}

/** A skill, job or task without errors. */
export interface CheckedWork<Kind extends WorkKind = WorkKind> {
  readonly raw: RawWork;
  readonly manifest: WorkManifests[Kind];
}

/**
 * Merges entries with their bases and checks them. Invalid entries are skipped, and all their
 * errors are reported.
 *
 * A job or task inherits from the base it `extends`. A persona's entry also inherits from the
 * shared entry with its name. An entry inherits every key that it doesn't set itself. A key that it
 * does set replaces the whole inherited value. Bases may extend other bases. A base is looked up
 * among the owner's entries, then among the shared entries. An entry is never its own base.
 *
 * @param findings Problems are added to this list.
 */
export function checkWork<Kind extends WorkKind>(
  kind: Kind,
  work: readonly RawWork[],
  findings: CapabilityFinding[],
): readonly CheckedWork<Kind>[] {
  const entries = work.filter((raw) => raw.kind === kind);
  const inheritance = new Inheritance(kind === 'skill' ? [] : entries);
  const checked = new Map<string, CheckedWork<Kind>>();
  for (const raw of entries) {
    const say = (path: JsonPath, what: CapabilityFinding['kind'], message: string) =>
      void findings.push(
        findingAt(raw.placeOf(path), what, 'error', message, entryNameOf(raw.fields)),
      );
    const merged = kind === 'skill' ? raw.fields : inheritance.merge(raw);
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
    const { name } = manifest;
    const key = keyOf(raw.owner, name);
    const first = checked.get(key);
    if (first === undefined) checked.set(key, { raw, manifest });
    else say(['name'], 'duplicate', duplicateName(kind, name, first.raw.file));
  }
  return [...checked.values()];
}

/** The entries that others may extend, and what each inherits. */
class Inheritance {
  readonly #entries: readonly RawWork[];
  readonly #byName = new Map<string, RawWork>();
  readonly #merged = new Map<RawWork, Fields | string>();

  constructor(entries: readonly RawWork[]) {
    this.#entries = entries;
    for (const raw of entries.toReversed()) {
      const name = entryNameOf(raw.fields);
      if (name !== undefined) this.#byName.set(keyOf(raw.owner, name), raw);
    }
  }

  /** Returns an entry with everything it inherits, or the reason why that's impossible. */
  merge(raw: RawWork): Fields | string {
    const cached = this.#merged.get(raw);
    if (cached !== undefined) return cached;
    this.#merged.set(raw, `Circular extends: one of this ${raw.kind}'s bases extends it.`);
    const { extends: _, ...own } = raw.fields;
    const inherited = this.#inheritedBy(raw);
    const whole = typeof inherited === 'string' ? inherited : { ...inherited, ...own };
    this.#merged.set(raw, whole);
    return whole;
  }

  #inheritedBy({ kind, owner, fields }: RawWork): Fields | string {
    const { extends: extended = '' } = fields;
    if (typeof extended !== 'string')
      return `extends must be the name of a ${kind}, but is ${describeValue(extended)}.`;
    const name = entryNameOf(fields);
    const explicit = extended.trim();
    const base =
      (explicit === name ? undefined : this.#byName.get(keyOf(owner, explicit))) ??
      // Only a persona's entry inherits from the shared entry of its own name.
      (ownerKey(owner) === ''
        ? undefined
        : this.#byName.get(keyOf(null, explicit || (name ?? ''))));
    if (base !== undefined) return this.merge(base);
    if (explicit === '') return {};
    const names = this.#entries.flatMap((each) => entryNameOf(each.fields) ?? []);
    return `There is no ${kind} called ${describeValue(explicit)} to extend.${didYouMean(explicit, names)}`;
  }
}

function keyOf(owner: string | null, name: string): string {
  return `${ownerKey(owner)}/${name}`;
}
