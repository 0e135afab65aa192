import { ExecutionCategory } from '../core/enums.js';
import { concurrencyOf } from '../core/enum-order.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** Keys of one call that are believed: more is a tool that touches everything, which is what no keys mean. */
const MAX_KEYS = 1_000;
/** Characters of one key. */
const MAX_KEY_LENGTH = 1_024;

/**
 * How a call bears on others.
 *
 * `reader` sees what others change, `writer` changes it, `computing` does neither, and of `alone` nothing is known that
 * would let it run beside anything.
 */
type CallRole = 'reader' | 'computing' | 'writer' | 'alone';

/** All that planning needs to know of a call. */
export interface CallProfile {
  readonly position: number;
  /** The tool's own name; of an unknown tool the name as it was called. */
  readonly toolName: string;
  readonly known: boolean;
  readonly role: CallRole;
  /** Whether calls of this tool never run beside each other. */
  readonly serial: boolean;
  /** What the call touches; nothing when that is not known. Only of readers and writers. */
  readonly keys: ReadonlySet<string> | undefined;
}

/** Takes down what a call is, from its tool's entry; without one it runs alone. */
export function profileCall(position: number, name: string, input: unknown, entry: ToolEntry | undefined): CallProfile {
  if (entry === undefined) return { position, toolName: name, known: false, role: 'alone', serial: true, keys: undefined };
  const role = ROLES[concurrencyOf(entry)];
  const keys = role === 'reader' || role === 'writer' ? keysOf(entry, input) : undefined;
  return { position, toolName: entry.name, known: true, role, serial: !entry.allowParallel, keys };
}

const ROLES: Readonly<Record<ExecutionCategory, CallRole>> = {
  [ExecutionCategory.READ_ONLY]: 'reader',
  [ExecutionCategory.NETWORK]: 'reader',
  [ExecutionCategory.COMPUTE]: 'computing',
  [ExecutionCategory.WRITE]: 'writer',
  [ExecutionCategory.EXECUTE]: 'writer',
  [ExecutionCategory.MIXED]: 'alone',
};

/** The keys that a tool's author names for a call. Whatever is wrong with them means that none are known: the safe side. */
function keysOf(entry: ToolEntry, input: unknown): ReadonlySet<string> | undefined {
  try {
    const answer: unknown = entry.conflictKeys?.(input);
    if (!Array.isArray(answer)) {
      // An async function does not fit the option's type; were its rejection not caught, it would end the process.
      if (answer instanceof Promise) answer.catch(() => undefined);
      return undefined;
    }
    const { length } = answer;
    if (length === 0 || length > MAX_KEYS) return undefined;
    const keys = new Set<string>();
    for (let index = 0; index < length; index++) {
      const key: unknown = answer[index];
      if (typeof key !== 'string' || key.length > MAX_KEY_LENGTH) return undefined;
      keys.add(key);
    }
    return keys;
  } catch {
    return undefined; // The input may be anything that a model made up; only the call itself reports what is wrong with it.
  }
}

/** A call and the batch it is in. */
export interface PlacedCall {
  readonly call: CallProfile;
  readonly batch: number;
}

/**
 * The calls planned so far, of which it finds the one that a further call must wait for.
 *
 * It remembers, for each thing that calls can conflict over, only the call in the latest batch: so a look-up takes as
 * long as the call has keys, however many calls there are.
 */
export class ConflictIndex {
  #all: PlacedCall | undefined;
  #alone: PlacedCall | undefined;
  readonly #readers = new Lane();
  readonly #writers = new Lane();
  /** By the names of tools that do not run beside themselves. */
  readonly #serial = new Map<string, PlacedCall>();

  /** The call in the latest batch that conflicts with this one; of several in that batch one, always the same. */
  latestConflict(call: CallProfile): PlacedCall | undefined {
    if (call.role === 'alone') return this.#all;
    const general = later(this.#alone, call.serial ? this.#serial.get(call.toolName) : undefined);
    if (call.role === 'computing') return general;
    const writer = later(general, this.#writers.latestMeeting(call.keys));
    return call.role === 'reader' ? writer : later(writer, this.#readers.latestMeeting(call.keys));
  }

  add(placed: PlacedCall): void {
    const { role, serial, toolName } = placed.call;
    this.#all = later(this.#all, placed);
    if (serial) this.#serial.set(toolName, placed); // Always later than the one before it.
    if (role === 'alone') this.#alone = placed; // Later than everything before it.
    if (role === 'reader') this.#readers.add(placed);
    if (role === 'writer') this.#writers.add(placed);
  }
}

/** The latest of the readers or of the writers: of all, of those that may touch anything, and of those that touch a key. */
class Lane {
  #all: PlacedCall | undefined;
  #keyless: PlacedCall | undefined;
  readonly #byKey = new Map<string, PlacedCall>();

  latestMeeting(keys: CallProfile['keys']): PlacedCall | undefined {
    if (keys === undefined) return this.#all;
    let latest = this.#keyless;
    for (const key of keys) latest = later(latest, this.#byKey.get(key));
    return latest;
  }

  add(placed: PlacedCall): void {
    this.#all = later(this.#all, placed);
    const { keys } = placed.call;
    if (keys === undefined) this.#keyless = later(this.#keyless, placed);
    else for (const key of keys) this.#byKey.set(key, later(this.#byKey.get(key), placed)!);
  }
}

/** Of two calls in one batch the first. */
function later(a: PlacedCall | undefined, b: PlacedCall | undefined): PlacedCall | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.batch > a.batch ? b : a;
}
