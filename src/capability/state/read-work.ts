import { z } from 'zod';
import { suggestNames, toIssues } from '../../core/issues.js';
import { cloneFrozen, describeValue, isPlainObject } from '../../core/plain-data.js';
import { type JsonText, parseJsonText, type Path, pointerOf } from '../manifest/json-text.js';
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

/** A skill, job or task as written in its file, in snake_case, with `extends` merged. */
export type SkillManifest = Readonly<z.input<typeof skillSchema>>;
export type JobManifest = Readonly<z.input<typeof jobSchema>>;
export type TaskManifest = Readonly<z.input<typeof taskSchema>>;

export interface WorkManifests {
  readonly skill: SkillManifest;
  readonly job: JobManifest;
  readonly task: TaskManifest;
}

/** The values allowed in an entry of each kind; unknown keys are refused. They only check: the entry itself is used. */
export const WORK_SCHEMAS: Readonly<Record<WorkKind, z.ZodObject>> = Object.freeze({ skill: skillSchema, job: jobSchema, task: taskSchema });

/** The entries of one file, and characters of it (1 MiB), as for tools. */
const MAX_ENTRIES = 1_000;
const MAX_TEXT_LENGTH = 1_048_576;

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

export interface ReadWork {
  readonly entries: readonly RawWork[];
  readonly findings: readonly CapabilityFinding[];
  /** Says that nothing of the text can be used. */
  readonly broken: boolean;
}

/** Reads a file of skills, jobs or tasks: a JSON list of objects, or an object with one under the kind's plural. Never throws. */
export function readWork(text: string, kind: WorkKind, owner: string | null, file: string): ReadWork {
  const broken = (message: string, line = 1, column = 1): ReadWork => ({ entries: [], findings: [findingAt({ owner, file, line, column, path: '' }, 'unreadable', 'error', message)], broken: true });
  if (text.length > MAX_TEXT_LENGTH) return broken('Expected a file of at most 1 MiB, got more. Split it into several files.');
  const parsed = parseJsonText(text);
  if (!parsed.ok) return broken(parsed.fault.message, parsed.fault.line, parsed.fault.column);
  const key = `${kind}s`;
  const base: Path = isPlainObject(parsed.value) && Object.hasOwn(parsed.value, key) ? [key] : [];
  const list = base.length === 0 ? parsed.value : (parsed.value as Fields)[key];
  if (!Array.isArray(list)) return broken(`Expected a list of ${key}, got ${describeValue(list)}.`);
  if (list.length > MAX_ENTRIES) return broken(`Expected at most ${MAX_ENTRIES} ${key} in one file, got ${list.length}. Split it into several files.`);

  const findings: CapabilityFinding[] = parsed.text.findings().map(({ path, message, severity, line, column }) => findingAt({ owner, file, line, column, path: pointerOf(path) }, 'invalid', severity, message));
  const spoiled = new Set(parsed.text.findings().flatMap(({ path, severity }) => (severity === 'error' ? [path[base.length]] : [])));
  const entries = (list as readonly unknown[]).flatMap((value, index): readonly RawWork[] => {
    if (spoiled.has(index)) return [];
    const placeOf = placesIn(parsed.text, owner, file, [...base, index]);
    if (isPlainObject(value)) return [Object.freeze({ kind, owner, file, fields: cloneFrozen(value), placeOf })];
    findings.push(findingAt(placeOf([]), 'invalid', 'error', `Expected a ${kind} as an object, got ${describeValue(value)}.`));
    return [];
  });
  return { entries, findings, broken: false };
}

