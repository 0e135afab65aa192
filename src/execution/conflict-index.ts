import { ExecutionCategory } from '../core/enums.js';
import { concurrencyOf } from '../core/enum-order.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { kindOfKey, touchesOf } from '../tool/touches.js';

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
  /** What the call touches; only of readers and writers. */
  readonly reads: TouchedKeys;
  readonly writes: TouchedKeys;
}

/** Keys, or `anything` when a tool does not say them. */
export type TouchedKeys = readonly string[] | 'anything';

/** Takes down what a call is, from its tool's entry; without one it runs alone. */
export function profileCall(position: number, name: string, input: unknown, entry: ToolEntry | undefined): CallProfile {
  if (entry === undefined) return { position, toolName: name, known: false, role: 'alone', serial: true, reads: 'anything', writes: 'anything' };
  const role = ROLES[concurrencyOf(entry)];
  const { reads, writes } = touchedBy(role, entry, input);
  return { position, toolName: entry.name, known: true, role, serial: !entry.allowParallel, reads, writes };
}

function touchedBy(role: CallRole, entry: ToolEntry, input: unknown): Pick<CallProfile, 'reads' | 'writes'> {
  if (role === 'computing') return { reads: [], writes: [] };
  const said = role === 'alone' ? undefined : touchesOf(entry, input);
  return said ?? { reads: 'anything', writes: role === 'reader' ? [] : 'anything' };
}

const ROLES: Readonly<Record<ExecutionCategory, CallRole>> = {
  [ExecutionCategory.READ_ONLY]: 'reader',
  [ExecutionCategory.NETWORK]: 'reader',
  [ExecutionCategory.COMPUTE]: 'computing',
  [ExecutionCategory.WRITE]: 'writer',
  [ExecutionCategory.EXECUTE]: 'writer',
  [ExecutionCategory.MIXED]: 'alone',
};

/** A call and the batch it is in. */
export interface PlacedCall {
  readonly call: CallProfile;
  readonly batch: number;
}

/**
 * The calls planned so far, of which it finds the one that a further call must wait for.
 *
 * It remembers, for each thing that calls can conflict over, only the call in the latest batch: so a look-up takes as
 * long as the call's keys are, however many calls there are.
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
    const { reads, writes } = call;
    const writer = later(later(general, this.#writers.latestMeeting(writes)), reads === writes ? undefined : this.#writers.latestMeeting(reads));
    return later(writer, this.#readers.latestMeeting(writes));
  }

  add(placed: PlacedCall): void {
    const { role, serial, toolName, reads, writes } = placed.call;
    this.#all = later(this.#all, placed);
    if (serial) this.#serial.set(toolName, placed); // Always later than the one before it.
    if (role === 'alone') {
      this.#alone = placed; // Later than everything before it.
      return;
    }
    this.#writers.add(placed, writes);
    // Whoever looks for readers looks for writers too.
    if (reads !== writes) this.#readers.add(placed, reads);
  }
}

/** The latest of the calls that read or of those that write: of all, of those that may touch anything, and by keys. */
class Lane {
  #all: PlacedCall | undefined;
  #anything: PlacedCall | undefined;
  readonly #keys = new KeyTree<PlacedCall>(later);

  latestMeeting(keys: TouchedKeys): PlacedCall | undefined {
    if (keys === 'anything') return this.#all;
    if (keys.length === 0) return undefined;
    let latest = this.#anything;
    for (const key of keys) latest = later(latest, this.#keys.meeting(key));
    return latest;
  }

  add(placed: PlacedCall, keys: TouchedKeys): void {
    if (keys.length === 0) return;
    this.#all = later(this.#all, placed);
    if (keys === 'anything') this.#anything = later(this.#anything, placed);
    else for (const key of keys) this.#keys.add(key, placed);
  }
}

/** Of two calls in one batch the first. */
function later(a: PlacedCall | undefined, b: PlacedCall | undefined): PlacedCall | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.batch > a.batch ? b : a;
}

interface KeyNode<T> {
  /** Of the keys that end here, of those of them that cover what is below, and of all from here down. */
  here?: T | undefined;
  covering?: T | undefined;
  below?: T | undefined;
  readonly children: Map<string, KeyNode<T>>;
}

/** Values by keys: which one is at a key, at a key that covers it, or at a key that it covers. Of several, `pick` keeps one. */
export class KeyTree<T> {
  readonly #root: KeyNode<T> = { children: new Map() };
  readonly #pick: (before: T | undefined, now: T | undefined) => T | undefined;

  constructor(pick: (before: T | undefined, now: T | undefined) => T | undefined) {
    this.#pick = pick;
  }

  add(key: string, value: T): void {
    const { parts, covers } = partsOf(key);
    let node = this.#root;
    for (const part of parts) {
      node.below = this.#pick(node.below, value);
      let child = node.children.get(part);
      if (child === undefined) node.children.set(part, (child = { children: new Map() }));
      node = child;
    }
    node.below = this.#pick(node.below, value);
    node.here = this.#pick(node.here, value);
    if (covers) node.covering = this.#pick(node.covering, value);
  }

  meeting(key: string): T | undefined {
    const { parts, covers } = partsOf(key);
    let node = this.#root;
    let found: T | undefined;
    for (const part of parts) {
      found = this.#pick(found, node.covering);
      const child = node.children.get(part);
      if (child === undefined) return found;
      node = child;
    }
    return this.#pick(found, covers ? node.below : node.here);
  }
}

/** A key from its kind down; a trailing `/`, or nothing after the kind, means that it covers what is below. */
function partsOf(key: string): { readonly parts: readonly string[]; readonly covers: boolean } {
  const kind = kindOfKey(key);
  if (kind !== '' && kind.length === key.length) return { parts: [kind], covers: true };
  const covers = key.endsWith('/');
  const parts = key.slice(kind.length, covers ? -1 : undefined).split('/');
  return { parts: kind === '' ? parts : [kind, ...parts], covers };
}
