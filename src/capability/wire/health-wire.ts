import type { HealthSummary } from '../../providers/health/health-samples.js';
import type { Invocation, ProviderHealth, ToolHealth } from '../health/health-ledger.js';

/** The last calls in numbers; times in seconds since 1970, `null` for what cannot be said without calls. */
export interface MetricsWire {
  readonly total: number;
  readonly success: number;
  readonly failure: number;
  readonly success_rate: number | null;
  readonly average_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly last_sample_at: number | null;
}

/** What is known of a provider since counting began; times in seconds since 1970. */
export interface RouterWire {
  readonly successes: number;
  readonly failures: number;
  readonly consecutive_failures: number;
  readonly failure_rate: number | null;
  readonly last_success: number | null;
  readonly last_failure: number | null;
  readonly last_check: number | null;
  readonly backoff_until: number | null;
}

export interface CallWire {
  readonly success: boolean;
  readonly latency_ms: number;
  readonly timestamp: number;
}

export interface ProviderHealthWire {
  readonly metrics: MetricsWire;
  readonly router: RouterWire;
  readonly last_call: CallWire | null;
}

/** How a tool fared lately, as the discovery APIs show it. */
export interface ToolHealthWire {
  readonly tool: MetricsWire;
  readonly providers: Readonly<Record<string, ProviderHealthWire>>;
  readonly last_invocation: (CallWire & { readonly provider: string | null }) | null;
  /** The provider that answered the last successful call. */
  readonly last_success_provider: string | null;
}

export function metricsWire({ total, success, failure, successRate, averageLatencyMs, p95LatencyMs, lastSampleAt }: HealthSummary): MetricsWire {
  return Object.freeze({ total, success, failure, success_rate: successRate, average_latency_ms: averageLatencyMs, p95_latency_ms: p95LatencyMs, last_sample_at: seconds(lastSampleAt) });
}

export function toolHealthWire({ tool, providers, lastInvocation, lastSuccessProvider }: ToolHealth): ToolHealthWire {
  return Object.freeze({
    tool: metricsWire(tool),
    providers: Object.freeze(Object.fromEntries(Object.entries(providers).map(([label, health]) => [label, providerWire(health)]))),
    last_invocation: lastInvocation === null ? null : Object.freeze({ provider: lastInvocation.provider, ...callWire(lastInvocation) }),
    last_success_provider: lastSuccessProvider,
  });
}

function providerWire({ metrics, lifetime, lastCall, consecutiveFailures, lastSuccess, lastFailure, lastCheck, backoffUntil }: ProviderHealth): ProviderHealthWire {
  return Object.freeze({
    metrics: metricsWire(metrics),
    router: Object.freeze({
      successes: lifetime.success,
      failures: lifetime.failure,
      consecutive_failures: consecutiveFailures,
      failure_rate: lifetime.total === 0 ? null : lifetime.failure / lifetime.total,
      last_success: seconds(lastSuccess),
      last_failure: seconds(lastFailure),
      last_check: seconds(lastCheck),
      backoff_until: seconds(backoffUntil),
    }),
    last_call: lastCall === null ? null : Object.freeze(callWire(lastCall)),
  });
}

function callWire({ success, latencyMs, at }: Omit<Invocation, 'provider'>): CallWire {
  return { success, latency_ms: latencyMs, timestamp: at / 1_000 };
}

function seconds(at: number | null): number | null {
  return at === null ? null : at / 1_000;
}
