import { randomUUID } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { AWAIT, expectedGot, invalidArgument, unknownOption } from '../core/issues.js';
import { describeValue, isPlainObject, isPromise, isShownByJson } from '../core/plain-data.js';
import type { ToolCall } from '../safety/calls.js';
import { boundInput } from '../tool/bound-input.js';
import type { ExecuteOptions } from './executor-options.js';

/** Reads a call, adding an id if it has none. A call without a name matches no tool. */
export function readCall(call: unknown): ToolCall {
  const { id, name, input } = (call ?? {}) as Record<string, unknown>;
  return {
    id: typeof id === 'string' && id !== '' ? id : randomUUID(),
    name: typeof name === 'string' ? name : '',
    input,
  };
}

/**
 * Returns a copy of a list of calls and their inputs.
 *
 * @throws ToolError `INVALID_ARGUMENT` if `calls` isn't a list of calls with names.
 */
export function readCalls(calls: unknown): readonly ToolCall[] {
  if (!Array.isArray(calls)) throw invalidArgument('a list of calls', calls);
  const read = Array.from(calls as readonly unknown[], readCall);
  const position = read.findIndex(({ name }) => name === '');
  if (position !== -1)
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The call at position ${position} has no tool name. Write { id, name, input }.`,
    );
  return read.map((call) => ({ ...call, input: copyOf(call.input) }));
}

/**
 * Returns a frozen copy. If a value can't be copied, returns it unchanged: the call is refused
 * later, when it runs.
 */
function copyOf(value: unknown): unknown {
  try {
    return boundInput(value);
  } catch {
    return value;
  }
}

/** The options of a call and their types. `context` can have any type. */
const OPTIONS: Readonly<Record<keyof ExecuteOptions, string>> = {
  principal: 'string',
  scopes: 'object',
  flags: 'object',
  persona: 'string',
  conversationId: 'string',
  mode: 'string',
  policy: 'object',
  signal: 'object',
  confirm: 'function',
  idempotencyKey: 'string',
  context: 'any',
  onStart: 'function',
};

/**
 * Returns a copy of a call's options. A context that is plain data is copied too.
 *
 * @throws ToolError `INVALID_ARGUMENT` for unknown and invalid options. Ignoring a misspelled
 * `principal` would run the call without a principal.
 */
export function readOptions(options: ExecuteOptions): ExecuteOptions {
  const read = { ...options };
  for (const option of Object.keys(read) as (keyof ExecuteOptions)[]) {
    const kind = OPTIONS[option] as string | undefined;
    if (kind === undefined)
      throw new ToolError('INVALID_ARGUMENT', unknownOption(option, Object.keys(OPTIONS)));
    const value = read[option];
    if (
      value !== undefined &&
      kind !== 'any' &&
      (typeof value !== kind || value === null || isPromise(value))
    )
      throw invalidArgument(`${option} as ${kind === 'object' ? 'an' : 'a'} ${kind}`, value);
  }
  if (read.context === undefined || !isShownByJson(read.context)) return read;
  return { ...read, context: copyOf(read.context) };
}

/** Names that model APIs use instead of `input` and `name`. */
const MISNOMERS: readonly (readonly [string, readonly string[]])[] = [
  ['input', ['arguments', 'args', 'parameters']],
  ['name', ['toolName', 'tool', 'function']],
];

/**
 * @throws ToolError `TOOL_NOT_FOUND` if `call` isn't a call. `INVALID_INPUT` if its input has
 * another name, because the tool would run without arguments.
 */
export function assertCall(call: unknown): void {
  if (!isPlainObject(call))
    throw new ToolError(
      'TOOL_NOT_FOUND',
      expectedGot(
        'a call as { id, name, input }',
        describeValue(call),
        isPromise(call)
          ? AWAIT
          : 'Write execute({ id, name, input }). Use executeAll(calls) for several calls.',
      ),
    );
  for (const [field, misnomers] of MISNOMERS) {
    const misnomer = field in call ? undefined : misnomers.find((each) => each in call);
    if (misnomer !== undefined)
      throw new ToolError(
        field === 'name' ? 'TOOL_NOT_FOUND' : 'INVALID_INPUT',
        expectedGot(`the call's ${field} under ${field}`, misnomer, 'Write { id, name, input }.'),
      );
  }
}
