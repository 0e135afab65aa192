import { isToolError, ToolError } from '../core/errors.js';
import { invalidArgument } from '../core/issues.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { ToolCall } from '../safety/calls.js';
import { type CallProfile, ConflictIndex, KeyTree, profileCall, type TouchedKeys } from './conflict-index.js';

/** A call to be planned: its `id` may be missing, its `input` is what `conflictKeys` are asked with. */
export type PlannableCall = Omit<ToolCall, 'id'> & Partial<Pick<ToolCall, 'id'>>;

/** A call and its place in a plan. */
export type PlannedCall = {
  /** In the list of calls, from 0. */
  readonly position: number;
  readonly id: string;
  /** The tool's own name, also when it was called by an alias; of an unknown tool the name as it was called. */
  readonly toolName: string;
  /** In the list of batches, from 0. */
  readonly batch: number;
  /** Why it is not in an earlier batch: a conflicting call of the batch before, and what they conflict over. Missing in batch 0. */
  readonly after?: { readonly position: number; readonly reason: string };
};

/** Which calls run together, and in which order; frozen. */
export interface ExecutionPlan {
  /** To be run one after another: positions of calls that may run at the same time, ascending. */
  readonly batches: readonly (readonly number[])[];
  /** In the order in which they were given. */
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
 * registry.register(defineTool({ name: 'read', description: 'Reads a file', inputSchema, accessMode: 'readonly', conflictKeys }));
 * registry.register(defineTool({ name: 'write', description: 'Writes a file', inputSchema, accessMode: 'write', allowParallel: true, conflictKeys }));
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
 * What conflicts, by access mode and execution category of the tools:
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
export function planExecution(registry: Pick<ToolMetadataRegistry, 'get'>, calls: readonly PlannableCall[]): ExecutionPlan {
  if (Array.isArray(registry)) throw invalidArgument('a registry of tools as the first argument', registry, 'Call planExecution(registry, calls).');
  if (typeof (registry as Partial<typeof registry> | undefined | null)?.get !== 'function') throw invalidArgument('a registry of tools', registry);
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
    const after = Object.freeze({ position: waitsFor.call.position, reason: explainWait(waitsFor.call, call) });
    return Object.freeze({ position, id, toolName, batch, after });
  });
  return Object.freeze({ batches: Object.freeze(batches.map((batch) => Object.freeze(batch))), calls: Object.freeze(planned) });
}

/** Reads every field once and before any tool is asked: a list that changed meanwhile would be planned in parts. */
function checkCalls(calls: unknown): readonly Required<PlannableCall>[] {
  try {
    if (!Array.isArray(calls)) throw invalidArgument('a list of calls', calls);
    const checked: Required<PlannableCall>[] = [];
    for (let position = 0; position < calls.length; position++) checked.push(checkCall(calls[position], position));
    return checked;
  } catch (error) {
    if (isToolError(error)) throw error;
    throw new ToolError('INVALID_ARGUMENT', 'Expected a list of calls as {name, input}, found one that fails when it is read', { cause: error });
  }
}

function checkCall(call: unknown, position: number): Required<PlannableCall> {
  if (typeof call !== 'object' || call === null) throw invalidArgument(`{name, input} at position ${position} of the calls`, call);
  const { id = `call-${position}`, name, input } = call as Record<keyof PlannableCall, unknown>;
  if (typeof name !== 'string') throw invalidArgument(`a text as the name of the call at position ${position}`, name);
  if (typeof id !== 'string') throw invalidArgument(`a text as the id of the call at position ${position}`, id);
  return { id, name, input };
}

/** Characters of a name or key in an explanation: names of unknown tools and keys are as long as a model makes them. */
const SHOWN_LENGTH = 100;

/** Why a call waits for an earlier one that it conflicts with, in plain words. */
function explainWait(earlier: CallProfile, call: CallProfile): string {
  return `after call ${earlier.position}, ${shown(earlier.toolName)}: ${reason(earlier, call)}`;
}

function reason(earlier: CallProfile, call: CallProfile): string {
  for (const { role, known, toolName } of [earlier, call]) {
    if (role !== 'alone') continue;
    return known ? `${shown(toolName)} runs alone, since it may read, write or run anything` : `no tool ${shown(toolName)} is known, and unknown ones run alone`;
  }
  if (call.serial && earlier.toolName === call.toolName) return `${shown(call.toolName)} does not run beside itself`;
  const key = commonKey(earlier.writes, call.writes) ?? commonKey(earlier.writes, call.reads) ?? commonKey(earlier.reads, call.writes);
  if (key !== undefined) return `both touch ${shown(key)}`;
  const silent = [earlier, call].filter(({ reads }) => reads === 'anything').map(({ toolName }) => shown(toolName));
  const writers = [earlier, call].filter(({ writes }) => writes.length > 0).map(({ toolName }) => shown(toolName));
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
