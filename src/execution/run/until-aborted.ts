import { ToolError } from '../../core/errors.js';
import { onAbort } from '../../core/on-abort.js';

/**
 * Waits for work that others may wait for too, until the caller gives up.
 *
 * @throws ToolError `ABORTED`; the work goes on.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, toolName: string): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(aborted(toolName));
    const stopListening = onAbort(signal, () => reject(aborted(toolName)));
    work.finally(stopListening).then(resolve, reject);
  });
}

/** The error of a call that its caller does not want any more. */
export function aborted(toolName: string): ToolError {
  return new ToolError('ABORTED', `Expected ${toolName} to finish, found that the caller has given the call up`);
}

/** @throws ToolError `ABORTED` when the caller has given up. */
export function assertWanted(signal: AbortSignal | undefined, toolName: string): void {
  if (signal?.aborted === true) throw aborted(toolName);
}
