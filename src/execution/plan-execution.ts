import { concurrencyOf } from '../core/enum-order.js';
import { ExecutionCategory } from '../core/enums.js';
import { isToolError, ToolError } from '../core/errors.js';
import { invalidArgument } from '../core/issues.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { ToolCall } from '../safety/calls.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { kindOfKey, touchesOf } from '../tool/touches.js';

/** A call as a program gives it: its `id` may be missing. To be planned, its `input` is what `conflictKeys` are asked with. */
export type PlannableCall = Omit<ToolCall, 'id'> & Partial<Pick<ToolCall, 'id'>>;

/** A call and its place in a plan. */
export type PlannedCall = {
  /** The position in the list of calls, from 0. */
  readonly position: number;
  readonly id: string;
  /** The tool's own name, also when it was called by an alias; of an unknown tool the name as it was called. */
  readonly toolName: string;
  /** The position in the list of batches, from 0. */
  readonly batch: number;
  /** The reason why it is not in an earlier batch: a conflicting call of the batch before, and what they conflict over. Missing in batch 0. */
  readonly after?: { readonly position: number; readonly reason: string };
};

/** The calls that run together, and their order; frozen. */
export interface ExecutionPlan {
  /** Batches, to be run one after another: positions of calls that may run at the same time, ascending. */
  readonly batches: readonly (readonly number[])[];
  /** The calls in the order in which they were given. */
  readonly calls: readonly PlannedCall[];
}

/**
 * Plans which calls of one turn may run at the same time; calls that conflict keep their order.
 *
 * ```ts
 * import { defineTool, planExecution, ToolMetadataRegistry } from 'tooldex';
 *
 * const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
 * const conflictKeys = (input: unknown) => [`file:${(input as { path: string }).path}`];
 * const registry = new ToolMetadataRegistry();
 * registry.register(defineTool({ name: 'read', description: 'Reads a file', inputSchema, accessMode: 'readonly', conflictKeys, execute: () => 1 }));
 * registry.register(defineTool({ name: 'write', description: 'Writes a file', inputSchema, accessMode: 'write', allowParallel: true, conflictKeys, execute: () => 1 }));
 *
 * const plan = planExecution(registry, [
 *   { name: 'write', input: { path: 'a.txt' } },
 *   { name: 'write', input: { path: 'b.txt' } },
 *   { name: 'read', input: { path: './a.txt' } },
 * ]);
 * console.log(plan.batches); // [[0, 1], [2]]
 * console.log(plan.calls[2]?.after?.reason); // after call 0, write: both touch file:a.txt
 * ```
 *
 * The conflicts, by access mode and execution category of the tools:
 * - a tool that is `mixed` in either, or unknown, runs alone;
 * - two calls of which one or both write (`write` or `execute` in either), unless both say what they touch (`conflictKeys`)
 *   and neither writes what the other reads or writes; a key is read as a path (`./a.txt` is `a.txt`), and one that ends in `/`,
 *   or is a kind alone, covers all below it;
 * - two calls of one tool that has `allowParallel: false`, under any of its names;
 * - calls that read, or use the network readonly, conflict with writing ones only; readonly `compute` with neither.
 *
 * A call is in the earliest batch after all earlier calls that it conflicts with, so further calls never move earlier
 * ones. Keys that fail, are no lists of text, an empty list, more than 1,000 or longer than 1,024 characters count as not
 * known. Where a schema transforms its input (defaults, trimming), give the input as checked by it: keys of raw input
 * may name something else than the call then touches.
 *
 * Time and memory grow with the number of calls and keys, not with pairs of calls.
 *
 * @throws ToolError `INVALID_ARGUMENT` naming the position of what is no call; nothing is planned then.
 */
