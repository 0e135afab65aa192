import type { CallProfile } from './call-profile.js';

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
