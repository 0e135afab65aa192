import { randomUUID } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { AWAIT, expectedGot, invalidArgument, unknownOption } from '../core/issues.js';
import { cloneFrozen, describeValue, isPlainObject, isShownByJson } from '../core/plain-data.js';
import type { Approval } from '../safety/approvals.js';
import type { Policy, ToolCall } from '../safety/calls.js';
import { boundInput } from '../tool/bound-input.js';
import type { ExecuteAllOptions, ExecuteOptions } from './executor-options.js';

/** A call that cannot be made: it has no name, so that no tool is its. */
const NO_CALL: ToolCall = Object.freeze({ id: '', name: '' });

/** Returns a call as it is now, with an id of its own if it came without. */
export function readCall(call: unknown): ToolCall {
  try {
    const { id, name, input } = call as Record<string, unknown>;
    return {
      id: typeof id === 'string' && id !== '' ? id : randomUUID(),
      name: typeof name === 'string' ? name : '',
      input,
    };
  } catch {
    return NO_CALL;
  }
}

/**
 * Returns a list of calls as they are now, their input included.
 *
 * @throws ToolError `INVALID_ARGUMENT` for what is no list of calls with names.
 */
export function readCalls(calls: unknown): readonly ToolCall[] {
  if (!Array.isArray(calls)) throw invalidArgument('a list of calls', calls);
  const read = Array.from(calls as readonly unknown[], readCall);
  const position = read.findIndex(({ name }) => name === '');
  if (position !== -1)
    throw refused(
      'calls with the name of a tool',
      `none at position ${position}`,
      'Give { id, name, input }.',
    );
  return read.map(({ id, name, input }) => ({ id, name, input: inputAsIs(input) }));
}

/** Input that cannot be copied is left as it is: it will be refused when its call is made. */
function inputAsIs(input: unknown): unknown {
  try {
    return boundInput(input);
  } catch {
    return input;
  }
}

