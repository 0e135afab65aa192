import { z } from 'zod';
import { suggestNames, toIssues } from '../../core/issues.js';
import { cloneFrozen, describeValue, isPlainObject } from '../../core/plain-data.js';
import { pointerOf, readList, type Path } from '../manifest/json-text.js';
import { type CapabilityFinding, findingAt, type Place } from '../manifest/manifest-issue.js';
import { ownerKey } from '../manifest/persona.js';

/** The kind of a persona's work, beside tools. */
export type WorkKind = 'skill' | 'job' | 'task';

const text = () => z.string().regex(/\S/, { error: 'text that is not blank' });
/** The length of names, as for tools: the pages of lists depend on it. */
const name = () => text().max(128);
const texts = () => z.array(text());
const plainObject = () => z.record(z.string(), z.unknown());

const participant = z.strictObject({
  id: text(),
  provider: z.string().optional(),
  model: z.string().optional(),
  system_prompt: z.string().optional(),
  weight: z.number().optional(),
  metadata: plainObject().optional(),
});

const collaboration = z.strictObject({
  enabled: z.union([z.boolean(), z.string()], { error: 'true, false or a text' }).optional(),
  protocol: z.enum(['vote', 'critique', 'contract_net']).optional(),
  quorum: z.number().min(0).max(1).optional(),
  /** The time limit in seconds. */
  timeout: z.number().min(0).optional(),
  participants: z.array(participant).optional(),
});

const skillSchema = z.strictObject({
  name: name(),
  version: text(),
  instruction_prompt: text(),
  required_tools: texts(),
  required_capabilities: texts(),
  safety_notes: text(),
  summary: text().optional(),
  category: text().optional(),
  capability_tags: texts().optional(),
  collaboration: collaboration.optional(),
});

const escalationPolicy = z.strictObject({
  level: text(),
  contact: text(),
  timeframe: z.string().optional(),
  triggers: texts().optional(),
  actions: texts().optional(),
  notes: z.string().optional(),
  auto_escalate: z.union([z.boolean(), z.string()], { error: 'true, false or a text' }).optional(),
});

const taskStep = z.strictObject({
  task: text(),
  depends_on: texts().optional(),
  description: z.string().optional(),
  metadata: plainObject().optional(),
});

const recurrence = z.looseObject({
  frequency: z.string().optional(),
  interval: z.union([z.int(), z.string()], { error: 'a whole number or a text' }).optional(),
  cron: z.string().optional(),
  timezone: z.string().optional(),
  start_date: z.string().optional(),
  end_date: z.string().optional(),
});

const jobSchema = z.strictObject({
  name: name(),
  summary: text(),
  description: z.string().optional(),
  personas: texts().min(1),
  required_skills: texts(),
  required_tools: texts(),
  task_graph: z.array(taskStep).min(1),
  recurrence: recurrence.optional(),
  acceptance_criteria: texts().min(1),
  escalation_policy: escalationPolicy,
  accepts_external_requests: z.boolean().optional(),
});

const taskSchema = z.strictObject({
  name: name(),
  summary: text(),
  description: z.string().optional(),
  persona: z.string().optional(),
  required_skills: texts(),
  required_tools: texts(),
  acceptance_criteria: texts().min(1),
  escalation_policy: escalationPolicy,
  tags: texts().optional(),
  priority: z.string().optional(),
});

/** A skill as written in its file, in snake_case, with `extends` merged. */
export type SkillManifest = Readonly<z.input<typeof skillSchema>>;
/** A job as written in its file, in snake_case, with `extends` merged. */
export type JobManifest = Readonly<z.input<typeof jobSchema>>;
/** A task as written in its file, in snake_case, with `extends` merged. */
export type TaskManifest = Readonly<z.input<typeof taskSchema>>;

export type WorkManifests = {
  readonly skill: SkillManifest;
  readonly job: JobManifest;
  readonly task: TaskManifest;
};

/** The values allowed in an entry of each kind; unknown keys are refused. They only check: the entry itself is used. */
const WORK_SCHEMAS: Readonly<Record<WorkKind, z.ZodObject>> = {
  skill: skillSchema,
  job: jobSchema,
  task: taskSchema,
};

type Fields = Readonly<Record<string, unknown>>;

/** An entry of a file of skills, jobs or tasks as written: neither merged with what it extends, nor checked. */
export interface RawWork {
  readonly kind: WorkKind;
  readonly owner: string | null;
  readonly file: string;
  readonly fields: Fields;
  /** Returns the place of a value of the entry; for a missing one, that of the entry. */
  placeOf(path: Path): Place;
}

/** Reads a file of skills, jobs or tasks: a JSON list of objects, or an object with one under the kind's plural. Never throws. */
export function readWork(
  text: string,
  kind: WorkKind,
  owner: string | null,
  file: string,
): {
  readonly work: readonly RawWork[];
  readonly findings: readonly CapabilityFinding[];
  readonly broken: boolean;
} {
  const read = readList(text, `${kind}s`);
  if (!read.ok)
    return {
      work: [],
      findings: [
        findingAt(
          { owner, file, ...read.fault, path: '' },
          'unreadable',
          'error',
          read.fault.message,
        ),
      ],
      broken: true,
    };
  const findings = read.findings.map((finding) =>
    findingAt(
      { owner, file, ...finding, path: pointerOf(finding.path) },
      'invalid',
      finding.severity,
      finding.message,
    ),
  );
  const work = read.list.flatMap((value, index): readonly RawWork[] => {
    if (read.spoiled.has(index)) return [];
    const placeOf = (path: Path): Place => {
      const place = [...read.base, index, ...path];
      return { owner, file, ...read.text.positionAt(place), path: pointerOf(place) };
    };
    if (isPlainObject(value))
      return [Object.freeze({ kind, owner, file, fields: cloneFrozen(value), placeOf })];
    findings.push(
      findingAt(
        placeOf([]),
        'invalid',
        'error',
        `Expected a ${kind} as an object, got ${describeValue(value)}.`,
      ),
    );
    return [];
  });
  return { work, findings, broken: false };
}

