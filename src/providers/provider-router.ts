import { environment, randomUUID } from '../core/crypto.js';
import { systemClock, type Clock } from '../core/clock.js';
import { isToolError, ToolError } from '../core/errors.js';
import { onAbort } from '../core/listeners.js';
import type { ToolEvent } from '../core/tool-event.js';
import type { ToolContext } from '../tool/metadata/tool-options.js';
import { isToolResult } from '../tool/outcome.js';
import { exponentialBackoff } from './exponential-backoff.js';
import type { HealthLog, HealthSummary, Sample } from './health/health-samples.js';
import { RollingHealth } from './health/rolling-health.js';
import type { Attempt } from './provider.js';
import { identityOf, ProviderSlot, type CheckResult, type Pass } from './provider-slot.js';
import { lookUp, requireCallOptions, requireRouterOptions, type ProviderRouterOptions } from './router-options.js';
import { abortError, describeFailure, isTimeout, retryAfterOf, runAttempt } from './run-attempt.js';
import { RouterSync } from './shared-backoff.js';

export interface CallOptions {
  /**
   * Whether the call may be made twice: readonly, or idempotent by its key.
   *
   * When it is not, a failure is thrown as it is: a request without an answer may have done its work, and the next
   * provider would do it again. Only `PROVIDER_UNAVAILABLE` says that nothing was sent.
   */
  readonly repeatable: boolean;
  /**
   * Milliseconds after which the caller's signal will fire. They are shared: while another provider is in line, one gets
   * half of what is left, and the last one the rest. @default `attemptTimeoutMs` is the only limit
   */
  readonly timeoutMs?: number;
  /** Whether the call counts as one of the tool's in `health`; a caller who judges the answer counts it itself. @default true */
  readonly counted?: boolean;
  /** Told when a provider is called: at most once for each of the tool. */
  readonly onStart?: (provider: string) => void;
  /** Told when its work has really ended: long after the call was answered, if the provider does not stop in time. */
  readonly onEnd?: (provider: string) => void;
}

/** Turns of the queue of promises in which a provider may end that hears its signal. */
const TURNS = 10;

export interface Routed {
  /** What the provider returned: a plain value or a result of the outcome helpers. */
  readonly value: unknown;
  readonly provider: string;
  /** Every provider up to the one that answered. */
  readonly attempts: readonly Attempt[];
}

/** One provider as people and other programs see it; dates are milliseconds since 1970. */
export interface ProviderSnapshot {
  /** The name; followed by a part of the configuration's digest when two providers of the tool share it. */
  readonly provider: string;
  readonly name: string;
  readonly priority: number;
  readonly identity: string;
  readonly state: 'available' | 'backing-off' | 'half-open' | 'unhealthy';
  /** Why it is unhealthy. */
  readonly reason: string | null;
  /** Failures in a row. */
  readonly failures: number;
  /** When it is tried out; before that, calls reach it only when no other provider is usable and the backoff is not binding. */
  readonly backoffUntil: number | null;
  readonly lastCheck: CheckResult | null;
  /** Its last calls, and the latest of them; health checks, and calls that tried it out after failures, are not among them. */
  readonly lastCall: Sample | null;
  readonly metrics: HealthSummary;
}

/**
 * Lets the first provider of a tool that is in order answer a call.
 *
 * Providers are tried in ascending `priority`, equal ones in the order declared. Skipped are those without credentials,
 * those whose health check says no, and those backing off: a provider that failed is left alone for
 * `exponentialBackoff(failures in a row)`, or as long as it asks for, then a single call tries it out while others still
 * pass it by. One failure is enough while another provider is usable. The last usable one is left alone only after
 * `failuresToEject` failures in a row, or when it asks for it, and a backoff from a time when another was usable does not
 * keep a call away that nobody else takes.
 * Failures are errors that are no ToolError, `TIMEOUT` and `PROVIDER_UNAVAILABLE`. A result of `fail` and any other
 * ToolError is the tool's own answer, which no other provider would better. One call calls each provider at most once.
 *
 * With a `store`, processes share who is left alone and who may try it out; calls to providers in order need no store
 * but for a first look. Without the store each process goes on with what it knows.
 */
export class ProviderRouter {
  readonly #options: ProviderRouterOptions;
  readonly #clock: Clock;
  readonly #health: HealthLog;
  readonly #slots: readonly ProviderSlot[];
  readonly #labels: ReadonlyMap<ProviderSlot, string>;
  readonly #sync: RouterSync | undefined;

