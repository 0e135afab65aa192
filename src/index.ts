export {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
  Stage,
} from './core/enums.js';
export { isToolError, ToolError, type Issue, type ToolErrorCode } from './core/errors.js';
export { askUser, fail, halt, ok, type ToolResult } from './tool/outcome.js';
export { audio, file, image, resourceLink, text, type ContentPart } from './tool/content.js';
export type { AskUserOptions, Question } from './tool/question.js';
export { tool, type ToolClassDecorator, type ToolDecorator } from './tool/tool-decorator.js';
export { toolkit } from './tool/toolkit.js';
export {
  defineTool,
  type Execute,
  type ToolDefinition,
  type ToolEntry,
} from './tool/tool-definition.js';
export { toolsFromJson, toolToJson, type RestoredTools, type ToolJson } from './tool/tool-data.js';
export { metadataOf, type ClassToolMetadata, type ToolSource } from './tool/find-definitions.js';
export type { ToolMetadata } from './tool/tool-metadata.js';
export type { InputOf, JsonSchema, StandardSchema, ToolSchema } from './tool/tool-schema.js';
export type {
  ToolContext,
  ToolMetadataFields,
  ToolOptions,
  ToolProvider,
} from './tool/tool-options.js';
export { defaultRegistry } from './registry/default-registry.js';
export { lintTools, type LintFinding } from './registry/lint/lint-tools.js';
export { MatchingMetrics } from './registry/matching-metrics.js';
export type { RegistrySummary } from './registry/registry-summary.js';
export type { ToolFilter } from './registry/tool-filter.js';
export {
  ToolMetadataRegistry,
  type RegistryChange,
  type RegistryOptions,
} from './registry/tool-metadata-registry.js';
export type { KeywordMatchResult } from './search/keyword-index.js';
export type { SearchResult } from './search/search-index.js';
export { textDigest, type ToolHints } from './search/tool-hints.js';
export { selectTools } from './selection/select-tools.js';
export type { SelectionRequest } from './selection/selection-request.js';
export type { SelectedTool, Selection } from './selection/selection.js';
export type { RenderedTool } from './tool/render-tool.js';
export { createToolSearchTool } from './selection/tool-search-tool.js';
export { SafetyPolicy, type SafetyPolicyOptions } from './safety/safety-policy.js';
export type { PolicyRule } from './safety/policy-rule.js';
export type {
  CallContext,
  Confirm,
  Decision,
  Pending,
  PendingApproval,
  PendingManualCall,
  PendingQuestion,
  Policy,
  StoredPending,
  ToolCall,
  ToolOutcome,
} from './safety/calls.js';
export { fromStore } from './safety/from-store.js';
export type { Grant, GrantChoice } from './safety/grants.js';
export type { Preview } from './core/preview.js';
export type { Flow } from './core/flow.js';
export type { ToolEvent } from './core/tool-event.js';
export type { DecidedCall } from './execution/call-judge.js';
export type { Clock } from './core/clock.js';
export { planExecution, type ExecutionPlan } from './execution/plan-execution.js';
export type { Around } from './execution/around.js';
export type { AbandonedCall } from './execution/places.js';
export type { TypedOutcome } from './execution/typed-outcome.js';
export { ToolExecutor } from './execution/tool-executor.js';
export type {
  ExecuteOptions,
  Telemetry,
  ToolExecutorOptions,
} from './execution/executor-options.js';
export type { Budget } from './execution/budgets.js';
export { openTelemetry } from './execution/telemetry.js';
