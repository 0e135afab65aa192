/**
 * Returns a persona's name normalized for comparison: trimmed, composed (Unicode NFC) and in lower
 * case.
 */
export function personaKey(persona: string): string {
  return persona.normalize('NFC').trim().toLowerCase();
}

/**
 * Returns true if an allow-list admits a persona. A missing list admits everyone, and an empty list
 * admits nobody. A caller without a persona is admitted only if the list is missing.
 */
export function allowsPersona(
  allowlist: readonly string[] | undefined,
  persona: string | undefined,
): boolean {
  if (allowlist === undefined) return true;
  return (
    persona !== undefined && allowlist.some((each) => personaKey(each) === personaKey(persona))
  );
}
