import { ToolError } from '../../core/errors.js';
import { isPlainObject } from '../../core/plain-data.js';
import { isToolResult } from '../../tool/outcome.js';
import type { OutcomeBody, PendingQuestion } from '../../safety/calls.js';

/**
 * What a tool's return value says: a plain value is its answer, `undefined` is null, and only results of the helpers are
 * anything else.
 *
 * @throws ToolError `INVALID_RESULT` for a result of another copy of the helpers that does not hold what they promise.
 */
export function readResult(returned: unknown, ask: (question: string, options: readonly string[] | undefined) => PendingQuestion): OutcomeBody {
  if (!isToolResult(returned)) return { status: 'ok', value: returned === undefined ? null : returned };
  const result = returned as unknown as Readonly<Record<string, unknown>>;
  switch (result['status']) {
    case 'ok':
      return { status: 'ok', value: result['value'] === undefined ? null : result['value'] };
    case 'error': {
      const { details } = result;
      const message = text(result, 'message');
      return isPlainObject(details) ? { status: 'error', code: 'EXECUTION_FAILED', message, details } : { status: 'error', code: 'EXECUTION_FAILED', message };
    }
    case 'ask_user': {
      const question = text(result, 'question');
      const { options } = result;
      if (options !== undefined && !(Array.isArray(options) && options.every((option) => typeof option === 'string'))) throw malformed('options as a list of texts');
      const pending = ask(question, options);
      return options === undefined ? { status: 'ask_user', question, pending } : { status: 'ask_user', question, options: options, pending };
    }
    case 'halt':
      return { status: 'halt', reason: text(result, 'reason'), value: result['value'] === undefined ? null : result['value'] };
    default:
      throw malformed('a status of ok, error, ask_user or halt');
  }
}

function text(result: Readonly<Record<string, unknown>>, field: string): string {
  const value = result[field];
  if (typeof value !== 'string') throw malformed(`${field} as text`);
  return value;
}

function malformed(expected: string): ToolError {
  return new ToolError('INVALID_RESULT', `Expected a tool's result with ${expected}, found another; make results with ok, fail, askUser or halt`);
}
