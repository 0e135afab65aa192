import { expectedGot } from '../../core/issues.js';
import {
  canonicalJson,
  cloneFrozen,
  compareText,
  describeValue,
  digestOf,
  isPlainObject,
  type Json,
} from '../../core/plain-data.js';

/** A tool's whole definition as its server sent it, frozen. */
export type PinnedDefinition = Readonly<Record<string, Json>> & { readonly name: string };

/** A remembered definition of a tool, by the names of its server and of the tool there. */
export interface Pin {
  readonly server: string;
  readonly tool: string;
  /** The SHA-256 of the definition's canonical JSON, as 64 hexadecimal digits. */
  readonly digest: string;
  /** The definition itself, so that a change can be shown and not only noticed. */
  readonly definition: PinnedDefinition;
}

/** A definition's pin, or the reason why it can have none; `tool` where it has a name. */
type Pinnable =
  | { readonly ok: true; readonly tool: string; readonly pin: Pin }
  | { readonly ok: false; readonly tool?: string; readonly reason: string };

/** The maximum length of a definition's JSON: 256 Ki characters, several times the largest real definition. */
const MAX_LENGTH = 262_144;

/**
 * Returns the pin of a raw definition with all of its fields, including `_meta` and unknown ones.
 *
 * Hosts act on `_meta`, translation reads fields that the protocol doesn't have, and an attack would use any field that is
 * not pinned. A server that writes the time of day into its definitions cannot be pinned; the diff names the field.
 */
export function pinOf(server: string, raw: unknown): Pinnable {
  if (!isPlainObject(raw))
    return { ok: false, reason: expectedGot('a definition as an object', describeValue(raw)) };
  const tool: unknown = Object.hasOwn(raw, 'name') ? raw['name'] : undefined;
  if (typeof tool !== 'string' || tool === '')
    return { ok: false, reason: expectedGot('a definition with a name', 'none') };
  const refused = (expected: string, got: string): Pinnable => ({
    ok: false,
    tool,
    reason: expectedGot(expected, got, 'It cannot be pinned.'),
  });
  let definition: PinnedDefinition;
  try {
    definition = cloneFrozen(raw) as PinnedDefinition;
  } catch {
    return refused('a definition of plain data, at most 64 levels deep', 'another');
  }
  const { length } = canonicalJson(definition);
  if (length > MAX_LENGTH)
    return refused(`a definition of at most ${MAX_LENGTH} characters`, String(length));
  return {
    ok: true,
    tool,
    pin: Object.freeze({ server, tool, digest: digestOf(definition), definition }),
  };
}

/** The pins by `keyOf`: in one map, because both names come from outside. */
export type PinTable = Map<string, Pin>;

/** Returns the key of a tool of a server. */
export function keyOf(server: string, tool: string): string {
  return JSON.stringify([server, tool]);
}

/** Returns all pins, by server and then by tool. */
export function sortedPins(pins: PinTable): readonly Pin[] {
  return [...pins.values()].sort(
    (a, b) => compareText(a.server, b.server) || compareText(a.tool, b.tool),
  );
}
