import type { ToolContext } from '../tool/tool-options.js';
import type { HealthSummary, Sample } from './rolling-health.js';

/** One service that can answer a tool's calls. */
export interface Provider {
  /**
   * Answers one call, with a plain value or a result of `ok`, `fail`, `askUser` or `halt`.
   *
   * A service that says when to come back is heard: by an error with `Retry-After` among its `headers`, or by a
   * ToolError `PROVIDER_UNAVAILABLE` with `details.retryAfterMs`.
   */
  call(input: unknown, context: ToolContext): unknown;
  /** Returns true if the service can be used now; anything else, an error and no answer in time count as false. */
  check?(signal: AbortSignal): boolean | Promise<boolean>;
  /** Names of credentials without which the provider is not used; from a nested list one is enough. */
  readonly requires?: readonly (string | readonly string[])[];
}

/**
 * Makes a provider from the configuration declared with the tool, joined with its credentials.
 *
 * It is called when the provider is first needed, and again when missing credentials have come. It opens nothing:
 * connections belong in `call`.
 */
export type ProviderFactory = (
  config: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
) => Provider;

/** The outcome of one provider during one call. */
export interface Attempt {
  /** The provider's name; followed by a part of its configuration's digest when two of the tool have the same. */
  readonly provider: string;
  readonly status: 'answered' | 'failed' | 'skipped';
  /** The reason why it was skipped, or how it failed. Holds no text of the service, which may quote credentials. */
  readonly reason?: string;
  /** The duration of the attempt in milliseconds; missing for skipped providers. */
  readonly latencyMs?: number;
  /** Marks a call that tried out a provider whose backoff had ended. */
  readonly probe?: true;
}

/** One provider as users and other programs see it; dates are milliseconds since 1970. */
export interface ProviderSnapshot {
  /** The name; followed by a part of the configuration's digest when two providers of the tool share it. */
  readonly provider: string;
  readonly name: string;
  readonly priority: number;
  readonly identity: string;
  readonly state: 'available' | 'backing-off' | 'half-open' | 'unhealthy';
  /** The reason why it is unhealthy. */
  readonly reason: string | null;
  /** The number of failures in a row. */
  readonly failures: number;
  /**
   * The moment when it is tried out; before that, calls reach it only when no other provider is usable and the backoff
   * is not binding.
   */
  readonly backoffUntil: number | null;
  readonly lastCheck:
    | { readonly healthy: true; readonly at: number }
    | { readonly healthy: false; readonly at: number; readonly reason: string }
    | null;
  /** The latest of its calls; health checks, and calls that tried it out after failures, are not among them. */
  readonly lastCall: Sample | null;
  readonly metrics: HealthSummary;
}
