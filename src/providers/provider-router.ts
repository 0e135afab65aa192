import { pauseFor } from '../core/clock.js';
import { isToolError, ToolError } from '../core/errors.js';
import { onAbort } from '../core/listeners.js';
import type { ToolContext } from '../tool/tool-options.js';
import type { Attempt, ProviderSnapshot } from './provider.js';
import { dateOf, identityOf, ProviderSlot, tellSafely, type Pass } from './provider-slot.js';
import { RollingHealth, type HealthLog } from './rolling-health.js';
import {
  checkRouterOptions,
  type CheckedRouterOptions,
  type ProviderRouterOptions,
  type ProviderSpec,
} from './router-options.js';
import { abortError, describeFailure, retryAfterOf, runAttempt } from './run-attempt.js';

/** The options of one call through a router. */
export interface CallOptions {
  /**
   * Allows the call to be made twice: it is readonly, or idempotent by its key.
   *
   * Without it, a failure is thrown as it is: a request without an answer may have done its work, and the next provider
   * would do it again. Only `PROVIDER_UNAVAILABLE` says that nothing was sent.
   */
  readonly repeatable: boolean;
  /**
   * Milliseconds after which the caller's signal will fire. The providers share them: while another one is in line, one
   * gets half of the rest, and the last one all of it. @default `attemptTimeoutMs` is the only limit
   */
  readonly timeoutMs?: number;
  /** Reports the start of a provider: at most once for each of the tool's. @default none */
  readonly onStart?: (provider: string) => void;
  /** Reports that the provider's work has really ended: long after the call was answered, if it does not stop in time. @default none */
  readonly onEnd?: (provider: string) => void;
}

/** A provider's answer, and the way to it. */
export interface Routed {
  /** The value that the provider returned: a plain value or a result of the outcome helpers. */
  readonly value: unknown;
  readonly provider: string;
  /** Every provider up to the one that answered. */
  readonly attempts: readonly Attempt[];
}

/**
 * Routes each call of a tool to its first usable provider.
 *
 * Providers are tried in ascending `priority`, equal ones in the order declared. Skipped are those without credentials,
 * those whose health check fails, and those backing off: a provider that failed is left alone for
 * `exponentialBackoff(failures in a row)`, or as long as it asks for, then a single call tries it out while others
 * still pass it by. One failure is enough while another provider is usable. The last usable one is left alone only
 * after `failuresToEject` failures in a row, or when it asks for it. Failures are errors that are no ToolError,
 * `TIMEOUT` and `PROVIDER_UNAVAILABLE`. A result of `fail` and any other ToolError is the tool's own answer, which no
 * other provider would better.
 *
 * Each process backs off for itself; a `PublishedHealth` shows others what it does.
 */
export class ProviderRouter {
  readonly #options: CheckedRouterOptions;
  readonly #health: HealthLog;
  readonly #slots: readonly ProviderSlot[];