export function planExecution(
  registry: Pick<ToolMetadataRegistry, 'get'>,
  calls: readonly PlannableCall[],
): ExecutionPlan {
  if (Array.isArray(registry))
    throw invalidArgument(
      'a registry of tools as the first argument',
      registry,
      'Call planExecution(registry, calls).',
    );
  if (typeof (registry as Partial<typeof registry> | undefined | null)?.get !== 'function')
    throw invalidArgument('a registry of tools', registry);
  const checked = checkCalls(calls);

  const index = new ConflictIndex();
  const batches: number[][] = [];
  const planned = checked.map(({ id, name, input }, position): PlannedCall => {
    const call = profileCall(position, name, input, registry.get(name));
    const waitsFor = index.latestConflict(call);
    const batch = waitsFor === undefined ? 0 : waitsFor.batch + 1;
    index.add({ call, batch });
    (batches[batch] ??= []).push(position);
    const { toolName } = call;
    if (waitsFor === undefined) return Object.freeze({ position, id, toolName, batch });
    // Written out: a spread of the common fields takes half the time of planning.
    const after = Object.freeze({
      position: waitsFor.call.position,
      reason: explainWait(waitsFor.call, call),
    });
    return Object.freeze({ position, id, toolName, batch, after });
  });
  return Object.freeze({
    batches: Object.freeze(batches.map((batch) => Object.freeze(batch))),
    calls: Object.freeze(planned),
  });
}

/** Reads every field once and before any tool is asked: a list that changed meanwhile would be planned in parts. */
function checkCalls(calls: unknown): readonly Required<PlannableCall>[] {
  try {
    if (!Array.isArray(calls)) throw invalidArgument('a list of calls', calls);
    const checked: Required<PlannableCall>[] = [];
    for (let position = 0; position < calls.length; position++)
      checked.push(checkCall(calls[position], position));
    return checked;
  } catch (error) {
    if (isToolError(error)) throw error;
    throw new ToolError(
      'INVALID_ARGUMENT',
      'Expected a list of calls as {name, input}, got one that fails when it is read.',
      { cause: error },
    );
  }
}

function checkCall(call: unknown, position: number): Required<PlannableCall> {
  if (typeof call !== 'object' || call === null)
    throw invalidArgument(`{name, input} at position ${position} of the calls`, call);
  const { id = `call-${position}`, name, input } = call as Record<keyof PlannableCall, unknown>;
  if (typeof name !== 'string')
    throw invalidArgument(`a text as the name of the call at position ${position}`, name);
  if (typeof id !== 'string')
    throw invalidArgument(`a text as the id of the call at position ${position}`, id);
  return { id, name, input };
}

/** Characters of a name or key in an explanation: names of unknown tools and keys are as long as a model makes them. */
const SHOWN_LENGTH = 100;

/** Returns why a call waits for an earlier one that it conflicts with, in plain words. */
function explainWait(earlier: CallProfile, call: CallProfile): string {
  return `after call ${earlier.position}, ${shown(earlier.toolName)}: ${reason(earlier, call)}`;
}

function reason(earlier: CallProfile, call: CallProfile): string {
  for (const { role, known, toolName } of [earlier, call]) {
    if (role !== 'alone') continue;
    return known
      ? `${shown(toolName)} runs alone, since it may read, write or run anything`
      : `no tool ${shown(toolName)} is known, and unknown ones run alone`;
  }
  if (call.serial && earlier.toolName === call.toolName)
    return `${shown(call.toolName)} does not run beside itself`;
  const key =
    commonKey(earlier.writes, call.writes) ??
    commonKey(earlier.writes, call.reads) ??
    commonKey(earlier.reads, call.writes);
  if (key !== undefined) return `both touch ${shown(key)}`;
  const silent = [earlier, call]
    .filter(({ reads }) => reads === 'anything')
    .map(({ toolName }) => shown(toolName));
  const writers = [earlier, call]
    .filter(({ writes }) => writes.length > 0)
    .map(({ toolName }) => shown(toolName));
  return `${writers.length === 2 ? 'both write' : `${writers[0]} writes`}, and ${silent.length === 2 ? 'neither says' : `${silent[0]} does not say`} what it touches`;
}

