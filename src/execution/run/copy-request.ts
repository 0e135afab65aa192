import { ToolError } from '../../core/errors.js';
import { expectedGot, invalidArgument, unknownOption } from '../../core/issues.js';
import { cloneFrozen, isPlainObject, isShownByJson } from '../../core/plain-data.js';
import type { Approval } from '../../safety/approvals.js';
import type { CallContext, Policy, ToolCall, ToolOutcome } from '../../safety/calls.js';
import { boundInput } from '../../tool/input/bound-input.js';
import type { ExecuteOptions } from '../executor-options.js';

/** Hears the outcome of one of several calls as soon as it is there. */
export type OnOutcome = (outcome: ToolOutcome) => void | Promise<void>;

/** The options of `check`: who calls, and a signal that gives the call up. */
export interface CheckOptions extends CallContext {
  /** Asked beside the executor's own policy; the stricter of both decides. */
  readonly policy?: Policy;
  readonly signal?: AbortSignal;
}

export interface ExecuteAllOptions extends Omit<ExecuteOptions, 'approval' | 'idempotencyKey'> {
  /** Approvals of some of the calls; each finds its call by `callId`. */
  readonly approvals?: readonly Approval[];
  /** Hears each outcome as soon as it is there; calls that run after it wait for what it returns. It must not throw. */
  readonly onOutcome?: OnOutcome;
}

// Calls and options are read once. What answers differently the second time would be judged as one thing and run as another.

/** Calls that were read here: reading them again would give the same. */
const READ = new WeakSet<object>();

/** A call as it is now; one that cannot be read has no name, so that no tool will be found. */
export function copyCall(call: unknown): ToolCall {
  try {
    if (READ.has(call as object)) return call as ToolCall;
    const { id, name, input } = call as Record<string, unknown>;
    return readCall(typeof id === 'string' ? id : '', typeof name === 'string' ? name : '', input);
  } catch {
    return readCall('', '', undefined);
  }
}

function readCall(id: string, name: string, input: unknown): ToolCall {
  const read = Object.freeze({ id, name, input });
  READ.add(read);
  return read;
}

/**
 * A list of calls as they are now, their input included.
 *
 * @throws ToolError `INVALID_ARGUMENT` for what is no list of calls with names.
 */
export function copyCalls(calls: unknown): readonly ToolCall[] {
  let read: readonly ToolCall[] | undefined;
  try {
    read = Array.isArray(calls) ? Array.from(calls, copyCall) : undefined;
  } catch {
    // A hostile proxy.
  }
  if (read === undefined) throw Array.isArray(calls) ? refused('a list of calls', 'one that cannot be read') : invalidArgument('a list of calls', calls);
  const position = read.findIndex(({ name }) => name === '');
  if (position !== -1) throw refused('calls with the name of a tool', `none at position ${position}`, 'Give { id, name, input }.');
  return read.map(({ id, name, input }) => readCall(id, name, copyInput(input)));
}

/** Input that cannot be copied is left as it is: it will be refused when its call is made. */
function copyInput(input: unknown): unknown {
  try {
    return boundInput(input);
  } catch {
    return input;
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isFunction = (value: unknown): boolean => typeof value === 'function';
const OPTIONS: Readonly<Record<keyof ExecuteOptions, readonly [what: string, (value: unknown) => boolean]>> = {
  principal: ['a string', isText],
  scopes: ['a list of strings', (value) => Array.isArray(value) && value.every(isText)],
  flags: ['a list of strings', (value) => Array.isArray(value) && value.every(isText)],
  persona: ['a string', isText],
  conversationId: ['a string', isText],
  mode: ['a mode of the policy', isText],
  policy: ['a policy with a decide method', (value) => typeof (value as Partial<Policy> | null)?.decide === 'function'],
  approval: ['an approval', () => true],
  signal: ['an AbortSignal', (value) => value instanceof AbortSignal],
  confirm: ['a function', isFunction],
  idempotencyKey: ['a string', isText],
  context: ['anything', () => true],
  onStart: ['a function', isFunction],
};

/**
 * The options of a call as they are now.
 *
 * @throws ToolError `INVALID_ARGUMENT` for unknown and wrong options: a misspelt `principal` would make a call nobody's.
 */
export function copyOptions(options: unknown): ExecuteOptions {
  const read: Record<string, unknown> = {};
  try {
    for (const [option, value] of Object.entries(options as object)) {
      if (!Object.hasOwn(OPTIONS, option)) throw new ToolError('INVALID_ARGUMENT', unknownOption(option, Object.keys(OPTIONS)));
      if (value === undefined) continue;
      const [what, fits] = OPTIONS[option as keyof ExecuteOptions];
      if (!fits(value)) throw invalidArgument(`${option} as ${what}`, value);
      read[option] = option === 'approval' ? copyApproval(value) : option === 'context' ? copyContext(value) : value;
    }
    if (typeof options !== 'object' || options === null) throw new TypeError();
  } catch (error) {
    throw error instanceof ToolError ? error : refused('the options of a call as an object', 'something else');
  }
  return read;
}

/** A context as it is now. One that is not plain data stays the object it is, which can change: no answer is kept for it. */
function copyContext(context: unknown): unknown {
  try {
    return isShownByJson(context) ? boundInput(context) : context;
  } catch {
    return context; // More than an input may hold.
  }
}

/** What is no plain data was never granted. */
function copyApproval(approval: unknown): Approval {
  try {
    return cloneFrozen(approval ?? {}) as Approval;
  } catch {
    return {} as Approval;
  }
}

/**
 * The options of several calls as they are now.
 *
 * @throws ToolError `INVALID_ARGUMENT` as `copyOptions` does.
 */
export function copyAllOptions(options: unknown): ExecuteOptions & { readonly approvals: readonly Approval[]; readonly onOutcome: OnOutcome | undefined } {
  if (!isPlainObject(options)) throw invalidArgument('the options of calls as an object', options);
  const { approvals = [], onOutcome, ...others } = options;
  if (onOutcome !== undefined && !isFunction(onOutcome)) throw invalidArgument('onOutcome as a function', onOutcome);
  for (const alone of ['approval', 'idempotencyKey']) {
    if (Object.hasOwn(others, alone)) throw refused(`no ${alone} for several calls`, 'one', 'Give approvals, a list: each finds its call.');
  }
  if (!(Array.isArray(approvals) && approvals.every(isPlainObject))) throw invalidArgument('approvals as a list of approvals', approvals);
  return { ...copyOptions(others), approvals: approvals.map(copyApproval), onOutcome: onOutcome as OnOutcome | undefined };
}

function refused(expected: string, got: string, advice?: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', expectedGot(expected, got, advice));
}

/** What the formats of model APIs call the input. */
const MISNOMERS = ['arguments', 'args', 'parameters'];

/** @throws ToolError `INVALID_INPUT` for a call whose input has another name: it would run with no arguments at all. */
export function assertNoMisnomer(call: unknown): void {
  const found = misnomerIn(call);
  if (found !== undefined) throw new ToolError('INVALID_INPUT', expectedGot('the arguments of a call as its input', found, 'Give { id, name, input }, with input as an object and not as text.'));
}

function misnomerIn(call: unknown): string | undefined {
  try {
    if (!isPlainObject(call) || Object.hasOwn(call, 'input')) return undefined;
    return MISNOMERS.find((field) => Object.hasOwn(call, field));
  } catch {
    return undefined; // A hostile proxy; it has no name either.
  }
}
