import type { Clock } from '../core/clock.js';
import { describeValue, digestOf } from '../core/plain-data.js';
import type { ProviderFacts, ToolEvent } from '../core/tool-event.js';
import type { ToolProvider } from '../tool/tool-options.js';
import { exponentialBackoff } from './exponential-backoff.js';
import type { Provider, ProviderSnapshot } from './provider.js';
import type { HealthLog } from './rolling-health.js';
import {
  CHECK_INTERVAL_MS,
  lookUp,
  type CheckedRouterOptions,
  type ProviderSpec,
} from './router-options.js';
import { describeFailure } from './run-attempt.js';

/**
 * A provider's state, based on its calls.
 *
 * - available: calls are sent to the provider. The provider may have failed while no other provider
 *   was usable.
 * - backing-off: no calls are sent to the provider before `until`.
 * - half-open: one call is probing the provider. Other calls skip the provider until the probe
 *   ends, but at most until the time `until`, because the probe may hang.
 */
interface ProviderState {
  readonly kind: 'available' | 'backing-off' | 'half-open';
  /** The number of consecutive failures. */
  readonly failures: number;
  /**
   * The end of the backoff or of the probe, as a value of `clock.elapsed()`. For an available
   * provider that has failed, the earliest time for a useful retry.
   */
  readonly until: number;
}

const AVAILABLE: ProviderState = Object.freeze({ kind: 'available', failures: 0, until: 0 });

/** Milliseconds for which a hanging probe keeps other calls away. */
const PROBE_MS = 60_000;

/**
 * Permission to call a provider. If the provider's state changes before the call ends, the call's
 * result is mostly ignored.
 */
export interface Pass {
  readonly kind: 'call' | 'probe';
  readonly provider: Provider;
  readonly state: ProviderState;
}

type CheckResult = NonNullable<ProviderSnapshot['lastCheck']>;
type SlotEvent<Event = ToolEvent> = Event extends ProviderFacts & {
  readonly type: `provider-${string}`;
}
  ? Omit<Event, keyof ProviderFacts>
  : never;

/**
 * Returns a provider's name and the digest of its configuration. Equal providers have the same
 * identity in every process.
 */
export function identityOf({ name, config = {} }: ToolProvider): string {
  return `${name}#${digestOf(config).slice(0, 16)}`;
}

/**
 * Returns the name under which a provider's calls are recorded. If two tools use the same service,
 * its calls are recorded separately for each tool.
 */
export function providerHealthName(toolName: string, identity: string): string {
  return `${toolName}/${identity}`;
}

/** A provider and its health check, or the reason why there is no provider. */
type Made =
  | { readonly provider: Provider; readonly check: HealthCheck }
  | { readonly reason: string; readonly at: number };

/** A tool's provider: created on first use, checked periodically, and skipped while it fails. */
export class ProviderSlot {
  readonly healthName: string;
  /**
   * The provider's name. If two providers of the tool have the same name, part of the
   * configuration's digest is appended.
   */
  readonly label: string;
  readonly #spec: ProviderSpec;
  readonly #options: CheckedRouterOptions;
  readonly #health: HealthLog;
  /** Returns true if another provider could take a call at the moment. */
  readonly #isOtherUsable: (slot: ProviderSlot) => boolean;
  readonly #config: Readonly<Record<string, unknown>>;
  #made: Made | undefined;
  #state: ProviderState = AVAILABLE;

  constructor(
    spec: ProviderSpec,
    label: string,
    options: CheckedRouterOptions,
    health: HealthLog,
    isOtherUsable: (slot: ProviderSlot) => boolean,
  ) {
    this.label = label;
    this.healthName = providerHealthName(options.toolName, identityOf(spec));
    this.#spec = spec;
    this.#options = options;
    this.#health = health;
    this.#isOtherUsable = isOtherUsable;
    this.#config = Object.freeze({ ...spec.config, ...lookUp(options.config, spec.name) });
  }

  get state(): ProviderState {
    return this.#state;
  }

  /**
   * Returns true if calls can be sent to the provider: its credentials are set, its health check
   * hasn't failed, and it isn't backing off.
   */
  isUsable(): boolean {
    const made = this.#ready();
    return (
      'provider' in made && this.#state.kind === 'available' && made.check.last?.healthy !== false
    );
  }

  /** Returns true if a call made now would use, check or probe the provider. */
  wouldBeAsked(): boolean {
    const made = this.#ready();
    return (
      'provider' in made &&
      this.#admission() !== 'no' &&
      (made.check.last?.healthy !== false || made.check.isDue())
    );
  }

