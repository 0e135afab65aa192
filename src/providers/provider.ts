import type { ToolContext } from '../tool/tool-options.js';
import type { HealthSummary, Sample } from './rolling-health.js';

/** A service that can answer a tool's calls. */
export interface Provider {
  /**
   * Answers one call with a plain value, or a result of `ok`, `fail`, `askUser`, or `halt`.
   *
   * If the service says when to come back, throw an error with `Retry-After` among its `headers`,
   * or a ToolError `PROVIDER_UNAVAILABLE` with `details.retryAfterMs`.
   */
  call(input: unknown, context: ToolContext): unknown;
  /**
   * Returns true if the service can be used now. Anything else, an error, or no answer in time
   * count as false.
   */
  check?(signal: AbortSignal): boolean | Promise<boolean>;
  /** The names of credentials that the provider needs. Of a nested list, one is enough. */
  readonly requires?: readonly (string | readonly string[])[];
}

/**
 * Makes a provider from the configuration declared with the tool and its credentials.
 *
 * It's called when the provider is first needed, and again once missing credentials are there. It
 * must not open anything: connections belong in `call`.
 */
export type ProviderFactory = (
  config: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
) => Provider;

/** The outcome of one provider during one call. */
export interface Attempt {
  /**
   * The provider's name. If two providers of the tool share it, part of the configuration's digest
   * follows.
   */
  readonly provider: string;
  readonly status: 'answered' | 'failed' | 'skipped';
  /**
   * The reason why it was skipped, or how it failed. Contains no text from the service, which could quote
   * credentials.
   */
  readonly reason?: string;
  /** The duration of the attempt in milliseconds. Missing for skipped providers. */
  readonly latencyMs?: number;
  /** Marks a call that tried out a provider whose backoff had ended. */
  readonly probe?: true;
}

/** A provider as users and other programs see it. Dates are milliseconds since 1970. */
export interface ProviderSnapshot {
  /**
   * The name. If two providers of the tool share it, part of the configuration's digest follows.
   */
  readonly provider: string;
  readonly name: string;
  readonly priority: number;
  readonly identity: string;
  readonly state: 'available' | 'backing-off' | 'half-open' | 'unhealthy';
  /** The reason why it's unhealthy. */
  readonly reason: string | null;
  /** The number of consecutive failures. */
  readonly failures: number;
  /**
   * The time when it's tried out. Before that, it receives calls only if no other provider is usable and it
   * may still be used.
   */
  readonly backoffUntil: number | null;
  readonly lastCheck:
    | { readonly healthy: true; readonly at: number }
    | { readonly healthy: false; readonly at: number; readonly reason: string }
    | null;
  /** The latest of its calls. Health checks and calls that tried it out after failures don't count. */
  readonly lastCall: Sample | null;
  readonly metrics: HealthSummary;
}
