export { CapabilityRegistry } from './capability/capability-registry.js';
export type { CapabilityHits } from './capability/catalogue-search.js';
export type { CapabilityChange } from './capability/state/build-state.js';
export type {
  CapabilityJob,
  CapabilitySkill,
  CapabilityTask,
  CapabilityTool,
} from './capability/state/capability-items.js';
export type { CapabilitySource, SourceTools } from './tool/capability-source.js';
export type { CapabilityFinding } from './capability/manifest/manifest-issue.js';
export type { ToolHealth } from './capability/state/health-ledger.js';
export type { ToolQuery } from './capability/capability-query.js';
export type { CapabilityOptions } from './capability/registry-options.js';
export type {
  CapabilitySummary,
  JobWire,
  SkillWire,
  TaskWire,
  ToolWire,
} from './capability/wire-types.js';
export type { JobManifest, SkillManifest, TaskManifest } from './capability/manifest/read-work.js';

export { manifestJsonSchema, type ManifestEntry } from './capability/manifest/manifest-entry.js';
export { loadFunctionMap, type MappedFunction } from './capability/manifest/load-function-map.js';
export {
  loadManifest,
  type LoadedEntry,
  type LoadedManifest,
} from './capability/manifest/load-manifest.js';
export {
  ToolManifestValidationError,
  type ManifestIssue,
} from './capability/manifest/manifest-issue.js';
