import { ToolError } from '../../core/errors.js';
import { cloneFrozen, describeValue } from '../../core/plain-data.js';
import type { Approval } from '../../safety/approvals.js';
import type { ToolCall } from '../../safety/tool-call.js';
import { boundInput } from '../../tool/input/bound-input.js';
import type { ExecuteOptions } from '../executor-options.js';

// Calls and options are read once. What answers differently the second time would be judged as one thing and run as another.

/** A call as it is now; one that cannot be read has no name, so that no tool will be found. */
export function readCall(call: unknown): ToolCall {
  try {
    const { id, name, input } = call as Record<string, unknown>;
    return Object.freeze({ id: typeof id === 'string' ? id : '', name: typeof name === 'string' ? name : '', input });
  } catch {
    return Object.freeze({ id: '', name: '' });
  }
}

/**
 * A list of calls as they are now, their input included.
 *
 * @throws ToolError `INVALID_ARGUMENT` for what is no list of calls with names.
 */
export function readCalls(calls: unknown): readonly ToolCall[] {
  let read: readonly ToolCall[] | undefined;
  try {
    read = Array.isArray(calls) ? Array.from(calls, readCall) : undefined;
  } catch {
    // A hostile proxy.
  }
  if (read === undefined) throw new ToolError('INVALID_ARGUMENT', `Expected a list of calls, found ${Array.isArray(calls) ? 'one that cannot be read' : describeValue(calls)}`);
  const position = read.findIndex(({ name }) => name === '');
  if (position !== -1) throw new ToolError('INVALID_ARGUMENT', `Expected calls with the name of a tool, found none at position ${position}; give { id, name, input }`);
  return read.map((call) => Object.freeze({ ...call, input: readInput(call.input) }));
}

/** Input that cannot be copied is left as it is: it will be refused when its call is made. */
function readInput(input: unknown): unknown {
  try {
    return boundInput(input);
  } catch {
    return input;
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isFunction = (value: unknown): boolean => typeof value === 'function';
const OPTIONS: Readonly<Record<keyof ExecuteOptions, readonly [what: string, (value: unknown) => boolean]>> = {
  principal: ['a text', isText],
  scopes: ['a list of texts', (value) => Array.isArray(value) && value.every(isText)],
  persona: ['a text', isText],
  conversationId: ['a text', isText],
  mode: ['a mode of the policy', isText],
  approval: ['an approval', () => true],
  signal: ['an AbortSignal', (value) => value instanceof AbortSignal],
  confirm: ['a function', isFunction],
  idempotencyKey: ['a text', isText],
};

/**
 * The options of a call as they are now.
 *
 * @throws ToolError `INVALID_ARGUMENT` for unknown and wrong options: a misspelt `principal` would make a call nobody's.
 */
export function readOptions(options: unknown): ExecuteOptions {
  const read: Record<string, unknown> = {};
  try {
    for (const [option, value] of Object.entries(options as object)) {
      if (!Object.hasOwn(OPTIONS, option)) throw new ToolError('INVALID_ARGUMENT', `Expected only the options ${Object.keys(OPTIONS).join(', ')}, found ${describeValue(option)}`);
      if (value === undefined) continue;
      const [what, fits] = OPTIONS[option as keyof ExecuteOptions];
      if (!fits(value)) throw new ToolError('INVALID_ARGUMENT', `Expected ${option} as ${what}, found ${describeValue(value)}`);
      read[option] = option === 'approval' ? readApproval(value) : value;
    }
    if (typeof options !== 'object' || options === null) throw new TypeError();
  } catch (error) {
    throw error instanceof ToolError ? error : new ToolError('INVALID_ARGUMENT', 'Expected the options of a call as an object, found something else');
  }
  return read;
}

/** What is no plain data was never granted. */
function readApproval(approval: unknown): Approval {
  try {
    return cloneFrozen(approval ?? {}) as Approval;
  } catch {
    return {} as Approval;
  }
}
