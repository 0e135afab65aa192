import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { withDeadline } from '../../execution/with-deadline.js';
import { abortError } from '../../providers/run-attempt.js';

/** Returns the error for a login that only a user can make. Neither a retry nor another provider would help. */
export function loginNeeded(expected: string, got: string, advice: string): ToolError {
  return new ToolError('TOOL_UNAVAILABLE', expectedGot(expected, got, advice), {
    details: { needs: 'login' },
  });
}

/** Returns true for an error of `loginNeeded`. */
export function isLoginNeeded(error: unknown): error is ToolError {
  return isToolError(error, 'TOOL_UNAVAILABLE') && error.details['needs'] === 'login';
}

/** Returns the name of a server for messages. */
export function labelOf(server: string): string {
  return server === '' ? 'the MCP server' : `the MCP server ${server}`;
}

/** Returns the error for a call that was not sent or was turned away, so another provider may be asked. */
export function unavailable(expected: string, got: string, cause?: unknown): ToolError {
  return new ToolError('PROVIDER_UNAVAILABLE', expectedGot(expected, got), { cause });
}

/** Does work under a deadline. @throws the error of the work, the caller's reason, or the error of `late` when the time is over. */
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
