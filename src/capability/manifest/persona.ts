/** By what personas are compared: trimmed, composed, in lower case. */
export function personaKey(persona: string): string {
  return persona.normalize('NFC').trim().toLowerCase();
}

/** Whether an allow-list lets a persona through; without a list all are, by an empty list none, and nobody by any list. */
export function allowsPersona(allowlist: readonly string[] | undefined, persona: string | undefined): boolean {
  if (allowlist === undefined) return true;
  return persona !== undefined && allowlist.some((each) => personaKey(each) === personaKey(persona));
}

/** Of tools of one name the persona's own is kept, in the place of the shared one. */
export function overrideShared<T extends { readonly persona?: string }>(tools: readonly T[], nameOf: (tool: T) => string): readonly T[] {
  const byName = new Map<string, T>();
  for (const tool of tools) {
    const known = byName.get(nameOf(tool));
    if (known === undefined || known.persona === undefined) byName.set(nameOf(tool), tool);
  }
  return [...byName.values()];
}
