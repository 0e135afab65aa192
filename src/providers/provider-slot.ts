import type { Clock } from '../core/clock.js';
import { digestOf, describeValue } from '../core/plain-data.js';
import type { ToolProvider } from '../tool/metadata/tool-options.js';
import { ActiveCheck, type CheckResult } from './active-check.js';
import { lookUp } from './check-options.js';
import type { Environment, Provider, ProviderFactory } from './provider.js';
import { admissionOf, AVAILABLE, backingOff, failuresOf, halfOpen, type ProviderState } from './provider-state.js';
import { describeFailure } from './run-attempt.js';
import type { SharedBackoff, SharedState } from './shared-backoff.js';

/** Leave to call a provider; what becomes of the call counts only while the state is the one it was given in. */
export interface Pass {
  readonly kind: 'call' | 'probe';
  readonly provider: Provider;
  readonly state: ProviderState;
}

export interface SlotOptions {
  readonly clock: Clock;
  readonly env: Environment;
  readonly factory: ProviderFactory | undefined;
  readonly credentials: Readonly<Record<string, unknown>> | undefined;
  readonly checkTimeoutMs: number;
  readonly probeLeaseMs: number;
  readonly backoffMs: (failures: number) => number;
  readonly onCheck: (result: CheckResult, previous: CheckResult | undefined, latencyMs: number) => void;
  readonly onEjected: (reason: string, failures: number, backoffMs: number) => void;
  readonly onRecovered: () => void;
}

/** The interval of checks when a provider declares none. Source: the health interval of the routed tools' original. */
export const CHECK_INTERVAL_MS = 300_000;

/** The name of a provider and the digest of its configuration: equal for equal providers, in every process. */
export function identityOf({ name, config = {} }: ToolProvider): string {
  return `${name}#${digestOf(config).slice(0, 16)}`;
}

/** One provider of a tool: made when needed, checked now and then, left alone while it fails. */
export class ProviderSlot {
  readonly spec: ToolProvider;
  readonly identity: string;
  readonly check: ActiveCheck;
  /** What other processes know of it, when there are any. */
  shared: SharedBackoff | undefined;
  readonly #options: SlotOptions;
  readonly #config: Readonly<Record<string, unknown>>;
  #made: { readonly provider: Provider } | { readonly reason: string; readonly at: number } | undefined;
  #missing = '';
  #state: ProviderState = AVAILABLE;

  constructor(spec: ToolProvider, options: SlotOptions) {
    this.spec = spec;
    this.identity = identityOf(spec);
    this.#options = options;
    this.#config = Object.freeze({ ...spec.config, ...options.credentials });
    const { clock, checkTimeoutMs, onCheck } = options;
    this.check = new ActiveCheck({ clock, intervalMs: spec.healthCheckIntervalMs ?? CHECK_INTERVAL_MS, timeoutMs: checkTimeoutMs, onResult: onCheck });
  }

  get state(): ProviderState {
    return this.#state;
  }

