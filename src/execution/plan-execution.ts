import { concurrencyOf } from '../core/enum-order.js';
import { ExecutionCategory } from '../core/enums.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { ToolCall } from '../safety/calls.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { kindOfKey, touchesOf } from '../tool/touches.js';

/**
 * A call as provided by a program; `id` is optional. For planning, `conflictKeys` receives this
 * `input` unchanged.
 */
export type PlannableCall = Omit<ToolCall, 'id'> & Partial<Pick<ToolCall, 'id'>>;

/** A call and its position in a plan. */
type PlannedCall = {
  /** The index in the list of calls. */
  readonly position: number;
  readonly id: string;
  /**
   * The tool's own name, even if the call uses an alias. If the tool is unknown, the name in the
   * call.
   */
  readonly toolName: string;
  /** The index in the list of batches. */
  readonly batch: number;
  /**
   * The reason why the call isn't in an earlier batch: a conflicting call in the previous batch,
   * and the cause of the conflict. Calls in batch 0 have no reason.
   */
  readonly after?: { readonly position: number; readonly reason: string };
};

/** A plan that defines which calls run together, and in what order. Frozen. */
export interface ExecutionPlan {
  /**
   * The batches, in the order in which they run. Each batch lists the indexes of the calls that can
   * run at the same time, in ascending order.
   */
  readonly batches: readonly (readonly number[])[];
  /** The calls, in the given order. */
  readonly calls: readonly PlannedCall[];
}

/**
 * Plans which calls of one turn can run at the same time. Calls that conflict keep their order.
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
 * Whether calls conflict depends on the access mode and execution category of their tools:
 * - A tool that is unknown, or whose access mode or category is `mixed`, runs alone.
 * - A call that writes (access mode or category `write` or `execute`) conflicts with reads and
 *   other writes. Two calls that both return `conflictKeys` don't conflict if neither call writes
 *   what the other touches.
 * - Calls of a tool with `allowParallel: false` conflict with each other, even under different
 *   aliases.
 * - Calls that only read, including over the network, conflict only with writes. Readonly `compute`
 *   calls never conflict.
 *
 * Keys are treated as paths, so `./a.txt` is the same as `a.txt`. A key that ends in `/` or
 * consists only of a kind covers everything below it. The keys of a call are unknown if
 * `conflictKeys` throws, or if it returns no keys, more than 1,000 keys, keys over 1,024
 * characters, or values that aren't strings.
 *
 * Each call goes into the first batch after all earlier calls that it conflicts with, so added
 * calls never move earlier calls. If a schema transforms its input (with defaults or trimming, for
 * example), pass the parsed input: keys derived from the raw input may be wrong.
 *
 * Time and memory grow with the number of calls and keys, not with the number of pairs of calls.
 */
export function planExecution(
  registry: Pick<ToolMetadataRegistry, 'get'>,
  calls: readonly PlannableCall[],
): ExecutionPlan {
  /**
   * Maps each mark to the call that left the mark. If several calls left it, the first call in the
   * latest batch is kept.
   */
  const left = new Map<string, PlacedCall>();
  const batches: number[][] = [];
  const planned = calls.map((each, position): PlannedCall => {
    const { id = `call-${position}`, name, input } = each;
    const call = profileCall(name, input, registry.get(name));
    const { leaves, waitsFor } = marksOf(call);
    let earlier: PlacedCall | undefined;
    let met = '';
    for (const mark of waitsFor) {
      const found = later(earlier, left.get(mark));
      if (found === earlier) continue;
      earlier = found;
      met = mark;
    }
    const batch = earlier === undefined ? 0 : earlier.batch + 1;
    for (const mark of leaves) left.set(mark, later(left.get(mark), { call, batch, position })!);
    (batches[batch] ??= []).push(position);
    const { toolName } = call;
    if (earlier === undefined) return Object.freeze({ position, id, toolName, batch });
    const after = Object.freeze({
      position: earlier.position,
      reason: `after call ${earlier.position}, ${shown(earlier.call.toolName)}: ${reason(earlier.call, call, met)}`,
    });
    return Object.freeze({ position, id, toolName, batch, after });
  });
  return Object.freeze({
    batches: Object.freeze(batches.map((batch) => Object.freeze(batch))),
    calls: Object.freeze(planned),
  });
}

/**
 * The maximum length of a name or key in an explanation, because names and keys from models can be
 * arbitrarily long.
 */
const SHOWN_LENGTH = 100;

/** Matches a mark of a key. */
const KEY_MARK = /^(?:reads|writes) (?:at|over|below) (.*)$/s;

/** Explains why a call waits for an earlier call that left a mark. */
function reason(earlier: CallProfile, call: CallProfile, mark: string): string {
  for (const { role, isKnown, toolName } of [earlier, call]) {
    if (role !== 'alone') continue;
    return isKnown
      ? `${shown(toolName)} runs alone, because it may read, write or run anything`
      : `there is no tool named ${shown(toolName)}, and unknown tools run alone`;
  }
  if (mark.startsWith('tool ')) return `calls to ${shown(call.toolName)} run one at a time`;
  const key = KEY_MARK.exec(mark)?.[1];
  if (key !== undefined) return `both touch ${shown(key)}`;
  const silent = [earlier, call].find(({ reads }) => reads === 'anything')!;
  const writer = [earlier, call].find(({ writes }) => writes.length > 0)!;
  return `${shown(writer.toolName)} writes, and ${shown(silent.toolName)} doesn't declare what it touches`;
}

