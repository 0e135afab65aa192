import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { compatibilityOf } from '../capability/capability-summary.js';
import { allowsPersona, personaKey } from '../core/persona.js';
import { parsePersonas } from '../capability/manifest/persona.js';
import type { CapabilityTool } from '../capability/state/capability-items.js';
import { expectedGot, suggestNames } from '../core/issues.js';
import { describeValue } from '../core/plain-data.js';
import { HttpError } from './http-error.js';

// Without a persona, a route shows the items of all owners. With a persona, a route shows the
// shared items and the persona's own items. `compatibility` says for each item whether the persona
// may use it. Unknown personas are refused. Lists also include shared items that the persona
// replaces with its own items. `/search` and `/tools/:name` return only the tools that the persona
// would call.

/** The name under which requests refer to shared tools. */
const SHARED = 'shared';

/**
 * Returns a request's personas, normalized for comparison. @throws HttpError for an unknown
 * persona.
 */
export function personasIn(
  { personas: existing }: Pick<CapabilityRegistry, 'personas'>,
  persona: string | readonly string[] | undefined,
): readonly string[] {
  const { wanted, excluded } = parsePersonas(persona);
  const keys = new Set([SHARED, ...existing.map(personaKey)]);
  const found = [...wanted, ...excluded].find((name) => !keys.has(name));
  if (found === undefined) return [...wanted].filter((name) => name !== SHARED);
  const suggested = suggestNames(found, existing).join(' or ');
  const advice = suggested
    ? `Did you mean ${suggested}?`
    : `The personas are ${existing.join(', ') || SHARED}.`;
  const expected = 'the name of a persona in the catalogue';
  throw new HttpError(404, {
    code: 'PERSONA_NOT_FOUND',
    message: expectedGot(`persona as ${expected}`, describeValue(found), advice),
    parameter: 'persona',
    expected,
    found: found.slice(0, 60),
  });
}

/**
 * Returns whether the requesting personas may use an item, and why. A request without personas gets
 * the answer for everyone.
 */
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

/** Returns a function that returns true if a requesting persona may call the tool by its name. */
export function mayCall(
  catalogue: CapabilityRegistry,
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