type Kind = readonly [what: string, fits: (value: unknown) => boolean];
const TEXT: Kind = ['a string', (value) => typeof value === 'string'];
const TEXTS: Kind = [
  'a list of strings',
  (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
];
const FUNCTION: Kind = ['a function', (value) => typeof value === 'function'];
const ANYTHING: Kind = ['anything', () => true];
const OPTIONS: Readonly<Record<keyof ExecuteOptions, Kind>> = {
  principal: TEXT,
  scopes: TEXTS,
  flags: TEXTS,
  persona: TEXT,
  conversationId: TEXT,
  mode: ['a mode of the policy', TEXT[1]],
  policy: [
    'a policy with a decide method',
    (value) => typeof (value as Partial<Policy> | null)?.decide === 'function',
  ],
  approval: ANYTHING,
  signal: ['an AbortSignal', (value) => value instanceof AbortSignal],
  confirm: FUNCTION,
  idempotencyKey: TEXT,
  context: ANYTHING,
  onStart: FUNCTION,
};

/**
 * Returns the options of a call as they are now.
 *
 * @throws ToolError `INVALID_ARGUMENT` for unknown and wrong options: a misspelt `principal` would make a call nobody's.
 */
export function readOptions(options: unknown): ExecuteOptions {
  if (typeof options !== 'object' || options === null)
    throw invalidArgument('the options of a call as an object', options);
  const read: Record<string, unknown> = {};
  for (const option of Object.keys(options)) {
    const value = (options as Record<string, unknown>)[option];
    if (!Object.hasOwn(OPTIONS, option))
      throw new ToolError('INVALID_ARGUMENT', unknownOption(option, Object.keys(OPTIONS)));
    if (value === undefined) continue;
    const [what, fits] = OPTIONS[option as keyof ExecuteOptions];
    if (!fits(value)) throw invalidArgument(`${option} as ${what}`, value);
    read[option] = option === 'approval' ? readApproval(value) : value;
  }
  if (read['context'] !== undefined) read['context'] = readContext(read['context']);
  return read;
}

/** Returns a context as it is now. One that is not plain data stays the object it is. */
function readContext(context: unknown): unknown {
  try {
    return isShownByJson(context) ? boundInput(context) : context;
  } catch {
    return context; // More than an input may hold.
  }
}

/** Copies an approval; one that is no plain data was never granted. @throws ToolError `INVALID_APPROVAL` for a promise, and for what is no object. */
function readApproval(approval: unknown): Approval {
  const what = typeof approval === 'string' ? 'a string' : describeValue(approval);
  if (typeof approval !== 'object' || what === 'a promise')
    throw new ToolError(
      'INVALID_APPROVAL',
      expectedGot(
        'the approval that executor.approve(pending) resolves to',
        what,
        what === 'a promise' ? AWAIT : 'Give what await executor.approve(outcome.pending) returns.',
      ),
    );
  try {
    return cloneFrozen(approval ?? {}) as Approval;
  } catch {
    return {} as Approval;
  }
}

/**
 * Returns the options of several calls as they are now.
 *
 * @throws ToolError `INVALID_ARGUMENT` as `readOptions` does.
 */
export function readAllOptions(options: unknown): {
  readonly options: ExecuteOptions;
  readonly approvals: readonly Approval[];
  readonly onOutcome: ExecuteAllOptions['onOutcome'];
} {
  if (!isPlainObject(options)) throw invalidArgument('the options of calls as an object', options);
  const { approvals = [], onOutcome, ...others } = options;
  if (onOutcome !== undefined && typeof onOutcome !== 'function')
    throw invalidArgument('onOutcome as a function', onOutcome);
  for (const alone of ['approval', 'idempotencyKey'])
    if (Object.hasOwn(others, alone))
      throw refused(
        `no ${alone} for several calls`,
        'one',
        'Give approvals, a list: each finds its call.',
      );
  if (!(Array.isArray(approvals) && approvals.every(isPlainObject)))
    throw invalidArgument('approvals as a list of approvals', approvals);
  return {
    options: readOptions(others),
    approvals: approvals.map(readApproval),
    onOutcome: onOutcome as ExecuteAllOptions['onOutcome'],
  };
}

function refused(expected: string, got: string, advice?: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', expectedGot(expected, got, advice));
}

/** Names that the formats of model APIs give the input, and the tool. */
const MISNOMERS = {
  input: ['arguments', 'args', 'parameters'],
  name: ['toolName', 'tool', 'function'],
};

/** @throws ToolError `TOOL_NOT_FOUND` for what is no call; `INVALID_INPUT` for one whose input has another name: it would run with no arguments at all. */
export function assertCall(call: unknown): void {
  if (typeof call !== 'object' || call === null || Array.isArray(call) || call instanceof Promise)
    throw new ToolError(
      'TOOL_NOT_FOUND',
      Array.isArray(call)
        ? expectedGot('one call', 'a list', 'Make several with executeAll(calls).')
        : expectedGot(
            'a call as { id, name, input }',
            describeValue(call),
            call instanceof Promise
              ? AWAIT
              : "Write execute({ id: '1', name: 'the_tool', input: { … } }).",
          ),
    );
  if ('input' in call && 'name' in call) return;
  const misnamed = misnomerIn(call, 'name');
  if (misnamed !== undefined)
    throw new ToolError(
      'TOOL_NOT_FOUND',
      expectedGot('the tool of a call as its name', misnamed, 'Give { id, name, input }.'),
    );
  const misnomer = misnomerIn(call, 'input');
  if (misnomer !== undefined)
    throw new ToolError(
      'INVALID_INPUT',
      expectedGot(
        'the arguments of a call as its input',
        misnomer,
        'Give { id, name, input }, with input as an object and not as text.',
      ),
    );
}

function misnomerIn(call: object, field: keyof typeof MISNOMERS): string | undefined {
  if (field in call) return undefined;
  return MISNOMERS[field].find((misnomer) => Object.hasOwn(call, misnomer));
}
