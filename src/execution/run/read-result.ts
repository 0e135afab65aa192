import { z } from 'zod';
import { isToolError, ToolError, type Issue } from '../../core/errors.js';
import { once } from '../../core/options.js';
import { isPlainObject, type Json } from '../../core/plain-data.js';
import { compileJsonSchema } from '../../json-schema/compile-json-schema.js';
import type { OutcomeBody, PendingQuestion } from '../../safety/calls.js';
import { plainValue, unshownText } from '../../safety/read-outcome.js';
import { boundInput } from '../../tool/input/bound-input.js';
import { standardIssues } from '../../tool/input/standard-issues.js';
import { isToolResult } from '../../tool/outcome.js';
import { questionFields, type Question } from '../../tool/question.js';
import { isStandardSchema } from '../../tool/schema/standard-schema.js';
import type { ToolEntry } from '../../tool/tool-definition.js';

const QUESTION = once(() => z.object(questionFields()));

/** Bytes of an answer's JSON that a schema is given: 16 MiB. */
const MOST_BYTES = 16 * 2 ** 20;
/** Things wrong with an answer that are listed. */
const MOST_ISSUES = 20;

/**
 * Returns what a tool's return value says: a plain value is its answer, `undefined` is null, and only results of the helpers
 * are anything else.
 *
 * An answer is held to the tool's `outputSchema`, and is given as the schema makes it. One that breaks it, or that JSON cannot
 * hold, is an `INVALID_RESULT` with the value for programs. So is the value with which a tool ends the run.
 *
 * @throws ToolError `INVALID_RESULT` for a result of another copy of the helpers that does not hold what they promise.
 */
export async function readResult(entry: ToolEntry, returned: unknown, ask: (question: Question) => PendingQuestion): Promise<OutcomeBody> {
  if (!isToolResult(returned)) return readAnswer(entry, returned);
  const result = returned as unknown as Readonly<Record<string, unknown>>;
  switch (result['status']) {
    case 'ok':
      return readAnswer(entry, result['value']);
    case 'error': {
      const { details } = result;
      const failed = { status: 'error', code: 'EXECUTION_FAILED', message: text(result, 'message'), origin: 'reported' } as const;
      return isPlainObject(details) ? { ...failed, details } : failed;
    }
    case 'ask_user': {
      const question = QUESTION().safeParse(result);
      if (!question.success) throw malformed('a question as text, and its options as askUser makes them');
      return { status: 'ask_user', ...(question.data as Question), pending: ask(question.data as Question) };
    }
    case 'halt':
      return readHalt(entry, text(result, 'reason'), result['value']);
    default:
      throw malformed('a status of ok, error, ask_user or halt');
  }
}

/** A run that ends without a value promises none. One whose value is refused ends all the same. */
async function readHalt(entry: ToolEntry, reason: string, value: unknown): Promise<OutcomeBody> {
  const answer = value === undefined || value === null ? ({ status: 'ok', value: null } as const) : await readAnswer(entry, value);
  return answer.status === 'ok' ? { status: 'halt', reason, value: answer.value } : { ...answer, haltReason: reason };
}

async function readAnswer({ name, outputSchema }: ToolEntry, returned: unknown): Promise<Extract<OutcomeBody, { status: 'ok' | 'error' }>> {
  const given = returned === undefined ? null : returned;
  let value: unknown = given;
  if (isStandardSchema(outputSchema)) {
    const standard = outputSchema['~standard'];
    try {
      const parsed = await standard.validate(given);
      if (parsed.issues !== undefined) return broken(name, given, standardIssues(parsed.issues, standard.vendor, given as Json));
      value = parsed.value;
    } catch {
      return broken(name, given, [{ path: [], message: 'expected an answer that the schema can check, found one on which it failed' }]);
    }
  }
  let data: Json;
  try {
    ({ data } = plainValue(value));
  } catch (error) {
    return invalid(unshownText(name, (error as TypeError).message), given);
  }
  if (outputSchema !== undefined && !isStandardSchema(outputSchema)) {
    const issues = answerIssues(outputSchema, data);
    if (issues.length > 0) return broken(name, given, issues);
  }
  return { status: 'ok', value };
}

/** Returns what of an answer is not as its JSON Schema says. */
export function answerIssues(schema: object, data: Json): readonly Issue[] {
  try {
    return compileJsonSchema(schema).check(boundInput(data, MOST_BYTES));
  } catch (error) {
    return [{ path: [], message: isToolError(error, 'LIMIT_EXCEEDED') ? 'expected an answer that can be checked quickly, found one too large for its schema' : 'expected an answer that can be checked' }];
  }
}

/** The issues show what the tool gave: they are for programs, as the value is. */
function broken(toolName: string, value: unknown, issues: readonly Issue[]): Invalid {
  return invalid(`${toolName} ran, but its answer is not what its output schema promises, and is not shown. Go on without it, or ask the user.`, value, issues.slice(0, MOST_ISSUES));
}

type Invalid = Extract<OutcomeBody, { status: 'error' }>;

/** The tool ran, and may have had its effect: the call is not made again. The value is left to programs. */
function invalid(message: string, value: unknown, issues?: readonly Issue[]): Invalid {
  return { status: 'error', code: 'INVALID_RESULT', message, details: { ran: true, ...(issues && { issues }) }, value };
}

function text(result: Readonly<Record<string, unknown>>, field: string): string {
  const value = result[field];
  if (typeof value !== 'string') throw malformed(`${field} as text`);
  return value;
}

function malformed(expected: string): ToolError {
  return new ToolError('INVALID_RESULT', `Expected a tool's result with ${expected}, found another; make results with ok, fail, askUser or halt`, { details: { ran: true } });
}