  /** Creates a router. @throws ToolError `INVALID_ARGUMENT` naming the wrong option. */
  constructor(options: ProviderRouterOptions) {
    const checked = checkRouterOptions(options);
    const { clock, health = new RollingHealth({ clock }) } = checked;
    const specs = new Map<string, ProviderSpec>();
    for (const spec of [...checked.providers].sort((a, b) => a.priority - b.priority))
      if (!specs.has(identityOf(spec))) specs.set(identityOf(spec), spec);
    const isShared = (name: string) =>
      [...specs.values()].filter((spec) => spec.name === name).length > 1;
    const isOtherUsable = (slot: ProviderSlot) =>
      this.#slots.some((other) => other !== slot && other.isUsable());
    this.#options = checked;
    this.#health = health;
    this.#slots = [...specs].map(([identity, spec]) => {
      const label = isShared(spec.name) ? identity : spec.name;
      return new ProviderSlot(spec, label, checked, health, isOtherUsable);
    });
  }

  /**
   * Calls the first usable provider, and the next ones when it fails.
   *
   * @throws ToolError `PROVIDERS_EXHAUSTED` when none answered: `details.attempts` has the reason for each,
   * `details.retryAt` the moment when trying again is worth it (milliseconds since 1970, or `null`); at once, without
   * waiting for a backoff.
   * @throws ToolError `ABORTED`, or the ToolError that is the signal's reason, when the caller gives up; `TIMEOUT` when
   * a deadline fires the signal (a `TimeoutError` or a ToolError `TIMEOUT` as its reason). Only the latter counts as a
   * failure of the provider that was silent.
   * @throws the provider's error, when that is the tool's answer or the call must not be repeated.
   */
  async call(input: unknown, context: ToolContext, options: CallOptions): Promise<Routed> {
    const { repeatable, timeoutMs = Infinity, onStart, onEnd } = options;
    const { signal } = context;
    if (signal?.aborted) throw abortError(signal);
    const { clock, attemptTimeoutMs } = this.#options;
    const deadline = clock.elapsed() + timeoutMs;
    const attempts: Attempt[] = [];
    const errors: unknown[] = [];
    for (const [place, slot] of this.#slots.entries()) {
      const provider = slot.label;
      const note = (attempt: Omit<Attempt, 'provider'>) =>
        attempts.push(Object.freeze({ provider, ...attempt }));
      const share = () => this.#shareOf(deadline, place);
      const pass = await this.#admit(slot, signal, share);
      if (typeof pass === 'string') {
        note({ status: 'skipped', reason: pass });
        continue;
      }
      const attemptedAt = clock.elapsed();
      // Time is saved only for a provider that would be asked.
      const timeoutMs = attemptTimeoutMs ?? (repeatable ? share() : undefined);
      const result = await runAttempt(pass.provider, input, context, {
        clock,
        timeoutMs,
        label: provider,
        onStart: () => tellSafely(onStart, provider),
        onEnd: () => tellSafely(onEnd, provider),
      });
      const latencyMs = clock.elapsed() - attemptedAt;
      if (result.status === 'aborted') {
        slot.abandoned(pass);
        throw result.error;
      }
      const success = result.status !== 'failed';
      const probe = pass.kind === 'probe' ? { probe: true as const } : {};
      // A few probes of a provider that is down would hide, or outweigh, the results of its calls.
      if (pass.kind === 'call')
        this.#health.record({ kind: 'provider', name: slot.healthName, success, latencyMs });
      slot.tell({ type: 'provider-attempt', success, latencyMs, kind: pass.kind });
      if (result.status !== 'failed') {
        slot.succeeded(pass);
        if (result.status === 'refused') throw result.error;
        note({ status: 'answered', latencyMs, ...probe });
        return Object.freeze({ value: result.value, provider, attempts: Object.freeze(attempts) });
      }
      const reason = describeFailure(result.error);
      slot.failed(pass, reason, retryAfterOf(result.error, clock.now()));
      note({ status: 'failed', reason, latencyMs, ...probe });
      errors.push(result.error);
      // The caller's own time may be up: then no other provider is awaited.
      if (signal?.aborted || (!repeatable && !isToolError(result.error, 'PROVIDER_UNAVAILABLE')))
        throw result.error;
    }
    throw this.#exhausted(attempts, errors);
  }

  /** Returns half of the rest of the time, if a provider after this place may need the other half; no limit otherwise. */
  #shareOf(deadline: number, place: number): number | undefined {
    if (deadline === Infinity || !this.#slots.slice(place + 1).some((slot) => slot.wouldBeAsked()))
      return undefined;
    return Math.max(1, Math.ceil((deadline - this.#options.clock.elapsed()) / 2));
  }

  /** All providers in the order they are tried, as plain data. */
  snapshot(): readonly ProviderSnapshot[] {
    return Object.freeze(this.#slots.map((slot) => slot.snapshot()));
  }

  /** Returns a pass for a call, or the reason to skip the provider; waits for a health check that is due. */
  async #admit(
    slot: ProviderSlot,
    signal: AbortSignal | undefined,
    share: () => number | undefined,
  ): Promise<Pass | string> {
    const admitted = slot.admit(false);
    if (!(admitted instanceof Promise)) return admitted;
    const waiting = new AbortController();
    const stopListening = onAbort(signal, () => waiting.abort());
    let hasAnswered = false;
    void admitted.then(() => {
      hasAnswered = true;
      waiting.abort();
    });
    await pauseFor(share() ?? Infinity, this.#options.clock, waiting.signal);
    stopListening();
    if (signal?.aborted) throw abortError(signal);
    // A check is not waited for twice.
    return hasAnswered
      ? (slot.admit(true) as Pass | string)
      : 'its health check has not answered yet';
  }

  #exhausted(attempts: readonly Attempt[], errors: readonly unknown[]): ToolError {
    const { toolName, clock } = this.#options;
    const ends = this.#slots.flatMap(({ state }) =>
      state.failures > 0 && state.kind !== 'half-open' ? [dateOf(state.until, clock)] : [],
    );
    const retryAt = ends.length === 0 ? null : Math.min(...ends);
    const reasons =
      attempts.map(({ provider, reason }) => `${provider} (${reason})`).join('; ') ||
      'none declared';
    const advice = retryAt === null ? 'See details.attempts.' : 'Try again after details.retryAt.';
    return new ToolError(
      'PROVIDERS_EXHAUSTED',
      `Expected one provider of ${toolName} to answer, got ${reasons}. ${advice}`,
      {
        details: { attempts: Object.freeze(attempts), retryAt },
        ...(errors.length > 0 && {
          cause: errors.length === 1 ? errors[0] : new AggregateError(errors),
        }),
      },
    );
  }
}
