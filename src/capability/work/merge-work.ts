import { cloneFrozen, describeValue } from '../../core/plain-data.js';
import { suggestNames, toIssues } from '../../core/issues.js';
import { findingAt, type CapabilityFinding } from '../finding.js';
import { ownerKey } from '../query/persona-filter.js';
import type { RawWork } from './read-work.js';
import { WORK_SCHEMAS, type WorkKind, type WorkManifests } from './work-schemas.js';

type Fields = Readonly<Record<string, unknown>>;

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
