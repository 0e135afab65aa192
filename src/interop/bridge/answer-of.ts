import { ToolError } from '../../core/errors.js';
import type { ExecutorOutcome } from './call-executor.js';

/** What became of a call, for a framework that knows results and errors only. */
export type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: ToolError };

/**
 * An outcome as a result or an error.
 *
 * `ok` and `halt` give their value; `ask_user` gives `{ status: 'ask_user', question, options? }`, for the model to ask. All
 * others are errors with a message for the model: the tool's own for `error`; code `NOT_EXECUTABLE` for `denied` and
 * `manual`; `INVALID_APPROVAL` for `approval_required`. `details.status` is the outcome's.
 */
export function answerOf(toolName: string, outcome: ExecutorOutcome): Answer {
  const { status } = outcome;
  switch (status) {
    case 'ok':
    case 'halt':
      return { ok: true, value: outcome.value };
    case 'ask_user': {
      const { question, options } = outcome;
      return { ok: true, value: options === undefined ? { status, question } : { status, question, options: [...options] } };
    }
    case 'error':
      return refused(new ToolError(outcome.code, outcome.message, { details: { ...outcome.details, status } }));
    case 'denied':
      return refused(new ToolError('NOT_EXECUTABLE', `Expected a call that is allowed, found that ${toolName} is denied: ${outcome.reason}. Do not repeat the call`, { details: { status, rule: outcome.rule, danger: outcome.danger } }));
    case 'manual':
      return refused(new ToolError('NOT_EXECUTABLE', `Expected a tool that runs, found that a person or another program answers ${toolName}; wait for its answer`, { details: { status } }));
    case 'approval_required': {
      const details = outcome.pending === undefined ? { status } : { status, pending: outcome.pending };
      return refused(new ToolError('INVALID_APPROVAL', `Expected a person's yes to this call of ${toolName}, found none; it was not run`, { details }));
    }
  }
}

function refused(error: ToolError): Answer {
  return { ok: false, error };
}