/** The first key of the later call that an earlier one meets: of the two the narrower. */
function commonKey(earlier: TouchedKeys, later: TouchedKeys): string | undefined {
  if (earlier === 'anything' || later === 'anything') return undefined;
  if (earlier[0] === later[0]) return later[0]; // Mostly it is one file, and the tree is not needed.
  const keys = new KeyTree<string>((before, now) => before ?? now);
  for (const key of earlier) keys.add(key, key);
  for (const key of later) {
    const met = keys.meeting(key);
    if (met !== undefined) return met.length > key.length ? met : key;
  }
  return undefined;
}

/** A line end or an escape in a name would forge lines where plans are logged. */
function shown(text: string): string {
  const cut = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '�');
}

/**
 * The way in which a call bears on others.
 *
 * `reader` sees what others change, `writer` changes it, `computing` does neither, and of `alone` nothing is known that
 * would let it run beside anything.
 */
type CallRole = 'reader' | 'computing' | 'writer' | 'alone';

/** The facts of a call that planning needs. */
interface CallProfile {
  readonly position: number;
  /** The tool's own name; of an unknown tool the name as it was called. */
  readonly toolName: string;
  readonly known: boolean;
  readonly role: CallRole;
  /** Calls of this tool never run beside each other. */
  readonly serial: boolean;
  /** The keys that the call touches; only of readers and writers. */
  readonly reads: TouchedKeys;
  readonly writes: TouchedKeys;
}

/** Keys, or `anything` when a tool does not say them. */
type TouchedKeys = readonly string[] | 'anything';

/** Reads what a call is from its tool's entry; without one it runs alone. */
function profileCall(
  position: number,
  name: string,
  input: unknown,
  entry: ToolEntry | undefined,
): CallProfile {
  if (entry === undefined)
    return {
      position,
      toolName: name,
      known: false,
      role: 'alone',
      serial: true,
      reads: 'anything',
      writes: 'anything',
    };
  const role = ROLES[concurrencyOf(entry)];
  const { reads, writes } = touchedBy(role, entry, input);
  return {
    position,
    toolName: entry.name,
    known: true,
    role,
    serial: !entry.allowParallel,
    reads,
    writes,
  };
}

function touchedBy(
  role: CallRole,
  entry: ToolEntry,
  input: unknown,
): Pick<CallProfile, 'reads' | 'writes'> {
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
interface PlacedCall {
  readonly call: CallProfile;
  readonly batch: number;
}

/**
 * The calls planned so far, of which it finds the one that a further call must wait for.
 *
 * It remembers, for each thing that calls can conflict over, only the call in the latest batch: so a look-up takes as
 * long as the call's keys are, however many calls there are.
 */
class ConflictIndex {
  #all: PlacedCall | undefined;
  #alone: PlacedCall | undefined;
  readonly #readers = new Lane();
  readonly #writers = new Lane();
  /** Calls of tools that do not run beside themselves, by the names of the tools. */
  readonly #serial = new Map<string, PlacedCall>();

  /** The call in the latest batch that conflicts with this one; of several in that batch one, always the same. */
  latestConflict(call: CallProfile): PlacedCall | undefined {
    if (call.role === 'alone') return this.#all;
    const general = later(this.#alone, call.serial ? this.#serial.get(call.toolName) : undefined);
    const { reads, writes } = call;
    const writer = later(
      later(general, this.#writers.latestMeeting(writes)),
      reads === writes ? undefined : this.#writers.latestMeeting(reads),
    );
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

/** Returns the call in the later batch; of two in one batch the first. */
function later(a: PlacedCall | undefined, b: PlacedCall | undefined): PlacedCall | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.batch > a.batch ? b : a;
}

interface KeyNode<T> {
  /** Values of the keys that end here, of those of them that cover what is below, and of all from here down. */
  here?: T | undefined;
  covering?: T | undefined;
  below?: T | undefined;
  readonly children: Map<string, KeyNode<T>>;
}

/** Values by keys: which one is at a key, at a key that covers it, or at a key that it covers. Of several, `pick` keeps one. */
class KeyTree<T> {
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
