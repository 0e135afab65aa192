import { expectedGot } from '../../core/issues.js';
import { canonicalJson, cloneFrozen, compareText, describeValue, digestOf, isPlainObject, type Json } from '../../core/plain-data.js';

/** A tool's whole definition as its server sent it, frozen. */
export type PinnedDefinition = Readonly<Record<string, Json>> & { readonly name: string };

/** A remembered definition of a tool. */
export interface Pin {
  /** The SHA-256 of the definition's canonical JSON, as 64 hexadecimal digits. */
  readonly digest: string;
  /** The definition itself, so that a change can be shown and not only noticed. */
  readonly definition: PinnedDefinition;
}

/** A definition's pin, or the reason why it can have none; `name` where it has one. */
export type Pinnable = { readonly ok: true; readonly name: string; readonly pin: Pin } | { readonly ok: false; readonly name?: string; readonly reason: string };

/** Characters of a definition's JSON: 256 Ki, several times the largest real ones. */
const MAX_LENGTH = 262_144;
/** Levels of a definition: the lock file may have 64, and has some around it. */
const MAX_DEPTH = 48;
const HALF_CHARACTER = /\p{Surrogate}/u;

/**
 * Returns the pin of a raw definition: of everything in it, `_meta` and unknown fields too.
 *
 * No field is left out. Hosts act on `_meta` (which page to show, whether to load a tool at once), translation reads
 * fields that the protocol does not have, and a field that is not pinned is where the next trick goes. A server that
 * writes a time of day into its definitions cannot be pinned; the diff then says which field it is.
 */
export function pinOf(tool: unknown): Pinnable {
  if (!isPlainObject(tool)) return { ok: false, reason: expectedGot('a definition as an object', describeValue(tool)) };
  const name: unknown = Object.hasOwn(tool, 'name') ? tool['name'] : undefined;
  if (typeof name !== 'string' || name === '') return { ok: false, reason: expectedGot('a definition with a name', 'none') };
  const refused = (expected: string, got: string): Pinnable => ({ ok: false, name, reason: expectedGot(expected, got, 'It cannot be pinned.') });
  let definition: PinnedDefinition;
  try {
    definition = cloneFrozen(tool) as PinnedDefinition;
  } catch {
    return refused('a definition of plain data, at most 64 levels deep', 'another');
  }
  const fault = faultOf(definition, 0);
  if (fault !== undefined) return refused(...fault);
  const { length } = canonicalJson(definition);
  if (length > MAX_LENGTH) return refused(`a definition of at most ${MAX_LENGTH} characters`, String(length));
  return { ok: true, name, pin: Object.freeze({ digest: digestOf(definition), definition }) };
}

/** Returns what was expected and what came where the lock file could not hold a value. */
function faultOf(value: Json, depth: number): readonly [expected: string, got: string] | undefined {
  if (depth > MAX_DEPTH) return [`a definition at most ${MAX_DEPTH} levels deep`, 'a deeper one'];
  if (typeof value === 'string') return HALF_CHARACTER.test(value) ? ['text of whole characters', 'half of a surrogate pair'] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const fault = faultOf(key, depth) ?? faultOf(item, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The pins by server and by the tool's name there: in maps, because both names come from outside. */
export class PinTable {
  readonly #servers = new Map<string, Map<string, Pin>>();

  get size(): number {
    return [...this.#servers.values()].reduce((sum, tools) => sum + tools.size, 0);
  }

  countOf(server: string): number {
    return this.#servers.get(server)?.size ?? 0;
  }

  get(server: string, tool: string): Pin | undefined {
    return this.#servers.get(server)?.get(tool);
  }

  set(server: string, tool: string, pin: Pin): void {
    const tools = this.#servers.get(server) ?? new Map<string, Pin>();
    this.#servers.set(server, tools.set(tool, pin));
  }

  delete(server: string, tool: string): boolean {
    const tools = this.#servers.get(server);
    const had = tools?.delete(tool) === true;
    if (tools?.size === 0) this.#servers.delete(server);
    return had;
  }

  /** Gives all pins, by server and then by tool. */
  *entries(): IterableIterator<readonly [server: string, tool: string, pin: Pin]> {
    for (const [server, tools] of sorted(this.#servers)) for (const [tool, pin] of sorted(tools)) yield [server, tool, pin];
  }
}

function sorted<T>(map: ReadonlyMap<string, T>): (readonly [string, T])[] {
  return [...map].sort(([a], [b]) => compareText(a, b));
}
