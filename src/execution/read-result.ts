import { isToolError, type ToolError, type Issue } from '../core/errors.js';
import { cloneFrozen, isError, isPlainJson, isPlainObject, type Json } from '../core/plain-data.js';
import { publicMessage, withoutHosts } from '../core/public-message.js';
import { compileJsonSchema } from '../json-schema/compile-json-schema.js';
import type { OutcomeBody } from '../safety/calls.js';
import { plainValue, unshownText } from '../safety/read-outcome.js';
import { boundInput } from '../tool/bound-input.js';
import type { ContentPart } from '../tool/content.js';
import { standardIssues } from '../tool/input-issues.js';
import { isToolResult, type ToolResult } from '../tool/outcome.js';
import type { Question } from '../tool/question.js';
import { isStandardSchema, type StandardSchema } from '../tool/tool-schema.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ExecutorFrame } from './executor-options.js';

type Failure = Extract<OutcomeBody, { status: 'error' }>;
/** A tool's question that isn't stored yet. */
export type AskedUser = { readonly status: 'ask_user' } & Question;
/** The result of a tool's work. */
export type WorkBody = Exclude<OutcomeBody, { status: 'ask_user' }> | AskedUser;

/** The maximum size of a result that is checked against a schema: 16 MiB of JSON. */
const MOST_BYTES = 16 * 2 ** 20;
/** The maximum number of issues listed for one result. */
const MOST_ISSUES = 20;

/**
 * Converts a tool's return value into an outcome. A plain value is the tool's result, and
 * `undefined` is treated as null. Only the helpers `fail`, `askUser` and `halt` produce other
 * outcomes.
 *
 * The result must match the tool's `outputSchema`, and the outcome contains the value that the
 * schema produces. A result that doesn't match, or isn't JSON-serializable, becomes
 * `INVALID_RESULT`. An `INVALID_RESULT` outcome includes the value for programs. The value of
 * `halt` is checked in the same way.
 */
export function readResult(entry: ToolEntry, returned: unknown): WorkBody | Promise<WorkBody> {
  return isToolResult(returned) ? readOwnResult(entry, returned) : checkAnswer(entry, returned);
}

async function readOwnResult(entry: ToolEntry, returned: ToolResult): Promise<WorkBody> {
  switch (returned.status) {
    case 'ok': {
      const answer = await checkAnswer(entry, returned.value);
      return answer.status === 'ok' ? { ...answer, ...contentOf(returned) } : answer;
    }
    case 'error':
      return { ...returned, code: 'EXECUTION_FAILED', origin: 'reported' };
    case 'ask_user':
      return { ...returned };
    case 'halt':
      return readHalt(entry, returned);
  }
}

function contentOf({ content = [] }: { readonly content?: readonly ContentPart[] }) {
  return content.length > 0 ? { content } : {};
}

/**
 * Reads a `halt` result. A `halt` without a value needs no check. Even if the value is refused, the
 * run still ends.
 */
async function readHalt(
  entry: ToolEntry,
  result: Extract<ToolResult, { status: 'halt' }>,
): Promise<OutcomeBody> {
  const { reason, value } = result;
  const answer: Answered =
    (value ?? null) === null ? { status: 'ok', value: null } : await checkAnswer(entry, value);
  return answer.status === 'ok'
    ? { status: 'halt', reason, value: answer.value, ...contentOf(result) }
    : { ...answer, haltReason: reason };
}

type Answered = Failure | Extract<OutcomeBody, { status: 'ok' }>;

/**
 * Checks a result against the output schema. Returns a promise only if the output schema is a
 * Standard Schema.
 */
function checkAnswer(
  { name, outputSchema }: ToolEntry,
  returned: unknown,
): Answered | Promise<Answered> {
  const result = returned === undefined ? null : returned;
  return isStandardSchema(outputSchema)
    ? checkStandard(name, result, outputSchema['~standard'])
    : checkPlain(name, result, result, outputSchema);
}

async function checkStandard(
  name: string,
  result: unknown,
  { validate, vendor }: StandardSchema['~standard'],
): Promise<Answered> {
  try {
    const parsed = await validate(result);
    return parsed.issues === undefined
      ? checkPlain(name, result, parsed.value, undefined)
      : broken(name, result, standardIssues(parsed.issues, vendor, result as Json));
  } catch {
    return broken(name, result, [THREW]);
  }
}

