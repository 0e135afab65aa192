import { ToolError } from '../../core/errors.js';

/** Why an operation got no answer. */
export type UnavailableReason = 'closed' | 'not_connected' | 'busy' | 'no_answer' | 'connection_lost' | 'refused';

/** A `STATE_UNAVAILABLE` error; `sent: false` in its details says that the operation surely did not happen. */
export function unavailable(reason: UnavailableReason, message: string, sent: boolean, cause?: unknown): ToolError {
  return new ToolError('STATE_UNAVAILABLE', message, { details: { reason, sent }, ...(cause === undefined ? {} : { cause }) });
}

/** The first word of an error that Redis answered, such as `NOSCRIPT` or `WRONGTYPE`; `undefined` for errors of the connection. */
export function replyCode(error: unknown): string | undefined {
  // Those of Redis begin with a word in capitals; those of sockets and of the client do not.
  return error instanceof Error ? /^[A-Z][A-Z0-9_]+(?= |$)/.exec(error.message)?.[0] : undefined;
}

/** An error in a word or two, without the addresses and paths that messages of sockets carry. */
export function shortReason(error: unknown): string {
  const code: unknown = typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
  return replyCode(error) ?? (typeof code === 'string' ? code : 'connection lost');
}
