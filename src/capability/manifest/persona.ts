import { invalidArgument } from '../../core/issues.js';
import { personaKey } from '../../core/persona.js';

/** The name for the shared tools. */
const SHARED = 'shared';
/** Spellings that exclude the shared tools. */
const WITHOUT_SHARED = /^(?:(?:[-!]|no-|without-)shared|shared[=:]false)$/;
/** Spellings that include the shared tools, which is the default. */
const WITH_SHARED = /^shared[=:]true$/;

/** A filter for personas by their `personaKey`. */
interface PersonaFilter {
  readonly shared: boolean;
  /** The requested personas. Empty if all are requested. */
  readonly wanted: ReadonlySet<string>;
  readonly excluded: ReadonlySet<string>;
}

/**
 * Returns an owner's key. The key is empty for shared items, including items in a folder called
 * `shared`.
 */
export function ownerKey(owner: string | null): string {
  const key = owner === null ? '' : personaKey(owner);
  return key === SHARED ? '' : key;
}

/**
 * Parses a filter for personas: names in a list, or separated by commas.
 *
 * Shared items match unless you add one of `-shared`, `!shared`, `no-shared`, `without-shared`,
 * `shared=false` or `shared:false`. If you pass several names, items of any of these personas
 * match. With the name `shared`, only shared items match. `-name` and `!name` exclude a persona. An
 * unknown persona has no items of its own. Blank names are ignored.
 *
 * @throws ToolError `INVALID_ARGUMENT` if `shared=` has a value other than true or false.
 */
export function parsePersonas(personas: string | readonly string[] | undefined): PersonaFilter {
  const wanted = new Set<string>();
  const excluded = new Set<string>();
  let shared = true;
  for (const token of tokensOf(personas)) {
    if (WITHOUT_SHARED.test(token)) shared = false;
    else if (WITH_SHARED.test(token)) continue;
    else if (/^shared\s*[=:]/.test(token))
      throw invalidArgument('shared=true or shared=false', token);
    else if (/^[-!]/.test(token)) excluded.add(personaKey(token.slice(1)));
    else wanted.add(token);
  }
  return { shared, wanted, excluded };
}

/** Returns true if the filter admits an owner. */
export function ownerMatches(
  { shared, wanted, excluded }: PersonaFilter,
  owner: string | null,
): boolean {
  const key = ownerKey(owner);
  if (key === '') return shared;
  return !excluded.has(key) && (wanted.size === 0 || wanted.has(key));
}

function* tokensOf(personas: string | readonly string[] = []): Iterable<string> {
  for (const item of [personas].flat())
    for (const token of item.split(',')) {
      const key = personaKey(token.trim().replace(/^([-!])\s+/, '$1'));
      if (key !== '') yield key;
    }
}
