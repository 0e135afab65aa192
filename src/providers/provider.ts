import type { ToolContext } from '../tool/tool-options.js';
import type { HealthSummary, Sample } from './rolling-health.js';

/** A service that can answer a tool's calls. */
export interface Provider {
  /**
   * Answers one call with a plain value, or with a result created by `ok`, `fail`, `askUser`, or
   * `halt`.
   *
   * If the service says when to try again, throw an error with a `Retry-After` entry in its
   * `headers`, or a ToolError `PROVIDER_UNAVAILABLE` with `details.retryAfterMs`.
   */
  call(input: unknown, context: ToolContext): unknown;
  /**
   * Returns true if the service can be used at the moment. Any other value, an error, or a timeout
   * counts as false.
   */
  check?(signal: AbortSignal): boolean | Promise<boolean>;
  /**
   * The names of credentials that the provider needs. In a nested list, one of the names is enough.
   */
  readonly requires?: readonly (string | readonly string[])[];
}

/**
 * Creates a provider from the configuration declared with the tool, including its credentials.
 *
 * The factory is called when the provider is first needed, and again once missing credentials have
 * been set. Don't open connections in the factory: open them in `call`.
 */
export type ProviderFactory = (
  config: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
) => Provider;

/** The outcome of one provider during one call. */
export interface Attempt {
  /**
   * The provider's name. If two providers of the tool have the same name, part of the
   * configuration's digest is appended.
   */
  readonly provider: string;
  readonly status: 'answered' | 'failed' | 'skipped';
  /**
   * The reason why the provider was skipped, or how it failed. Contains no text from the service,
   * because such text could include credentials.
   */
  readonly reason?: string;
  /** The duration of the attempt in milliseconds. Missing if the provider was skipped. */
  readonly latencyMs?: number;
  /** Marks a call that probed a provider after its backoff. */
  readonly probe?: true;
}

/** A provider's state, as shown to users and other programs. Dates are milliseconds since 1970. */
export interface ProviderSnapshot {
  /**
   * The provider's name. If two providers of the tool have the same name, part of the
   * configuration's digest is appended.
   */
  readonly provider: string;
  readonly name: string;
  readonly priority: number;
  readonly identity: string;
  readonly state: 'available' | 'backing-off' | 'half-open' | 'unhealthy';
  /** The reason why the provider is unhealthy. */
  readonly reason: string | null;
  /** The number of consecutive failures. */
  readonly failures: number;
  /** The time when a call may probe the provider. `null` if the provider isn't backing off. */
  readonly backoffUntil: number | null;
  readonly lastCheck:
    | { readonly healthy: true; readonly at: number }
    | { readonly healthy: false; readonly at: number; readonly reason: string }
    | null;
  /** The provider's most recent call. Health checks and probes don't count. */
  readonly lastCall: Sample | null;
  readonly metrics: HealthSummary;
}
