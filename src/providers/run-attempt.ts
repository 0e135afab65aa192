import { isError } from '../core/plain-data.js';
import type { Clock } from '../core/clock.js';
import { isToolError, ToolError, type ToolErrorCode } from '../core/errors.js';
import { onAbort } from '../core/listeners.js';
import { followLimits, limitTime } from '../core/time-limit.js';
import type { ToolContext } from '../tool/tool-options.js';
import type { Provider } from './provider.js';

/**
 * The result of one attempt.
 *
 * - answered: the provider returned a value, which can be the tool's own `fail`.
 * - refused: the provider threw the tool's answer, such as `INVALID_INPUT`. Another provider would
 *   throw the same error.
 * - failed: the service couldn't be reached, failed, or was too slow. Another provider may be able
 *   to answer.
 * - aborted: the caller aborted, so nothing is known about the service.
 */
type AttemptResult =
  | { readonly status: 'answered'; readonly value: unknown }
  | { readonly status: 'refused'; readonly error: unknown }
  | { readonly status: 'failed'; readonly error: unknown }
  | { readonly status: 'aborted'; readonly error: unknown };

interface AttemptOptions {
  readonly clock: Clock;
  /** The timeout of the attempt in milliseconds. If missing, there's no limit. */
  readonly timeoutMs?: number | undefined;
  /** The provider's name, for messages. */
  readonly label: string;
  /**
   * `onStart` runs when the provider starts. `onEnd` runs when its function has actually finished,
   * which can be long after the attempt.
   */
  readonly onStart: () => void;
  readonly onEnd: () => void;
}

/**
 * The maximum delay in milliseconds that a service can ask for. After this delay, the service is
 * probed.
 */
const MOST_RETRY_AFTER_MS = 600_000;

const TRANSIENT: readonly ToolErrorCode[] = ['PROVIDER_UNAVAILABLE', 'TIMEOUT'];

/**
 * Runs one attempt with a provider. Never rejects.
 *
 * The attempt ends when the caller's signal is aborted or the time is up, even if the provider
 * ignores both. A later result is ignored. The signal must not already be aborted.
 */
export function runAttempt(
  provider: Provider,
  input: unknown,
  context: ToolContext,
  { clock, timeoutMs, label, onStart, onEnd }: AttemptOptions,
): Promise<AttemptResult> {
  const { signal } = context;
  return new Promise((resolve) => {
    const controller = new AbortController();
    let stopTimer = () => {};
    const settle = (result: AttemptResult) => {
      stopTimer();
      stopListening();
      resolve(result);
    };
    const stopListening = onAbort(signal, () => {
      settle(resultOfAbort(signal!));
      controller.abort(signal!.reason);
    });
    if (timeoutMs === undefined) followLimits(controller.signal, signal);
    else {
      stopTimer = limitTime(controller.signal, { clock, timeoutMs, parent: signal }, () => {
        const error = new ToolError(
          'TIMEOUT',
          `${label} didn't answer within ${timeoutMs} ms. Try again, or allow more time.`,
        );
        settle({ status: 'failed', error });
        controller.abort(error);
      });
    }
    // An async function turns synchronous exceptions into rejections.
    const answer = async (): Promise<unknown> =>
      await provider.call(input, { ...context, signal: controller.signal });
    onStart();
    answer().then(
      (value) => {
        onEnd();
        settle({ status: 'answered', value });
      },
      (error: unknown) => {
        onEnd();
        settle({ status: isTransient(error) ? 'failed' : 'refused', error });
      },
    );
  });
}

/**
 * Returns true for an error caused by the service rather than by the call: `PROVIDER_UNAVAILABLE`,
 * `TIMEOUT`, and errors that aren't ToolErrors. The same call may succeed later or with another
 * service.
 *
 * Every other ToolError is the tool's own answer. `EXECUTION_FAILED`, the outcome code of a tool's
 * `fail`, is also such an answer.
 */
export function isTransient(error: unknown): boolean {
  return !isToolError(error) || TRANSIENT.includes(error.code);
}

/**
 * Returns the result of an abort: `failed` if a deadline passed, `aborted` if the caller aborted.
 * Only a deadline is the service's fault.
 */
function resultOfAbort(signal: AbortSignal): AttemptResult {
  return { status: isTimeout(signal.reason) ? 'failed' : 'aborted', error: abortError(signal) };
}

/**
 * Returns true if a signal was aborted by a deadline, either of `AbortSignal.timeout` or of
 * tooldex.
 */
function isTimeout(reason: unknown): boolean {
  return (
    isToolError(reason, 'TIMEOUT') ||
    (reason instanceof DOMException && reason.name === 'TimeoutError')
  );
}

/** Returns the error for an abort by the caller or by a deadline. */
export function abortError(signal: AbortSignal): ToolError {
  if (isToolError(signal.reason)) return signal.reason;
  if (isTimeout(signal.reason))
    return new ToolError(
      'TIMEOUT',
      'The call ran out of time before an answer arrived. Allow it more time.',
      { cause: signal.reason },
    );
  return new ToolError('ABORTED', 'The caller aborted the call.', {
    cause: signal.reason,
  });
}

/**
 * Describes an error in a few words. Never uses text from the service, because the text can contain
 * keys, addresses, and paths.
 */
export function describeFailure(error: unknown): string {
  if (isToolError(error)) return error.code;
  if (!isError(error)) return "threw something that isn't an error";
  const code: unknown =
    (error as { code?: unknown }).code ?? (error.cause as { code?: unknown } | undefined)?.code;
  const isName = (text: unknown): text is string =>
    typeof text === 'string' && /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(text);
  return [isName(error.name) ? error.name : 'Error', ...(isName(code) ? [code] : [])].join(' ');
}

/**
 * Returns the time in milliseconds for which a service asks not to be called after an error. Reads
 * `details.retryAfterMs` of a ToolError, or the `Retry-After` header of the error, its response, or
 * its cause. Returns `undefined` if the service doesn't ask for a delay.
 *
 * @param now The current time in milliseconds since 1970, for headers that contain a date.
 */
export function retryAfterOf(error: unknown, now: number): number | undefined {
  try {
    const ms = isToolError(error) ? error.details['retryAfterMs'] : undefined;
    if (typeof ms === 'number' && ms > 0) return Math.min(ms, MOST_RETRY_AFTER_MS);
    const { headers, responseHeaders, response, cause } = (error ?? {}) as Readonly<
      Record<string, unknown>
    >;
    for (const source of [
      headers,
      responseHeaders,
      (response as { headers?: unknown } | undefined)?.headers,
    ]) {
      const text = headerOf(source, 'retry-after')?.trim();
      if (text === undefined || text === '') continue;
      const asked = /^\d{1,15}$/.test(text)
        ? Number(text) * 1_000
        : /[a-z]/i.test(text)
          ? Date.parse(text) - now
          : NaN;
      if (asked > 0) return Math.min(asked, MOST_RETRY_AFTER_MS);
    }
    return cause === undefined || cause === error ? undefined : retryAfterOf(cause, now);
  } catch {
    // An error from a service can have throwing getters, or an endless chain of causes.
    return undefined;
  }
}

function headerOf(headers: unknown, name: string): string | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined;
  const get = (headers as { get?: unknown }).get;
  const value: unknown =
    typeof get === 'function'
      ? get.call(headers, name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === 'number' ? String(value) : typeof value === 'string' ? value : undefined;
}
