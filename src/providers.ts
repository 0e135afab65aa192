export { exponentialBackoff } from './providers/exponential-backoff.js';
export type { Attempt, Provider, ProviderFactory, ProviderSnapshot } from './providers/provider.js';
export { ProviderRouter, type Routed } from './providers/provider-router.js';
export {
  RollingHealth,
  type Backoff,
  type HealthLog,
  type HealthRecord,
  type HealthSummary,
  type Sample,
} from './providers/rolling-health.js';
export type { ProviderRouterOptions } from './providers/router-options.js';
export { PublishedHealth } from './providers/published-health.js';
export type { ToolContext, ToolProvider } from './tool/tool-options.js';