  /**
   * Returns a pass to call the provider now, the reason for skipping it, or a health check. After
   * waiting for a check, call this function again.
   *
   * @param hasWaited True if the caller has already waited for a check and accepts its result.
   * Without this parameter, a caller would wait forever for checks that take longer than their
   * interval.
   */
  admit(hasWaited: boolean): Pass | string | Promise<void> {
    const made = this.#ready();
    if ('reason' in made) return made.reason;
    const { provider, check } = made;
    const now = this.#options.clock.elapsed();
    const kind = this.#admission();
    if (kind === 'no') return describeState(this.#state, now);
    const due = hasWaited ? undefined : check.due();
    if (due !== undefined) return due;
    if (check.last?.healthy === false) return check.last.reason;
    // The state changes before the first `await`, so no other call can become a probe too.
    if (kind === 'probe')
      this.#enter('half-open', now + (this.#options.attemptTimeoutMs ?? PROBE_MS) + 1_000);
    return { kind, provider, state: this.#state };
  }

  succeeded(pass: Pass): void {
    // If the provider is available, any success ends a series of failures. If the provider is
    // backing off, only the probe shows the current state.
    if (this.#state !== pass.state && this.#state.kind !== 'available') return;
    const wasOut = this.#state.kind !== 'available';
    this.#state = AVAILABLE;
    if (wasOut) this.tell({ type: 'provider-recovered' });
  }

  /**
   * Records a failed call.
   * @param retryAfterMs The delay that the service asked for, if any.
   */
  failed(pass: Pass, reason: string, retryAfterMs?: number): void {
    // If many calls were in progress when the service failed, they count as one failure.
    if (this.#state !== pass.state) return;
    const { clock, failuresToEject, baseMs, capMs, random } = this.#options;
    const failures = this.#state.failures + 1;
    const backoffMs = exponentialBackoff(failures, { baseMs, capMs, random });
    const restMs = Math.max(backoffMs, retryAfterMs ?? 0);
    const isEjected =
      pass.kind === 'probe' ||
      retryAfterMs !== undefined ||
      failures >= failuresToEject ||
      this.#isOtherUsable(this);
    const until = clock.elapsed() + restMs;
    this.#enter(isEjected ? 'backing-off' : 'available', until, failures);
    if (!isEjected) return;
    this.#health.backedOff?.(this.healthName, { failures, until: dateOf(until, clock) });
    this.tell({ type: 'provider-ejected', reason, failures, backoffMs: restMs });
  }

  /**
   * Records a call that was aborted before it could show the service's state. If the aborted call
   * was the probe, the next call becomes the probe.
   */
  abandoned(pass: Pass): void {
    if (this.#state === pass.state && pass.kind === 'probe')
      this.#enter('backing-off', this.#options.clock.elapsed());
  }

  /** Returns the provider's state as plain data. */
  snapshot(): ProviderSnapshot {
    const { name, priority } = this.#spec;
    const { kind, failures, until } = this.#state;
    const made = this.#ready();
    const lastCheck = ('check' in made && made.check.last) || null;
    const reason =
      'reason' in made ? made.reason : lastCheck?.healthy === false ? lastCheck.reason : null;
    return Object.freeze({
      provider: this.label,
      name,
      priority,
      identity: identityOf(this.#spec),
      state: reason === null ? kind : 'unhealthy',
      reason,
      failures,
      backoffUntil: kind === 'backing-off' ? dateOf(until, this.#options.clock) : null,
      lastCheck,
      lastCall: this.#health.lastCall('provider', this.healthName),
      metrics: this.#health.summary('provider', this.healthName),
    });
  }

  /** Reports an event about the provider. */
  tell(event: SlotEvent): void {
    const { onEvent, toolName, clock } = this.#options;
    tellSafely(
      onEvent,
      Object.freeze({ toolName, provider: this.label, at: clock.now(), ...event }),
    );
  }

  #checked(result: CheckResult, previous: CheckResult | undefined, latencyMs: number): void {
    this.tell({ type: 'provider-attempt', success: result.healthy, latencyMs, kind: 'check' });
    if (!result.healthy && previous?.healthy !== false)
      this.tell({
        type: 'provider-ejected',
        reason: result.reason,
        failures: this.#state.failures,
        backoffMs: this.#spec.healthCheckIntervalMs,
      });
    if (result.healthy && previous?.healthy === false) this.tell({ type: 'provider-recovered' });
  }

  #enter(kind: ProviderState['kind'], until: number, failures = this.#state.failures): void {
    this.#state = Object.freeze({ kind, failures, until });
  }

  /** Returns what the provider's state allows: a call, only a probe, or neither. */
  #admission(): Pass['kind'] | 'no' {
    if (this.#state.kind === 'available') return 'call';
    return this.#options.clock.elapsed() >= this.#state.until ? 'probe' : 'no';
  }

  /** Returns the provider, creating it if necessary, or the reason why there is none. */
  #ready(): Made {
    const { clock } = this.#options;
    const retryMs = this.#spec.healthCheckIntervalMs || CHECK_INTERVAL_MS;
    let made = this.#made;
    if (made === undefined || ('at' in made && clock.elapsed() - made.at >= retryMs))
      made = this.#make();
    const missing = 'provider' in made ? this.#missingCredentials(made.provider) : '';
    // A provider without credentials isn't kept, so it's created again once the credentials are
    // set.
    this.#made = missing === '' ? made : undefined;
    if (missing === '') return made;
    const reason = `its credentials ${missing} are missing from its configuration and from the environment; set them`;
    return { reason, at: 0 };
  }

  #make(): Made {
    const { factories, env, clock } = this.#options;
    const none = (reason: string): Made => ({ reason, at: clock.elapsed() });
    const factory = lookUp(factories, this.#spec.name);
    if (factory === undefined)
      return none(
        `no factory is registered under its name; pass one (as providers to the executor, or as factories to a router)`,
      );
    try {
      const provider: unknown = factory(this.#config, env);
      if (!isProvider(provider))
        return none(
          `its factory must return a provider with a call function, but returned ${describeValue(provider)}`,
        );
      const intervalMs = this.#spec.healthCheckIntervalMs;
      const check = new HealthCheck(provider, this.#options, intervalMs, (...result) =>
        this.#checked(...result),
      );
      return { provider, check };
    } catch (error) {
      return none(`its factory failed: ${describeFailure(error)}`);
    }
  }

  /** Returns the names of missing required credentials, but never their values. */
  #missingCredentials({ requires = [] }: Provider): string {
    const isThere = (key: string) =>
      isCredential(lookUp(this.#config, key)) || isCredential(lookUp(this.#options.env, key));
    return requires
      .map((keys) => (typeof keys === 'string' ? [keys] : keys))
      .filter((keys) => !keys.some(isThere))
      .map((keys) => keys.join(' or '))
      .join(', ');
  }
}

function isCredential(value: unknown): boolean {
  return typeof value === 'string' ? value.trim() !== '' : value !== undefined && value !== null;
}

function isProvider(value: unknown): value is Provider {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Partial<Provider>).call === 'function'
  );
}

function describeState({ kind, until, failures }: ProviderState, now: number): string {
  if (kind === 'half-open') return 'another call is probing it after its failures';
  return `backing off for ${Math.ceil(until - now)} ms after ${failures} consecutive failure${failures === 1 ? '' : 's'}`;
}

/**
 * Converts a value of `clock.elapsed()` to a date, for display only. Decisions use elapsed time.
 */
export function dateOf(elapsed: number, clock: Clock): number {
  return clock.now() + (elapsed - clock.elapsed());
}

/** Calls a listener and ignores its errors, because the event has already happened. */
export function tellSafely<T>(listener: ((value: T) => void) | undefined, value: T): void {
  try {
    listener?.(value);
  } catch {
    // A listener's error is ignored.
  }
}

type OnResult = (result: CheckResult, previous: CheckResult | undefined, latencyMs: number) => void;

/** Checks a provider's health at intervals. Callers that need the result share a single check. */
class HealthCheck {
  readonly #provider: Provider;
  readonly #options: CheckedRouterOptions;
  readonly #intervalMs: number;
  readonly #onResult: OnResult;
  #startedAt = -Infinity;
  #running: Promise<void> | undefined;
  last: CheckResult | undefined;

  /** @param intervalMs 0 disables checks. */
  constructor(
    provider: Provider,
    options: CheckedRouterOptions,
    intervalMs: number,
    onResult: OnResult,
  ) {
    this.#provider = provider;
    this.#options = options;
    this.#intervalMs = intervalMs;
    this.#onResult = onResult;
  }

  /**
   * Returns true while a check is running, or if a check is needed before the provider can be used.
   */
  isDue(): boolean {
    if (this.#running !== undefined) return true;
    if (this.#intervalMs === 0 || this.#provider.check === undefined) return false;
    // The interval begins when a check starts, so a long check doesn't delay the next one.
    return this.#options.clock.elapsed() - this.#startedAt >= this.#intervalMs;
  }

  /**
   * Returns the check to wait for: the running check, a new check if one is due, or `undefined`.
   * Never rejects.
   */
  due(): Promise<void> | undefined {
    if (this.isDue())
      this.#running ??= this.#run().finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async #run(): Promise<void> {
    const { clock, checkTimeoutMs } = this.#options;
    const startedAt = (this.#startedAt = clock.elapsed());
    const reason = await this.#ask();
    const previous = this.last;
    const at = clock.now();
    this.last = Object.freeze(
      reason === undefined ? { healthy: true, at } : { healthy: false, at, reason },
    );
    this.#onResult(this.last, previous, Math.min(clock.elapsed() - startedAt, checkTimeoutMs));
  }

  /** Resolves to the reason why the provider is unhealthy, or to `undefined` if it's healthy. */
  #ask(): Promise<string | undefined> {
    const { clock, checkTimeoutMs } = this.#options;
    return new Promise((resolve) => {
      const controller = new AbortController();
      const stopTimer = clock.after(checkTimeoutMs, () => {
        resolve(`its health check didn't answer within ${checkTimeoutMs} ms`);
        controller.abort();
      });
      const answer = async () => await this.#provider.check!(controller.signal);
      void answer()
        .then(
          (healthy) => (healthy === true ? undefined : 'its health check failed'),
          (error: unknown) => `its health check failed: ${describeFailure(error)}`,
        )
        .then(resolve)
        .finally(stopTimer);
    });
  }
}
