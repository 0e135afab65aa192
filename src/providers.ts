export { exponentialBackoff, type BackoffOptions } from './providers/exponential-backoff.js';
export type { HealthKind, HealthLog, HealthRecord, HealthSummary, LifetimeCounts, Sample } from './providers/health/health-samples.js';
export { RollingHealth, type RollingHealthOptions } from './providers/health/rolling-health.js';
export { SharedHealth, type SharedHealthOptions } from './providers/health/shared-health.js';
export type { CheckResult } from './providers/provider-slot.js';
export type { Attempt, Environment, Provider, ProviderFactory } from './providers/provider.js';
export { ProviderRouter, providerHealthName, type CallOptions, type ProviderSnapshot, type Routed } from './providers/provider-router.js';
export type { ProviderRouterOptions, RoutingOptions } from './providers/router-options.js';
export type { ToolContext, ToolProvider } from './tool/metadata/tool-options.js';
