import { compatibilityOf } from '../../capability/capability-summary.js';
import { allowsPersona, parsePersonas } from '../../capability/manifest/persona.js';
import type { CapabilityTool } from '../../capability/state/capability-items.js';
import type { CompatibilityWire } from '../../capability/wire-types.js';
import type { Catalogue } from './callers-catalogue.js';
import { text, type Asked, type Parameter } from './parameters.js';

// The rule of every route: without a persona, the items of all owners; with one, the shared ones and its own. Each
// item says by `compatibility` whether the persona may use it. A persona that the catalogue does not know is refused.
//
// Lists also have the shared items that the persona's own of that name replace: they fit, and return when its own goes.
// `/search` and `/tools/:name` stand for a call by name: they give a persona only what it gets under the name.

const personas = text(
  'A persona, with the shared items; `-shared` leaves those out, `-name` a persona. Several mean any of them.',
);
export const PERSONA: Parameter<string> = {
  ...personas,
  expected: `names of personas, or -shared: ${personas.expected}`,
  read: (value) =>
    value.split(',').every((name) => /^\s*[-!]?\s*[^\s\-!]/.test(name))
      ? personas.read(value)
      : undefined,
};

const persona = text('The persona that asks; it sees its own tool in place of a shared one.', {
  repeatable: false,
});
export const ONE_PERSONA: Parameter<string> = {
  ...persona,
  expected: `the name of one persona (filters such as -shared are for lists): ${persona.expected}`,
  read: (value) => (/^\s*[-!]|,/.test(value) ? undefined : persona.read(value)),
};

/** The word for the shared tools where the name of an owner is expected. */
export const SHARED = 'shared';

/** Returns the personas that a request is for, as they are compared; none if it names none. */
export function personasAsked(asked: Asked): readonly string[] {
  return [...parsePersonas(asked.all<string>('persona')).wanted].filter((name) => name !== SHARED);
}

/** Returns whether and why an item fits the requesting personas: any of them, or none in particular. */
export function compatibilityFor(
  personas: readonly string[],
  owner: string | null,
  allowlist: readonly string[] | undefined,
): CompatibilityWire {
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
  capabilities: Catalogue,
  personas: readonly string[],
): (tool: CapabilityTool) => boolean {
  if (personas.length === 0) return () => true;
  return (tool) =>
    personas.some(
      (name) =>
        capabilities.tool(tool.name, name) === tool &&
        allowsPersona(tool.entry.personaAllowlist, name),
    );
}
