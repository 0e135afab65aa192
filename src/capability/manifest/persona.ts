/** Returns the form by which personas are compared: trimmed, composed, in lower case. */
export function personaKey(persona: string): string {
  return persona.normalize('NFC').trim().toLowerCase();
}

/**
 * Returns true if an allow-list admits a persona; without a list all are admitted, and by an empty list none. No list
 * admits a missing persona.
 */
export function allowsPersona(allowlist: readonly string[] | undefined, persona: string | undefined): boolean {
  if (allowlist === undefined) return true;
  return persona !== undefined && allowlist.some((each) => personaKey(each) === personaKey(persona));
}

/** Keeps a persona's own tool among those of one name, in the place of the shared one. */
export function overrideShared<T extends { readonly persona?: string }>(tools: readonly T[], nameOf: (tool: T) => string): readonly T[] {
  const byName = new Map<string, T>();
  for (const tool of tools) {
    const known = byName.get(nameOf(tool));
    if (known === undefined || known.persona === undefined) byName.set(nameOf(tool), tool);
  }
  return [...byName.values()];
}
