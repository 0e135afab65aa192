import { randomUUID } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { AWAIT, expectedGot, invalidArgument, unknownOption } from '../core/issues.js';
import { describeValue, isShownByJson } from '../core/plain-data.js';
import type { ToolCall } from '../safety/calls.js';
import { boundInput } from '../tool/bound-input.js';
import type { ExecuteOptions } from './executor-options.js';

/** Returns a call with an id of its own if it came without; one without a name is no tool's. */
export function readCall(call: unknown): ToolCall {
  const { id, name, input } = (call ?? {}) as Record<string, unknown>;
  return {
    id: typeof id === 'string' && id !== '' ? id : randomUUID(),
    name: typeof name === 'string' ? name : '',
    input,
  };
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
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        'calls with the name of a tool',
        `none at position ${position}`,
        'Give { id, name, input }.',
      ),
    );
  return read.map((call) => ({ ...call, input: copyOf(call.input) }));
}

/** Returns a frozen copy. What cannot be copied is left as it is: as input it is refused when its call is made. */
function copyOf(value: unknown): unknown {
  try {
    return boundInput(value);
  } catch {
    return value;
  }
}

/** The options of a call and their types; a context may be anything. */
const OPTIONS: Readonly<Record<keyof ExecuteOptions, string>> = {
  principal: 'string',
  scopes: 'object',
  flags: 'object',
  persona: 'string',
  conversationId: 'string',
  mode: 'string',
  policy: 'object',
  approval: 'any',
  signal: 'object',
  confirm: 'function',
  idempotencyKey: 'string',
  context: 'any',
  onStart: 'function',
};

/** @throws ToolError `INVALID_APPROVAL` for a promise, `true`, and anything else that is no object. */
function assertApproval(approval: unknown): void {
  if (approval === undefined || (typeof approval === 'object' && !(approval instanceof Promise)))
    return;
  throw new ToolError(
    'INVALID_APPROVAL',
    expectedGot(
      'the approval that executor.approve(pending) resolves to',
      describeValue(approval),
      approval instanceof Promise
        ? AWAIT
        : 'Give what await executor.approve(outcome.pending) returns.',
    ),
  );
}

/**
 * Returns the options of a call as they are now; a context that is plain data is copied.
 *
 * @throws ToolError `INVALID_ARGUMENT` for unknown and wrong options: a misspelt `principal` would make a call nobody's.
 */
export function readOptions(options: ExecuteOptions): ExecuteOptions {
  const read = { ...options };
  for (const option of Object.keys(read) as (keyof ExecuteOptions)[]) {
    const kind = OPTIONS[option] as string | undefined;
    if (kind === undefined)
      throw new ToolError('INVALID_ARGUMENT', unknownOption(option, Object.keys(OPTIONS)));
    const value = read[option];
    if (option === 'approval') assertApproval(value);
    if (value !== undefined && kind !== 'any' && (typeof value !== kind || value === null))
      throw invalidArgument(`${option} as ${kind === 'object' ? 'an' : 'a'} ${kind}`, value);
  }
  if (read.context === undefined || !isShownByJson(read.context)) return read;
  return { ...read, context: copyOf(read.context) };
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