  /** Whether a call would go to the provider now, as far as that is known without asking it. */
  isUsable(): boolean {
    const provider = this.provider();
    if (typeof provider === 'string' || admissionOf(this.#state, this.#options.clock.elapsed()) === 'no') return false;
    return this.check.last?.healthy !== false || this.check.isDue(provider);
  }

  /**
   * Leave to call the provider now, or why not, or a check to wait for before asking again.
   *
   * @param hasWaited whether the caller has waited for a check: it takes what that found. A check that takes longer than
   * its interval is due again when it ends, and would hold a caller for ever.
   */
  admit(hasWaited: boolean): Pass | string | Promise<void> {
    const provider = this.provider();
    if (typeof provider === 'string') return provider;
    const now = this.#options.clock.elapsed();
    const kind = admissionOf(this.#state, now);
    if (kind === 'no') {
      this.shared?.look();
      return describeState(this.#state, now);
    }
    const check = hasWaited ? undefined : this.check.due(provider);
    if (check !== undefined) return check;
    if (this.check.last?.healthy === false) return this.check.last.reason;
    // From here on, and before anybody waits for anything, this call is the only probe.
    if (kind === 'probe') this.#state = halfOpen(failuresOf(this.#state), now + this.#options.probeLeaseMs);
    return { kind, provider, state: this.#state };
  }

  /** Whether a probe may go on: among all processes there is only one. */
  async confirm(pass: Pass): Promise<boolean> {
    if (pass.kind === 'call' || this.shared === undefined) return true;
    const granted = await this.shared.claim(failuresOf(pass.state), this.#options.probeLeaseMs);
    if (!granted && this.#state === pass.state) this.#state = backingOff(failuresOf(pass.state), this.#options.clock.elapsed());
    return granted;
  }

  succeeded(pass: Pass): void {
    // A call from before the provider failed says nothing of now; and one that is available stays so.
    if (this.#state !== pass.state || pass.kind === 'call') return;
    this.#state = AVAILABLE;
    this.#options.onRecovered();
    this.shared?.changed();
  }

  failed(pass: Pass, reason: string): void {
    // Many calls that were under way when the service broke have seen one failure, not many.
    if (this.#state !== pass.state) return;
    const failures = failuresOf(pass.state) + 1;
    const backoffMs = this.#options.backoffMs(failures);
    this.#state = backingOff(failures, this.#options.clock.elapsed() + backoffMs);
    this.#options.onEjected(reason, failures, backoffMs);
    this.shared?.changed();
  }

  /** The call ended without a word about the service: a probe is free for the next. */
  abandoned(pass: Pass): void {
    if (this.#state !== pass.state || pass.kind === 'call') return;
    this.#state = backingOff(failuresOf(pass.state), this.#options.clock.elapsed());
    this.shared?.changed();
  }

  /** The state as other processes read it. */
  sharedState(): SharedState {
    if (this.#state.kind === 'available') return { kind: 'available' };
    const { kind, failures, until } = this.#state;
    const restMs = Math.max(0, until - this.#options.clock.elapsed());
    return kind === 'backing-off' ? { kind, failures, backoffMs: restMs } : { kind, failures, leaseMs: restMs };
  }

  /** Takes over what another process found. */
  adopt(state: SharedState): void {
    const now = this.#options.clock.elapsed();
    const before = this.#state;
    if (state.kind === 'available') this.#state = AVAILABLE;
    else if (state.kind === 'backing-off') this.#state = backingOff(state.failures, now + state.backoffMs);
    else this.#state = halfOpen(state.failures, now + state.leaseMs);
    if (state.kind === 'available' && before.kind !== 'available') this.#options.onRecovered();
    if (state.kind === 'backing-off') this.#options.onEjected('failed in another process', state.failures, state.backoffMs);
  }

  /** The provider, made now if need be; or why there is none. */
  provider(): Provider | string {
    const made = this.#made;
    const now = this.#options.clock.elapsed();
    if (made === undefined || ('reason' in made && now - made.at >= (this.spec.healthCheckIntervalMs || CHECK_INTERVAL_MS))) this.#made = this.#make();
    if ('reason' in this.#made!) return this.#made.reason;
    const missing = this.#missingCredentials(this.#made!.provider);
    if (missing === '' && this.#missing !== '') {
      // It was made without credentials that have come since.
      this.#made = this.#make();
      this.check.reset();
    }
    this.#missing = missing;
    if (missing !== '') return `expected the credentials ${missing}, found none in its configuration and the environment; set them`;
    return 'reason' in this.#made! ? this.#made.reason : this.#made!.provider;
  }

  #make(): { readonly provider: Provider } | { readonly reason: string; readonly at: number } {
    const { factory, env, clock } = this.#options;
    const at = clock.elapsed();
    if (factory === undefined) return { at, reason: 'expected a factory of its name, found none; hand one over (the executor takes them as providers, a router as factories)' };
    try {
      const provider: unknown = factory(this.#config, env);
      if (isProvider(provider)) return { provider };
      return { at, reason: `expected its factory to return a provider with a call function, found ${describeValue(provider)}` };
    } catch (error) {
      return { at, reason: `its factory failed: ${describeFailure(error)}` };
    }
  }

  /** The names of required credentials that are nowhere; never their values. */
  #missingCredentials({ requires = [] }: Provider): string {
    const isThere = (key: string) => isCredential(lookUp(this.#config, key)) || isCredential(lookUp(this.#options.env, key));
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
  return typeof value === 'object' && value !== null && typeof (value as Partial<Provider>).call === 'function';
}

function describeState(state: ProviderState, now: number): string {
  if (state.kind === 'half-open') return 'another call is trying it out after its failures';
  if (state.kind === 'available') return 'available';
  return `backing off for ${Math.ceil(state.until - now)} ms after ${state.failures} failure${state.failures === 1 ? '' : 's'} in a row`;
}
