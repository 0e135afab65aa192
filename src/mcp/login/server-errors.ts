import { isToolError, ToolError } from '../../core/errors.js';
import { withDeadline } from '../../execution/with-deadline.js';
import { abortError } from '../../providers/run-attempt.js';

/**
 * Returns the error for a missing login if only a user can log in. No retry or other provider would
 * help.
 */
export function loginNeeded(message: string): ToolError {
  return new ToolError('TOOL_UNAVAILABLE', message, {
    details: { needs: 'login' },
  });
}

/** Returns true for an error created by `loginNeeded`. */
export function isLoginNeeded(error: unknown): error is ToolError {
  return isToolError(error, 'TOOL_UNAVAILABLE') && error.details['needs'] === 'login';
}

/** Returns a server's label for messages. */
export function serverLabel(server: string): string {
  return server === '' ? 'the MCP server' : `MCP server ${server}`;
}

/**
 * Returns the error for a call that wasn't sent or was rejected, so that another provider may be
 * tried.
 */
export function serverUnavailable(message: string, cause?: unknown): ToolError {
  return new ToolError('PROVIDER_UNAVAILABLE', message, { cause });
}

/**
 * Runs work with a timeout.
 * @throws the work's error, the caller's abort reason, or the error from `late` when time is up.
 */
export async function inTime<T>(
  deadline: Parameters<typeof withDeadline>[1],
  late: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const settled = await withDeadline((limit) => work(limit.signal), deadline);
  if (settled.kind === 'returned') return settled.value;
  if (settled.kind === 'threw') throw settled.error;
  throw settled.kind === 'timeout' ? late() : abortError(deadline.signal!);
}
