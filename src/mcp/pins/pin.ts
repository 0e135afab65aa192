import { canonicalJson, cloneFrozen, digestOf, isPlainObject, type Json } from '../../core/plain-data.js';

/** A tool's whole definition as its server sent it, frozen. */
export type PinnedDefinition = Readonly<Record<string, Json>> & { readonly name: string };

/** What is remembered of a tool. */
export interface Pin {
  /** The SHA-256 of the definition's canonical JSON, as 64 hexadecimal digits. */
  readonly digest: string;
  /** The definition itself, so that a change can be shown and not only noticed. */
  readonly definition: PinnedDefinition;
}

/** A definition's pin, or why it can have none; `name` where it has one. */
export type Pinnable = { readonly ok: true; readonly name: string; readonly pin: Pin } | { readonly ok: false; readonly name?: string; readonly reason: string };

/** Characters of a definition's JSON: 256 Ki, several times the largest real ones. */
const MAX_LENGTH = 262_144;
/** Levels of a definition: the lock file may have 64, and has some around it. */
const MAX_DEPTH = 48;
const HALF_CHARACTER = /\p{Surrogate}/u;

/**
 * The pin of a raw definition: of everything in it, `_meta` and unknown fields too.
 *
 * No field is left out. Hosts act on `_meta` (which page to show, whether to load a tool at once), translation reads
 * fields that the protocol does not have, and a field that is not pinned is where the next trick goes. A server that
 * writes a time of day into its definitions cannot be pinned; the diff then says which field it is.
 */
export function pinOf(tool: unknown): Pinnable {
  if (!isPlainObject(tool)) return { ok: false, reason: 'expected a definition as an object, found something else' };
  const name: unknown = Object.hasOwn(tool, 'name') ? tool['name'] : undefined;
  if (typeof name !== 'string' || name === '') return { ok: false, reason: 'expected a definition with a name, found none' };
  const refused = (expected: string): Pinnable => ({ ok: false, name, reason: `expected ${expected}; it cannot be pinned` });
  let definition: PinnedDefinition;
  try {
    definition = cloneFrozen(tool) as PinnedDefinition;
  } catch {
    return refused('a definition of plain data, at most 64 levels deep, found another');
  }
  const fault = faultOf(definition, 0);
  if (fault !== undefined) return refused(fault);
  const { length } = canonicalJson(definition);
  if (length > MAX_LENGTH) return refused(`a definition of at most ${MAX_LENGTH} characters, found ${length}`);
  return { ok: true, name, pin: Object.freeze({ digest: digestOf(definition), definition }) };
}

/** What the lock file could not hold. */
function faultOf(value: Json, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return `a definition at most ${MAX_DEPTH} levels deep, found a deeper one`;
  if (typeof value === 'string') return HALF_CHARACTER.test(value) ? 'text of whole characters, found half of a surrogate pair' : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const fault = faultOf(key, depth) ?? faultOf(item, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
