export { CapabilityRegistry, type CapabilityChange, type ExecutionEvents } from './capability/capability-registry.js';
export type { CapabilityJob, CapabilitySkill, CapabilityTask, CapabilityTool, SafetyLevel, Unresolved } from './capability/state/capability-items.js';
export type { CapabilitySource, SourceTools } from './capability/state/capability-source.js';
export type { CapabilityFinding } from './capability/manifest/manifest-issue.js';
export type { Invocation, ProviderHealth, ToolHealth } from './capability/state/health-ledger.js';
export type { AuthStatus, Environment } from './capability/state/capability-items.js';
export type { HealthQuery, OneOrMore } from './capability/capability-query.js';
export type { ToolQuery } from './capability/capability-query.js';
export type { JobQuery, SkillQuery, TaskQuery } from './capability/capability-query.js';
export type { CapabilityOptions, ExecutionRecord } from './capability/registry-options.js';
export type { CapabilityDifference, CapabilityRef } from './capability/state/build-state.js';
export type { CallWire, CapabilitySummary, CompatibilityWire, JobWire, MetricsWire, ProviderHealthWire, RouterWire, SkillWire, TaskWire, ToolHealthWire, ToolWire } from './capability/wire-types.js';
export type { JobManifest, SkillManifest, TaskManifest } from './capability/state/read-work.js';

export { manifestJsonSchema, type ManifestEntry } from './capability/manifest/manifest-entry.js';
export { loadFunctionMap, type FunctionMap, type FunctionMetadata, type LoadFunctionMapOptions, type MappedFunction } from './capability/manifest/load-function-map.js';
export { loadManifest, type LoadedEntry, type LoadedManifest, type LoadManifestOptions } from './capability/manifest/load-manifest.js';
export type { Handlers, ManifestSource } from './capability/manifest/load-manifest.js';
export { ToolManifestValidationError, type ManifestIssue } from './capability/manifest/manifest-issue.js';