  /** @throws ToolError `INVALID_ARGUMENT` naming the option that is wrong. */
  constructor(options: ProviderRouterOptions) {
    requireRouterOptions(options);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#health = options.health ?? new RollingHealth({ clock: this.#clock });
    const slots = new Map<string, ProviderSlot>();
    for (const spec of [...options.providers].sort((a, b) => (a.priority ?? 100) - (b.priority ?? 100))) {
      if (!slots.has(identityOf(spec))) slots.set(identityOf(spec), this.#createSlot(spec));
    }
    this.#slots = [...slots.values()];
    const isShared = (name: string) => this.#slots.filter(({ spec }) => spec.name === name).length > 1;
    this.#labels = new Map(this.#slots.map((slot) => [slot, isShared(slot.spec.name) ? slot.identity : slot.spec.name]));
    const { store, toolName, capMs = 60_000 } = options;
    if (store !== undefined) this.#sync = new RouterSync({ store, clock: this.#clock, toolName, slots: this.#slots, writer: randomUUID(), mostMs: Math.max(capMs, this.#leaseMs()) });
  }

  /**
   * Calls the first provider in order, and the next ones when it fails.
   *
   * @throws ToolError `PROVIDERS_EXHAUSTED` when none answered: `details.attempts` says of each why, `details.retryAt`
   * when trying again is worth it (milliseconds since 1970, or `null`); at once, without waiting for a backoff.
   * @throws ToolError `ABORTED`, or the ToolError that is the signal's reason, when the caller gives up; `TIMEOUT` when it
   * is a deadline that fires the signal (a `TimeoutError` or a ToolError `TIMEOUT` as its reason). Only the latter counts
   * as a failure, of the tool and of the provider that was silent.
   * @throws what the provider threw, when that is the tool's answer or the call must not be repeated.
   */
  async call(input: unknown, context: ToolContext, options: CallOptions): Promise<Routed> {
    requireCallOptions(options);
    const { signal } = context;
    if (signal?.aborted) throw abortError(signal);
    const startedAt = this.#clock.elapsed();
    let running = 0;
    const counting: CallOptions = {
      ...options,
      onStart: (provider) => {
        running++;
        options.onStart?.(provider);
      },
      onEnd: (provider) => {
        running--;
        options.onEnd?.(provider);
      },
    };
    try {
      await this.#sync?.ready();
      const routed = await this.#route(input, context, counting, startedAt + (options.timeoutMs ?? Infinity));
      this.#recordCall(options, !isFailure(routed.value), startedAt, running > 0, routed.provider);
      return routed;
    } catch (error) {
      // A provider that ends as soon as it hears the signal has ended with the call.
      for (let turn = 0; turn < TURNS && running > 0; turn++) await Promise.resolve();
      // A caller who gave up says nothing of the tool.
      if (!signal?.aborted || isTimeout(signal.reason)) this.#recordCall(options, false, startedAt, running > 0);
      throw error;
    }
  }

  async #route(input: unknown, context: ToolContext, { repeatable, onStart, onEnd }: CallOptions, deadline: number): Promise<Routed> {
    const attempts: Attempt[] = [];
    const errors: unknown[] = [];
    const count = this.#slots.length;
    // When nobody took the call, those are asked who are left alone only because another provider was usable then.
    for (let turn = 0; turn < 2 * count; turn += 1) {
      const asLast = turn >= count;
      if (asLast && errors.length > 0) break;
      const place = turn % count;
      const slot = this.#slots[place]!;
      const provider = this.#labels.get(slot)!;
      const share = () => this.#shareOf(deadline, place);
      const pass = await this.#admit(slot, asLast, context.signal, share);
      if (typeof pass === 'string') {
        attempts[place] = Object.freeze({ provider, status: 'skipped', reason: pass });
        continue;
      }
      if (context.signal?.aborted) {
        // It fired while other processes were asked: the provider was not called.
        slot.abandoned(pass);
        throw abortError(context.signal);
      }
      const attemptedAt = this.#clock.elapsed();
      const result = await runAttempt(pass.provider, input, context, {
        clock: this.#clock,
        // Time is only worth keeping for a provider that would be asked.
        timeoutMs: this.#options.attemptTimeoutMs ?? (repeatable ? share() : undefined),
        label: provider,
        onStart: () => tell(onStart, provider),
        onEnd: () => tell(onEnd, provider),
      });
      const latencyMs = this.#clock.elapsed() - attemptedAt;
      if (result.status === 'aborted') {
        slot.abandoned(pass);
        throw result.error;
      }
      const success = result.status !== 'failed';
      const probe = pass.kind === 'probe' ? { probe: true as const } : {};
      // A few probes of a provider that is down would hide, or outweigh, what its calls were like.
      if (pass.kind === 'call') this.#health.record({ kind: 'provider', name: this.#healthName(slot), success, latencyMs });
      this.#tell({ ...this.#facts(slot), type: 'provider-attempt', success, latencyMs, kind: pass.kind });
      if (result.status !== 'failed') {
        slot.succeeded(pass);
        if (result.status === 'refused') throw result.error;
        attempts[place] = Object.freeze({ provider, status: 'answered', latencyMs, ...probe });
        return Object.freeze({ value: result.value, provider, attempts: Object.freeze(attempts.slice(0, place + 1)) });
      }
      const reason = describeFailure(result.error);
      slot.failed(pass, reason, retryAfterOf(result.error, this.#clock.now()));
      attempts[place] = Object.freeze({ provider, status: 'failed', reason, latencyMs, ...probe });
      errors.push(result.error);
      // The caller's own time may be up: then nobody waits for another provider.
      if (context.signal?.aborted || (!repeatable && !isToolError(result.error, 'PROVIDER_UNAVAILABLE'))) throw result.error;
    }
    throw this.#exhausted(attempts, errors);
  }

  /** Half of the time that is left, if a provider after this place may need the rest; no limit otherwise. */
  #shareOf(deadline: number, place: number): number | undefined {
    if (deadline === Infinity || !this.#slots.slice(place + 1).some((slot) => slot.wouldBeAsked())) return undefined;
    return Math.max(1, Math.ceil((deadline - this.#clock.elapsed()) / 2));
  }

  /** All providers in the order they are tried, as plain data. */
  snapshot(): readonly ProviderSnapshot[] {
    return Object.freeze(this.#slots.map((slot) => this.#snapshotOf(slot)));
  }

  /** Tells other processes what they were not told yet, and stops listening to them. Calls can go on. */
  async close(): Promise<void> {
    await this.#sync?.close();
  }

  #createSlot(spec: ProviderRouterOptions['providers'][number]): ProviderSlot {
    const { factories, config, env = environment(), checkTimeoutMs = 5_000, random = Math.random, failuresToEject = 5, baseMs = 1_000, capMs = 60_000 } = this.#options;
    const slot: ProviderSlot = new ProviderSlot(spec, {
      clock: this.#clock,
      env,
      factory: lookUp(factories, spec.name),
      credentials: lookUp(config, spec.name),
      checkTimeoutMs,
      probeLeaseMs: this.#leaseMs(),
      failuresToEject,
      isOtherUsable: () => this.#slots.some((other) => other !== slot && other.isUsable()),
      backoffMs: (failures) => exponentialBackoff(failures, { baseMs, capMs, random }),
      onCheck: (result, previous, latencyMs) => this.#checked(slot, result, previous, latencyMs),
      onEjected: (reason, failures, backoffMs) => this.#tell({ ...this.#facts(slot), type: 'provider-ejected', reason, failures, backoffMs }),
      onRecovered: () => this.#tell({ ...this.#facts(slot), type: 'provider-recovered' }),
    });
    return slot;
  }

  #leaseMs(): number {
    const { probeLeaseMs, attemptTimeoutMs } = this.#options;
    return probeLeaseMs ?? (attemptTimeoutMs === undefined ? 60_000 : attemptTimeoutMs + 1_000);
  }

  /** Leave to call a provider, or why it is skipped; waits for a health check that is due, and for other processes to agree to a probe. */
  async #admit(slot: ProviderSlot, asLast: boolean, signal: AbortSignal | undefined, share: () => number | undefined): Promise<Pass | string> {
    for (let hasWaited = false; ; ) {
      const admitted = slot.admit(hasWaited, asLast);
      if (typeof admitted === 'string') return admitted;
      if (admitted instanceof Promise) {
        hasWaited = true;
        if (!(await isInTime(admitted, this.#clock, share(), signal))) return 'its health check has not answered yet';
      } else if (await slot.confirm(admitted)) return admitted;
      else if (slot.state.kind !== 'available') return 'another process is trying it out after its failures';
    }
  }

  #checked(slot: ProviderSlot, result: CheckResult, previous: CheckResult | undefined, latencyMs: number): void {
    this.#tell({ ...this.#facts(slot), type: 'provider-attempt', success: result.healthy, latencyMs, kind: 'check' });
    if (!result.healthy && previous?.healthy !== false) {
      this.#tell({ ...this.#facts(slot), type: 'provider-ejected', reason: result.reason, failures: slot.state.failures, backoffMs: slot.check.intervalMs });
    }
    if (result.healthy && previous?.healthy === false) this.#tell({ ...this.#facts(slot), type: 'provider-recovered' });
  }

  #recordCall({ counted = true }: CallOptions, success: boolean, startedAt: number, abandoned: boolean, provider?: string): void {
    if (!counted) return;
    const latencyMs = this.#clock.elapsed() - startedAt;
    this.#health.record({ kind: 'tool', name: this.#options.toolName, success, latencyMs, ...(provider === undefined ? {} : { provider }), ...(abandoned && { abandoned }) });
  }

  #exhausted(attempts: readonly Attempt[], errors: readonly unknown[]): ToolError {
    const { toolName } = this.#options;
    const ends = this.#slots.flatMap(({ state }) => (state.failures > 0 && state.kind !== 'half-open' ? [this.#dateOf(state.until)] : []));
    const retryAt = ends.length === 0 ? null : Math.min(...ends);
    const found = attempts.map(({ provider, reason }) => `${provider} (${reason})`).join('; ') || 'none declared';
    const advice = retryAt === null ? 'see details.attempts' : 'try again after details.retryAt';
    return new ToolError('PROVIDERS_EXHAUSTED', `Expected one provider of ${toolName} to answer, found ${found}; ${advice}`, {
      details: { attempts: Object.freeze(attempts), retryAt },
      ...(errors.length === 0 ? {} : { cause: errors.length === 1 ? errors[0] : new AggregateError(errors) }),
    });
  }

  #snapshotOf(slot: ProviderSlot): ProviderSnapshot {
    const { spec, identity, state } = slot;
    const made = slot.provider();
    const lastCheck = slot.check.last ?? null;
    const reason = typeof made === 'string' ? made : lastCheck?.healthy === false ? lastCheck.reason : null;
    return Object.freeze({
      provider: this.#labels.get(slot)!,
      name: spec.name,
      priority: spec.priority ?? 100,
      identity,
      state: reason === null ? state.kind : 'unhealthy',
      reason,
      failures: state.failures,
      backoffUntil: state.kind === 'backing-off' ? this.#dateOf(state.until) : null,
      lastCheck,
      lastCall: this.#health.lastCall('provider', this.#healthName(slot)),
      metrics: this.#health.summary('provider', this.#healthName(slot)),
    });
  }

  /** The date of a moment, for people; decisions are made by elapsed time alone. */
  #dateOf(elapsed: number): number {
    return this.#clock.now() + (elapsed - this.#clock.elapsed());
  }

  #healthName(slot: ProviderSlot): string {
    return providerHealthName(this.#options.toolName, slot.identity);
  }

  #facts(slot: ProviderSlot): { readonly toolName: string; readonly provider: string; readonly at: number } {
    return { toolName: this.#options.toolName, provider: this.#labels.get(slot)!, at: this.#clock.now() };
  }

  #tell(event: ToolEvent): void {
    try {
      this.#options.onEvent?.(Object.freeze(event));
    } catch {
      // What happened is not a listener's to stop.
    }
  }
}

/** The name under which a provider's calls are counted: the same service behind two tools is counted for each. */
export function providerHealthName(toolName: string, identity: string): string {
  return `${toolName}/${identity}`;
}

/** Whether what never rejects has settled within some time. @throws ToolError of the signal when that fires before. */
function isInTime(waited: Promise<void>, clock: Clock, timeoutMs: number | undefined, signal: AbortSignal | undefined): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortError(signal));
    const end = (settle: () => void) => () => {
      stopTimer?.();
      stopListening();
      settle();
    };
    const stopTimer = timeoutMs === undefined ? undefined : clock.after(timeoutMs, end(() => resolve(false)));
    const stopListening = onAbort(signal, end(() => reject(abortError(signal!))));
    void waited.then(end(() => resolve(true)));
  });
}

/** Whether a tool says by its result that it failed. */
function isFailure(value: unknown): boolean {
  return isToolResult(value) && value.status === 'error';
}

function tell(listener: ((provider: string) => void) | undefined, provider: string): void {
  try {
    listener?.(provider);
  } catch {
    // What happened is not a listener's to stop.
  }
}
