import type { Clock } from '../core/clock.js';
import { isPlainObject } from '../core/plain-data.js';
import type { ToolEvent } from '../core/tool-event.js';
import { LIMITS } from '../core/limits.js';
import type { StateStore } from '../state/state-store.js';
import type { ToolProvider } from '../tool/metadata/tool-options.js';
import { aFunction, aName, anObject, aTable, atLeast, invalidArgument, requireOptions, wholeBetween, type OptionRule } from './check-options.js';
import type { HealthLog } from './health/health-samples.js';
import type { Environment, ProviderFactory } from './provider.js';

type Table<T> = ReadonlyMap<string, T> | Readonly<Record<string, T>>;

export interface ProviderRouterOptions {
  readonly toolName: string;
  /** As declared with the tool; two of the same name and configuration are one. */
  readonly providers: readonly ToolProvider[];
  /** What makes the providers, by name. */
  readonly factories: Table<ProviderFactory>;
  /** Credentials by the names of providers; they are joined with the declared configuration and never shown. */
  readonly config?: Table<Readonly<Record<string, unknown>>>;
  /** Where required credentials are looked for too. @default process.env */
  readonly env?: Environment;
  readonly clock?: Clock;
  /** For the jitter of backoffs. @default Math.random */
  readonly random?: () => number;
  /** What several processes share: who is left alone, and who may try it out. */
  readonly store?: StateStore;
  /** Where calls are counted. @default a RollingHealth of the router's own */
  readonly health?: HealthLog;
  readonly onEvent?: (event: ToolEvent) => void;
  /** Milliseconds that a health check may take. @default 5000 */
  readonly checkTimeoutMs?: number;
  /** Milliseconds that one attempt may take. @default a share of the call's `timeoutMs`, or else any time */
  readonly attemptTimeoutMs?: number;
  /** Milliseconds for which the call that tries a provider out keeps others away, if it hangs. @default attemptTimeoutMs + 1000, or 60_000 */
  readonly probeLeaseMs?: number;
  /** Failures in a row after which a provider is left alone even when no other is usable; otherwise one is enough. @default 5 */
  readonly failuresToEject?: number;
  /** Of the backoff, as in `exponentialBackoff`. @default 1000 */
  readonly baseMs?: number;
  /** @default 60_000 */
  readonly capMs?: number;
}

/** What people who run tools may set of how their providers are called. */
export type RoutingOptions = Pick<ProviderRouterOptions, 'config' | 'checkTimeoutMs' | 'attemptTimeoutMs' | 'probeLeaseMs' | 'failuresToEject' | 'baseMs' | 'capMs'>;

const timer: OptionRule = {
  expected: `milliseconds from 1 to ${LIMITS.timerMs}`,
  allows: (value) => atLeast(1).allows(value) && (value as number) <= LIMITS.timerMs,
};

const RULES: Readonly<Record<keyof ProviderRouterOptions, OptionRule>> = {
  toolName: aName,
  providers: { expected: 'a list', allows: Array.isArray },
  factories: aTable,
  config: aTable,
  env: anObject,
  clock: anObject,
  random: aFunction,
  store: anObject,
  health: anObject,
  onEvent: aFunction,
  checkTimeoutMs: timer,
  attemptTimeoutMs: timer,
  probeLeaseMs: timer,
  failuresToEject: wholeBetween(1, 1_000),
  baseMs: atLeast(0),
  capMs: atLeast(0),
};
const PROVIDER_RULES = {
  name: aName,
  priority: { expected: 'a finite number', allows: (value: unknown) => Number.isFinite(value) },
  healthCheckIntervalMs: atLeast(0),
  config: { expected: 'a plain object', allows: isPlainObject },
};
const CALL_RULES = {
  repeatable: { expected: 'true or false', allows: (value: unknown) => typeof value === 'boolean' },
  timeoutMs: timer,
  onStart: aFunction,
  onEnd: aFunction,
};
const { config, checkTimeoutMs, attemptTimeoutMs, probeLeaseMs, failuresToEject, baseMs, capMs } = RULES;
const ROUTING_RULES: Readonly<Record<keyof RoutingOptions, OptionRule>> = { config, checkTimeoutMs, attemptTimeoutMs, probeLeaseMs, failuresToEject, baseMs, capMs };

/** @throws ToolError `INVALID_ARGUMENT` naming the option. */
export function requireRouterOptions(options: ProviderRouterOptions): void {
  requireOptions(options, RULES, ['toolName', 'providers', 'factories']);
  for (const provider of options.providers) requireOptions(provider, PROVIDER_RULES, ['name']);
  const factories = options.factories instanceof Map ? [...options.factories.values()] : Object.values(options.factories);
  for (const factory of factories) if (typeof factory !== 'function') throw invalidArgument('factories of functions', factory);
}

/** @throws ToolError `INVALID_ARGUMENT` naming the option. */
export function requireRoutingOptions(options: unknown): void {
  requireOptions(options, ROUTING_RULES);
}

/** @throws ToolError `INVALID_ARGUMENT` naming the option. */
export function requireCallOptions(options: unknown): void {
  requireOptions(options, CALL_RULES, ['repeatable']);
}
