export { CapabilityRegistry, type CapabilityChange, type ExecutionEvents } from './capability/capability-registry.js';
export type { CapabilityJob, CapabilitySkill, CapabilityTask, CapabilityTool, SafetyLevel, Unresolved } from './capability/capability-items.js';
export type { CapabilitySource, SourceTools } from './capability/capability-source.js';
export type { CapabilityFinding } from './capability/finding.js';
export type { Invocation, ProviderHealth, ToolHealth } from './capability/health/health-ledger.js';
export type { AuthStatus, Environment } from './capability/query/auth-status.js';
export type { HealthQuery, OneOrMore } from './capability/query/check-query.js';
export type { ToolQuery } from './capability/query/tool-query.js';
export type { JobQuery, SkillQuery, TaskQuery } from './capability/query/work-query.js';
export type { CapabilityOptions, ExecutionRecord } from './capability/registry-options.js';
export type { CapabilityDifference, CapabilityRef } from './capability/state/build-state.js';
export type { CallWire, CapabilitySummary, CompatibilityWire, JobWire, MetricsWire, ProviderHealthWire, RouterWire, SkillWire, TaskWire, ToolHealthWire, ToolWire } from './capability/wire/wire-types.js';
export type { JobManifest, SkillManifest, TaskManifest } from './capability/work/work-schemas.js';

export { manifestJsonSchema, type ManifestEntry } from './capability/manifest/entry/manifest-entry.js';
export { loadFunctionMap, type FunctionMap, type FunctionMetadata, type LoadFunctionMapOptions, type MappedFunction } from './capability/manifest/load-function-map.js';
export { loadManifest, type LoadedEntry, type LoadedManifest, type LoadManifestOptions } from './capability/manifest/load-manifest.js';
export type { Handlers, ManifestSource } from './capability/manifest/load-options.js';
export { ToolManifestValidationError, type ManifestIssue } from './capability/manifest/manifest-issue.js';
