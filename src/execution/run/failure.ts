import { isToolError, TOOL_ERROR_CODES, type ToolError } from '../../core/errors.js';
import { cloneFrozen, isPlainObject } from '../../core/plain-data.js';
import { publicMessage, withoutHosts } from '../../core/public-message.js';
import type { OutcomeBody } from '../../safety/calls.js';

/** Lines of a message that are passed on: the library's own messages take one for each issue. */
const MOST_LINES = 40;

/** The outcome of whatever was thrown: its code if it is a `ToolError`, a message without secrets, and details that are plain data. */
export function failure(error: unknown): OutcomeBody {
  try {
    if (isToolError(error) && TOOL_ERROR_CODES.includes(error.code)) return withDetails({ status: 'error', code: error.code, message: linesOf(error) }, error);
    return { status: 'error', code: 'EXECUTION_FAILED', message: publicMessage(error) };
  } catch {
    return { status: 'error', code: 'EXECUTION_FAILED', message: 'the error cannot be read' }; // A hostile getter or proxy.
  }
}

/** Characters of a message that is shown as it is. */
const LONGEST_FULL = 10_000;
/** Errors of the library that repeat what a service said. */
const QUOTING: ReadonlySet<unknown> = new Set<ToolError['code']>(['PROVIDERS_EXHAUSTED', 'PROVIDER_UNAVAILABLE']);

/** The outcome of what a tool threw, as far as it may be shown. */
export function thrownFailure(error: unknown, toolName: string, expose: 'none' | 'public' | 'full'): OutcomeBody {
  const body = { ...(failure(error) as Extract<OutcomeBody, { status: 'error' }>), origin: 'thrown' as const };
  if (isToolError(error, 'TOOL_CHANGED')) return failure(error); // The call was not made.
  if (expose === 'none') return { status: 'error', code: body.code, message: `${toolName} failed. Its error is not shown; try something else, or ask the user.`, origin: 'thrown' };
  if (expose === 'full') return { ...body, message: fullMessage(error) ?? body.message };
  // Typed errors say what their author chose to say.
  return isToolError(error) && !QUOTING.has(error.code) ? body : { ...body, message: withoutHosts(body.message) };
}

function fullMessage(error: unknown): string | undefined {
  try {
    const message: unknown = typeof error === 'object' && error !== null ? (error as { message?: unknown }).message : error;
    return typeof message === 'string' && message !== '' ? message.slice(0, LONGEST_FULL) : undefined;
  } catch {
    return undefined; // A hostile getter.
  }
}

function linesOf(error: ToolError): string {
  const message: unknown = error.message;
  if (typeof message !== 'string') return publicMessage(error);
  return message.split('\n').slice(0, MOST_LINES).map((line) => (line.trim() === '' ? '' : indentOf(line) + publicMessage(line))).join('\n');
}

function withDetails(body: Extract<OutcomeBody, { status: 'error' }>, error: ToolError): OutcomeBody {
  try {
    const details = cloneFrozen(error.details);
    return isPlainObject(details) && Object.keys(details).length > 0 ? { ...body, details } : body;
  } catch {
    return body; // Not plain data: it stays here.
  }
}

function indentOf(line: string): string {
  return line.slice(0, line.length - line.trimStart().length).slice(0, 40);
}
