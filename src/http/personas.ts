import { compatibilityOf } from '../capability/capability-summary.js';
import { allowsPersona, parsePersonas, personaKey } from '../capability/manifest/persona.js';
import type { CapabilityTool } from '../capability/state/capability-items.js';
import { expectedGot, suggestNames } from '../core/issues.js';
import { describeValue } from '../core/plain-data.js';
import { HttpError } from './http-error.js';
import type { Catalogue } from './callers-catalogue.js';

// The rule of every route: without a persona, the items of all owners; with one, the shared ones and its own. Each
// item says by `compatibility` whether the persona may use it. A persona that the catalogue does not know is refused.
//
// Lists also have the shared items that the persona's own of that name replace: they fit, and return when its own goes.
// `/search` and `/tools/:name` stand for a call by name: they give a persona only what it gets under the name.

/** The word for the shared tools where the name of an owner is expected. */
const SHARED = 'shared';
/** The largest number of personas named in an error. */
const MOST_NAMED = 10;

/** Returns the personas that a request names, as they are compared. @throws HttpError for one that the catalogue does not know. */
export function personasIn(
  { personas: known }: Pick<Catalogue, 'personas'>,
  persona: string | readonly string[] | undefined,
): readonly string[] {
  const { wanted, excluded } = parsePersonas(persona);
  const keys = new Set([SHARED, ...known.map(personaKey)]);
  const found = [...wanted, ...excluded].find((name) => !keys.has(name));
  if (found === undefined) return [...wanted].filter((name) => name !== SHARED);
  const suggested = suggestNames(found, known);
  const named = `There are ${known.slice(0, MOST_NAMED).join(', ')}${known.length > MOST_NAMED ? ' and others' : ''}.`;
  const advice =
    suggested.length > 0
      ? `Did you mean ${suggested.join(' or ')}?`
      : known.length === 0
        ? 'The catalogue has none.'
        : named;
  const expected = 'the name of a persona of the catalogue';
  throw new HttpError(404, {
    code: 'PERSONA_NOT_FOUND',
    message: expectedGot(`persona as ${expected}`, describeValue(found), advice),
    parameter: 'persona',
    expected,
    found: found.slice(0, 60),
  });
}

/** Returns whether and why an item fits the requesting personas: any of them, or none in particular. */
export function compatibilityFor(
  personas: readonly string[],
  owner: string | null,
  allowlist: readonly string[] | undefined,
) {
  const each = (personas.length === 0 ? [null] : personas).map((name) =>
    compatibilityOf(owner, allowlist, name),
  );
  return each.find(({ matches_request: matches }) => matches) ?? each[0]!;
}

/**
 * Returns a check of whether any of the requesting personas may call a tool under its name: its own in place of the
 * shared one, and no tool that is only for others.
 */
export function mayCall(
  catalogue: Catalogue,
  personas: readonly string[],
): (tool: CapabilityTool) => boolean {
  if (personas.length === 0) return () => true;
  return (tool) =>
    personas.some(
      (name) =>
        catalogue.tool(tool.name, name) === tool &&
        allowsPersona(tool.entry.personaAllowlist, name),
    );
}
