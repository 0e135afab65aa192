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
interface CallOptions {
  /**
   * True if the call is readonly or idempotent, so that it may be repeated.
   *
   * If false, a failure is thrown at once: a request without a response may have had an effect, and
   * the next provider would repeat it. After `PROVIDER_UNAVAILABLE`, the next provider is still
   * tried, because nothing was sent.
   */
  readonly repeatable: boolean;
  /**
   * The time in milliseconds until the caller's signal is aborted. The providers share this time. A
   * provider gets half of the remaining time, and the last provider gets all of it.
   * @default only `attemptTimeoutMs` limits the time
   */
  readonly timeoutMs?: number;
  /** Runs when a provider starts, at most once per provider. @default none */
  readonly onStart?: (provider: string) => void;
  /**
   * Runs when the provider's work has actually finished. If the provider doesn't stop in time, this
   * can be long after the call was answered. @default none
   */
  readonly onEnd?: (provider: string) => void;
}

/** A provider's answer, and all attempts made for the call. */
export interface Routed {
  /**
   * The provider's return value: a plain value, or a result created by `ok`, `fail`, `askUser`, or
   * `halt`.
   */
  readonly value: unknown;
  readonly provider: string;
  /** All attempts, up to the provider that answered. */
  readonly attempts: readonly Attempt[];
}

/**
 * Sends each call of a tool to its first usable provider.
 *
 * Providers are tried in ascending order of `priority`. Providers with the same priority are tried
 * in the order of declaration. A provider is skipped if it has no credentials, its health check
 * fails, or it's backing off. After a failure, a provider backs off for
 * `exponentialBackoff(consecutive failures)`, or for as long as the service requests. After the
 * backoff, a single call probes the provider, while other calls still skip it.
 *
 * If another provider is usable, a provider backs off after a single failure. The last usable
 * provider backs off only after `failuresToEject` consecutive failures, or if its service requests
 * a delay. Failures are `TIMEOUT`, `PROVIDER_UNAVAILABLE`, and errors that aren't ToolErrors. A
 * result of `fail` and any other ToolError are the tool's own answer, because another provider
 * would return the same answer.
 *
 * Each process tracks backoffs separately. A `PublishedHealth` shows these backoffs to other
 * processes.
 */
export class ProviderRouter {
  readonly #options: CheckedRouterOptions;
  readonly #health: HealthLog;
  readonly #slots: readonly ProviderSlot[];

  /** Creates a router. @throws ToolError `INVALID_ARGUMENT` listing every invalid option. */
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
   * Calls the first usable provider. If that provider fails, calls the next usable provider, and so
   * on.
   *
   * @throws ToolError `PROVIDERS_EXHAUSTED` if no provider answered. `details.attempts` contains
   * the reason for each provider. `details.retryAt` is the time at which to try again, in
   * milliseconds since 1970, or `null`. The error is thrown immediately, without waiting for a
   * backoff.
   * @throws ToolError `ABORTED`, or the ToolError that is the signal's reason, if the caller
   * aborts. `TIMEOUT` if a deadline aborted the signal (its reason is a `TimeoutError` or a
   * ToolError `TIMEOUT`). A deadline counts as a failure of the provider that didn't answer, but an
   * abort by the caller doesn't.
   * @throws the provider's error, if it's the tool's own answer or the call must not be repeated.
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
      // If the call can't be repeated, no other provider follows, so the time isn't divided.
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
      // Probes aren't recorded, because they could outweigh the results of real calls.
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
      // If the caller's own time is up, no other provider is tried.
      if (signal?.aborted || (!repeatable && !isToolError(result.error, 'PROVIDER_UNAVAILABLE')))
        throw result.error;
    }
    throw this.#exhausted(attempts, errors);
  }

  /**
   * Returns half of the remaining time if a later provider may need the other half, and undefined
   * (no limit) if not.
   */
  #shareOf(deadline: number, place: number): number | undefined {
    if (deadline === Infinity || !this.#slots.slice(place + 1).some((slot) => slot.wouldBeAsked()))
      return undefined;
    return Math.max(1, Math.ceil((deadline - this.#options.clock.elapsed()) / 2));
  }

  /** Returns all providers as plain data, in the order in which they're tried. */
  snapshot(): readonly ProviderSnapshot[] {
    return Object.freeze(this.#slots.map((slot) => slot.snapshot()));
  }

  /**
   * Returns a pass for a call, or the reason for skipping the provider. If a health check is due,
   * waits for it.
   */
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
    // After waiting for one check, the caller accepts the check's result.
    return hasAnswered
      ? (slot.admit(true) as Pass | string)
      : "its health check hasn't answered yet";
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
      `No provider of ${toolName} answered: ${reasons}. ${advice}`,
      {
        details: { attempts: Object.freeze(attempts), retryAt },
        ...(errors.length > 0 && {
          cause: errors.length === 1 ? errors[0] : new AggregateError(errors),
        }),
      },
    );
  }
}