function placesIn(text: JsonText, owner: string | null, file: string, base: Path): RawWork['placeOf'] {
  return (path) => {
    const place = [...base, ...path];
    return { owner, file, ...text.positionAt(place), path: pointerOf(place) };
  };
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
 * not give itself; a key's value is taken over or replaced as a whole. Bases may extend others. A base is looked for
 * among the owner's own entries, then among the shared ones; an entry is never its own base.
 */
export function checkWork<Kind extends WorkKind>(kind: Kind, entries: readonly RawWork[]): { readonly checked: readonly CheckedWork<Kind>[]; readonly findings: readonly CapabilityFinding[] } {
  const index = kind === 'skill' ? undefined : new BaseIndex(entries);
  const findings: CapabilityFinding[] = [];
  const checked = new Map<string, CheckedWork<Kind>>();
  for (const raw of entries) {
    const merged = index === undefined ? raw.fields : index.merge(raw, []);
    if (typeof merged === 'string') {
      findings.push(findingAt(raw.placeOf(['extends']), 'dangling', 'error', merged, nameOf(raw)));
      continue;
    }
    const wrong = faultsOf(raw, merged);
    findings.push(...wrong);
    if (wrong.length > 0) continue;
    const name = (merged['name'] as string).trim();
    const key = `${ownerKey(raw.owner)}/${name}`;
    const first = checked.get(key);
    if (first === undefined) checked.set(key, Object.freeze({ raw, name, manifest: cloneFrozen(merged) as unknown as WorkManifests[Kind] }));
    else findings.push(findingAt(raw.placeOf(['name']), 'duplicate', 'error', `Expected a name that no other ${kind} of the same owner has, got ${describeValue(name)} again (first in ${first.raw.file}). Rename or remove one.`, name));
  }
  return { checked: [...checked.values()], findings };
}

/** The entries by the names under which others extend them. */
class BaseIndex {
  /** The entries by owner and name; the first of several. */
  readonly #entries = new Map<string, RawWork>();

  constructor(entries: readonly RawWork[]) {
    for (const raw of entries) {
      const name = nameOf(raw);
      const key = `${ownerKey(raw.owner)}/${name}`;
      if (name !== undefined && !this.#entries.has(key)) this.#entries.set(key, raw);
    }
  }

  /** Returns the entry with all it inherits, or the reason why that is impossible. */
  merge(raw: RawWork, chain: readonly RawWork[]): Fields | string {
    const { extends: extended, ...own } = raw.fields;
    if (extended !== undefined && typeof extended !== 'string') return `Expected the name of a ${raw.kind} to extend, got ${describeValue(extended)}.`;
    const explicit = extended?.trim() ?? '';
    const name = explicit === '' ? nameOf(raw) : explicit;
    const base = name === undefined ? undefined : this.#baseOf(raw, name);
    if (base === undefined) return explicit === '' ? own : `Expected a ${raw.kind} to extend, got none called ${describeValue(explicit)}.${this.#hint(explicit)}`;
    if (chain.includes(base)) return `Expected ${raw.kind}s that extend others, got a circle: ${[...chain, raw, base].map((each) => nameOf(each) ?? '(no name)').join(' → ')}.`;
    if (chain.length >= MOST_BASES) return `Expected at most ${MOST_BASES} ${raw.kind}s that extend one another, got more. Let some extend the first base itself.`;
    const inherited = this.merge(base, [...chain, raw]);
    return typeof inherited === 'string' ? inherited : { ...inherited, ...own };
  }

  /** Returns the base of an entry; only a persona's entry inherits from the shared one of its own name. */
  #baseOf(raw: RawWork, name: string): RawWork | undefined {
    const key = ownerKey(raw.owner);
    const explicit = typeof raw.fields['extends'] === 'string' && raw.fields['extends'].trim() !== '';
    const own = explicit && name !== nameOf(raw) ? this.#entries.get(`${key}/${name}`) : undefined;
    return own ?? (key === '' ? undefined : this.#entries.get(`/${name}`));
  }

  #hint(name: string): string {
    const names = suggestNames(name, [...new Set([...this.#entries.values()].flatMap((raw) => nameOf(raw) ?? []))]);
    return names.length === 0 ? '' : ` Did you mean ${names.join(' or ')}?`;
  }
}

function faultsOf(raw: RawWork, merged: Fields): readonly CapabilityFinding[] {
  const parsed = WORK_SCHEMAS[raw.kind].safeParse(merged);
  if (parsed.success) return [];
  return toIssues(parsed.error, merged).map(({ path, message }) => findingAt(raw.placeOf(path), 'invalid', 'error', message.replace(/got undefined\.$/, 'got nothing (it is required).'), nameOf(raw)));
}

function nameOf({ fields }: RawWork): string | undefined {
  const { name } = fields;
  return typeof name === 'string' && name.trim() !== '' ? name.trim().slice(0, 128) : undefined;
}