/** The longest chain of bases: thousands would exhaust the stack, and no author could follow them. */
const MOST_BASES = 64;

/** A skill, job or task without errors. */
export interface CheckedWork<Kind extends WorkKind = WorkKind> {
  readonly raw: RawWork;
  readonly name: string;
  readonly manifest: WorkManifests[Kind];
}

/**
 * Merges entries with what they extend, checks them, and leaves out the wrong ones: each alone, with all its errors.
 *
 * A job or task with `extends`, or of a persona with the name of a shared one, has every key of that base that it does
 * not give itself; a key's value is taken over or replaced as a whole. Bases may extend others. A base is looked up
 * among the owner's own entries, then among the shared ones; an entry is never its own base.
 *
 * @param findings receives the problems.
 */
export function checkWork<Kind extends WorkKind>(
  kind: Kind,
  work: readonly RawWork[],
  findings: CapabilityFinding[],
): readonly CheckedWork<Kind>[] {
  const entries = work.filter((raw) => raw.kind === kind);
  const merge = kind === 'skill' ? ({ fields }: RawWork) => fields : mergeInto(entries);
  const checked = new Map<string, CheckedWork<Kind>>();
  for (const raw of entries) {
    const merged = merge(raw, []);
    if (typeof merged === 'string') {
      findings.push(findingAt(raw.placeOf(['extends']), 'dangling', 'error', merged, nameOf(raw)));
      continue;
    }
    const { error } = WORK_SCHEMAS[kind].safeParse(merged);
    if (error !== undefined) {
      findings.push(
        ...toIssues(error, merged).map(({ path, message }) =>
          findingAt(
            raw.placeOf(path),
            'invalid',
            'error',
            message.replace(/got undefined\.$/, 'got nothing (it is required).'),
            nameOf(raw),
          ),
        ),
      );
      continue;
    }
    const name = (merged['name'] as string).trim();
    const key = `${ownerKey(raw.owner)}/${name}`;
    const first = checked.get(key);
    if (first === undefined)
      checked.set(
        key,
        Object.freeze({
          raw,
          name,
          manifest: cloneFrozen(merged) as unknown as WorkManifests[Kind],
        }),
      );
    else
      findings.push(
        findingAt(
          raw.placeOf(['name']),
          'duplicate',
          'error',
          `Expected a name that no other ${kind} of the same owner has, got ${describeValue(name)} again (first in ${first.raw.file}). Rename or remove one.`,
          name,
        ),
      );
  }
  return [...checked.values()];
}

/** Returns a function that gives an entry with all it inherits, or the reason why that is impossible. */
function mergeInto(
  entries: readonly RawWork[],
): (raw: RawWork, chain: readonly RawWork[]) => Fields | string {
  const byName = new Map<string, RawWork>();
  for (const raw of entries) {
    const key = `${ownerKey(raw.owner)}/${nameOf(raw)}`;
    if (nameOf(raw) !== undefined && !byName.has(key)) byName.set(key, raw);
  }
  const merge = (raw: RawWork, chain: readonly RawWork[]): Fields | string => {
    const { kind, owner, fields } = raw;
    const { extends: extended, ...own } = fields;
    if (extended !== undefined && typeof extended !== 'string')
      return `Expected the name of a ${kind} to extend, got ${describeValue(extended)}.`;
    const explicit = extended?.trim() ?? '';
    const name = explicit === '' ? nameOf(raw) : explicit;
    // Only a persona's entry inherits from the shared one of its own name.
    const shared =
      ownerKey(owner) === '' || name === undefined ? undefined : byName.get(`/${name}`);
    const base =
      (explicit !== '' && explicit !== nameOf(raw)
        ? byName.get(`${ownerKey(owner)}/${explicit}`)
        : undefined) ?? shared;
    if (base === undefined && explicit === '') return own;
    if (base === undefined)
      return `Expected a ${kind} to extend, got none called ${describeValue(explicit)}.${didYouMean(
        explicit,
        entries.flatMap((each) => nameOf(each) ?? []),
      )}`;
    if (chain.includes(base))
      return `Expected ${kind}s that extend others, got a circle: ${[...chain, raw, base].map((each) => nameOf(each) ?? '(no name)').join(' → ')}.`;
    if (chain.length >= MOST_BASES)
      return `Expected at most ${MOST_BASES} ${kind}s that extend one another, got more. Let some extend the first base itself.`;
    const inherited = merge(base, [...chain, raw]);
    return typeof inherited === 'string' ? inherited : { ...inherited, ...own };
  };
  return merge;
}

/** Returns the advice about a name that does not exist; empty if it looks like no known one. */
export function didYouMean(name: string, known: readonly string[]): string {
  const names = suggestNames(name, [...new Set(known)]);
  return names.length === 0 ? '' : ` Did you mean ${names.join(' or ')}?`;
}

function nameOf({ fields: { name } }: RawWork): string | undefined {
  return typeof name === 'string' && name.trim() !== '' ? name.trim().slice(0, 128) : undefined;
}