function checkPlain(
  name: string,
  result: unknown,
  value: unknown,
  schema: object | undefined,
): Answered {
  if (schema === undefined && isPlainJson(value)) return { status: 'ok', value };
  try {
    const { data } = plainValue(value);
    const issues = schema === undefined ? [] : answerIssues(schema, data);
    return issues.length > 0 ? broken(name, result, issues) : { status: 'ok', value };
  } catch (error) {
    return invalid(unshownText(name, (error as TypeError).message), result);
  }
}

const THREW: Issue = { path: [], message: 'The output schema threw while checking this result.' };
const TOO_LARGE: Issue = {
  path: [],
  message: 'This result is too large to check against its schema in time.',
};

/** Validates a result against its JSON Schema and returns the issues. */
export function answerIssues(schema: object, data: Json): readonly Issue[] {
  try {
    return compileJsonSchema(schema).check(boundInput(data, MOST_BYTES));
  } catch (error) {
    return [isToolError(error, 'LIMIT_EXCEEDED') ? TOO_LARGE : THREW];
  }
}

/** The issues quote the tool's result, so they're only for programs. */
function broken(toolName: string, value: unknown, issues: readonly Issue[]): Failure {
  return invalid(
    `${toolName} ran, but its result doesn't match its output schema and isn't shown. Continue without it, or ask the user.`,
    value,
    issues.slice(0, MOST_ISSUES),
  );
}

/**
 * The tool ran and may have had side effects, so the call isn't repeated. Models don't see the
 * tool's value.
 */
function invalid(message: string, value: unknown, issues?: readonly Issue[]): Failure {
  return {
    status: 'error',
    code: 'INVALID_RESULT',
    message,
    details: { ran: true, ...(issues && { issues }) },
    value,
  };
}

/**
 * The maximum number of lines of a message that are passed on. tooldex's own messages use one line
 * per issue.
 */
const MOST_LINES = 40;
/** The maximum length of a full message, in characters. */
const LONGEST_FULL = 10_000;
/** The tooldex errors that quote a service's message. */
const QUOTING: ReadonlySet<unknown> = new Set<ToolError['code']>([
  'PROVIDERS_EXHAUSTED',
  'PROVIDER_UNAVAILABLE',
]);

/**
 * Converts a thrown value into an outcome: the code if it's a `ToolError`, a message without
 * secrets, and details that are plain data.
 */
export function failure(error: unknown): Failure {
  if (!isToolError(error))
    return { status: 'error', code: 'EXECUTION_FAILED', message: publicMessage(error) };
  const details = detailsOf(error);
  return {
    status: 'error',
    code: error.code,
    message: linesOf(error),
    ...(details && { details }),
  };
}

/** Converts an error thrown by a tool into an outcome that shows as much as `expose` allows. */
export function thrownFailure(
  error: unknown,
  toolName: string,
  expose: ExecutorFrame['exposeErrors'],
): Failure {
  const body: Failure = { ...failure(error), origin: 'thrown' };
  if (isToolError(error, 'TOOL_CHANGED')) return failure(error); // The error means that the tool didn't run.
  if (expose === 'none')
    return {
      status: 'error',
      code: body.code,
      message: `${toolName} failed. Its error isn't shown. Try something else, or ask the user.`,
      origin: 'thrown',
    };
  if (expose === 'full') return { ...body, message: fullMessage(error) || body.message };
  // Shows the whole message of a `ToolError`, because its author wrote it for callers.
  return isToolError(error) && !QUOTING.has(error.code)
    ? body
    : { ...body, message: withoutHosts(body.message) };
}

/**
 * Converts a wrapper's error into an outcome. The error belongs to the program, so it's shown only
 * with `full`.
 */
export function aroundFailure(
  error: ToolError,
  ran: boolean,
  expose: ExecutorFrame['exposeErrors'],
): Failure {
  const shown = expose === 'full' && error.cause !== undefined ? fullMessage(error.cause) : '';
  return { ...failure(error), ...(shown !== '' && { message: shown }), details: { ran } };
}

function fullMessage(error: unknown): string {
  return (isError(error) ? error.message : String(error)).slice(0, LONGEST_FULL);
}

function linesOf({ message }: ToolError): string {
  return message
    .split('\n')
    .slice(0, MOST_LINES)
    .map((line) => {
      const text = line.trimStart();
      return text && line.slice(0, line.length - text.length).slice(0, 40) + publicMessage(text);
    })
    .join('\n');
}

/** Returns the details only if they're plain data. */
function detailsOf(error: ToolError): Failure['details'] {
  try {
    const details = cloneFrozen(error.details);
    return isPlainObject(details) && Object.keys(details).length > 0 ? details : undefined;
  } catch {
    return undefined;
  }
}
