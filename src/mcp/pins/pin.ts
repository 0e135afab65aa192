import { expectedGot } from '../../core/issues.js';
import {
  canonicalJson,
  cloneFrozen,
  describeValue,
  digestOf,
  isPlainObject,
  type Json,
} from '../../core/plain-data.js';

/** A tool's whole definition as its server sent it, frozen. */
export type PinnedDefinition = Readonly<Record<string, Json>> & { readonly name: string };

/** A tool's approved definition, with the names of its server and the tool. */
interface Pin {
  readonly server: string;
  readonly tool: string;
  /** The SHA-256 of the definition's canonical JSON, as 64 hexadecimal digits. */
  readonly digest: string;
  /** The definition itself. With the digest alone, a change could be detected but not shown. */
  readonly definition: PinnedDefinition;
}

/**
 * A definition's pin, or the reason why the definition can't be pinned. `tool` is its name, if it
 * has one.
 */
type Pinnable =
  | { readonly ok: true; readonly tool: string; readonly pin: Pin }
  | { readonly ok: false; readonly tool?: string; readonly reason: string };

/**
 * Maximum length of a definition's JSON: 256 Ki characters, several times the largest real
 * definition.
 */
const MAX_LENGTH = 262_144;

/**
 * Returns the pin of a raw definition with all its fields, including `_meta` and unknown ones.
 *
 * All fields are pinned, because an attack would use any field that isn't: hosts act on `_meta`,
 * and translation reads fields beyond the protocol. A server that writes the time of day into its
 * definitions breaks its pins every time; the diff shows the field.
 */
export function pinOf(server: string, raw: unknown): Pinnable {
  if (!isPlainObject(raw))
    return { ok: false, reason: expectedGot('a definition as an object', describeValue(raw)) };
  const tool: unknown = Object.hasOwn(raw, 'name') ? raw['name'] : undefined;
  if (typeof tool !== 'string' || tool === '')
    return { ok: false, reason: 'The definition has no name.' };
  const refused = (why: string): Pinnable => ({
    ok: false,
    tool,
    reason: `This definition can't be pinned: ${why}.`,
  });
  let definition: PinnedDefinition;
  try {
    definition = cloneFrozen(raw) as PinnedDefinition;
  } catch {
    return refused('it is not plain data, or has more than 64 levels');
  }
  const { length } = canonicalJson(definition);
  if (length > MAX_LENGTH)
    return refused(`it has ${length} characters, but at most ${MAX_LENGTH} are allowed`);
  return {
    ok: true,
    tool,
    pin: Object.freeze({ server, tool, digest: digestOf(definition), definition }),
  };
}

/** Pins by their `keyOf`. */
export type PinTable = Map<string, Pin>;

/** Returns the key for a server's tool. */
export function pinKeyOf(server: string, tool: string): string {
  return JSON.stringify([server, tool]);
}