/** A line break or an escape sequence in a name could forge log lines. */
function shown(text: string): string {
  const cut = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '�');
}

/**
 * The effect of a call on other calls.
 *
 * A `reader` sees what other calls change, a `writer` changes something, and a `computing` call
 * does neither. An `alone` call could do anything, so no other call runs at the same time.
 */
type CallRole = 'reader' | 'computing' | 'writer' | 'alone';

/** The information about a call that planning needs. */
interface CallProfile {
  /** The tool's own name. If the tool is unknown, the name in the call. */
  readonly toolName: string;
  readonly isKnown: boolean;
  readonly role: CallRole;
  /** True if calls of this tool must not run in parallel. */
  readonly serial: boolean;
  /** The keys that the call touches. The keys are used only for readers and writers. */
  readonly reads: TouchedKeys;
  readonly writes: TouchedKeys;
}

/** The touched keys, or `anything` if they're unknown. */
type TouchedKeys = readonly string[] | 'anything';

/** Reads the planning information from a tool's entry. A call of an unknown tool runs alone. */
function profileCall(name: string, input: unknown, entry: ToolEntry | undefined): CallProfile {
  if (entry === undefined)
    return {
      toolName: name,
      isKnown: false,
      role: 'alone',
      serial: true,
      reads: 'anything',
      writes: 'anything',
    };
  const role = ROLES[concurrencyOf(entry)];
  const { reads, writes } = touchedBy(role, entry, input);
  return {
    toolName: entry.name,
    isKnown: true,
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

/**
 * Returns the marks that a call leaves for later calls, and the marks it must wait for. Two calls
 * conflict if the later call waits for a mark that the earlier call left.
 */
function marksOf({ role, serial, toolName, ...keys }: CallProfile): {
  readonly leaves: readonly string[];
  readonly waitsFor: readonly string[];
} {
  if (role === 'alone')
    return { leaves: ['any call', 'alone', `tool ${toolName}`], waitsFor: ['any call'] };
  const own = serial ? [`tool ${toolName}`] : [];
  const leaves = ['any call', ...own];
  const waitsFor = ['alone', ...own];
  for (const kind of ['reads', 'writes'] as const) {
    const touched = keys[kind];
    if (touched.length === 0) continue;
    const isAny = touched === 'anything';
    const left = isAny ? ['anything'] : touched.flatMap((key) => leftBy(key));
    const met = isAny ? [''] : ['anything', ...touched.flatMap((key) => metBy(key))];
    leaves.push(...['', ...left].map((mark) => `${kind} ${mark}`));
    for (const other of kind === 'reads' ? ['writes'] : ['writes', 'reads'])
      waitsFor.push(...met.map((mark) => `${other} ${mark}`));
  }
  return { leaves, waitsFor };
}

/**
 * Returns the marks that a key leaves: one at its own path, one over everything it covers, and one
 * below each of its parents.
 */
function leftBy(key: string): readonly string[] {
  const spots = spotsOf(key);
  const own = spots.at(-1)!;
  const below = spots.map((spot) => `below ${spot}`);
  return [`at ${own}`, ...(covers(key) ? [`over ${own}`] : []), ...below];
}

/**
 * Returns the marks that conflict with a key: marks at its path, marks that cover the key, and
 * marks that the key covers.
 */
function metBy(key: string): readonly string[] {
  const spots = spotsOf(key);
  const own = spots.at(-1)!;
  return [covers(key) ? `below ${own}` : `at ${own}`, ...spots.map((spot) => `over ${spot}`)];
}

/** Returns true if a key covers everything below it: it ends in `/` or consists only of a kind. */
function covers(key: string): boolean {
  return key.endsWith('/') || (key !== '' && kindOfKey(key) === key);
}

/** Returns a key's parents and the key itself: `file:`, `file:a`, and `file:a/b` for `file:a/b`. */
function spotsOf(key: string): readonly string[] {
  const kind = kindOfKey(key);
  if (kind !== '' && kind === key) return [kind];
  const path = key.endsWith('/') ? key.slice(0, -1) : key;
  const spots = kind === '' ? [] : [kind];
  for (let at = path.indexOf('/', kind.length); at !== -1; at = path.indexOf('/', at + 1))
    spots.push(path.slice(0, at));
  return [...spots, path];
}

/** A call and its batch. */
interface PlacedCall {
  readonly call: CallProfile;
  readonly batch: number;
  readonly position: number;
}

/** Returns the call in the later batch, or the first argument if both are in the same batch. */
function later(a: PlacedCall | undefined, b: PlacedCall | undefined): PlacedCall | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.batch > a.batch ? b : a;
}
