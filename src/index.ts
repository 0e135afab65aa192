export { AccessMode, CostTier, DangerLevel, ExecutionCategory, Priority, SideEffect, Stage } from './core/enums.js';
export { isToolError, ToolError, type Issue, type ToolErrorCode } from './core/errors.js';
export { askUser, fail, halt, ok, type ToolResult } from './tool/outcome.js';
export { tool, type ToolDecorator } from './tool/tool-decorator.js';
export { defineTool, type Execute, type ToolDefinition, type ToolEntry } from './tool/tool-definition.js';
export type { ToolSource } from './tool/find-definitions.js';
export type { ToolMetadata } from './tool/tool-metadata.js';
export type { InputOf, JsonSchema, StandardSchema, ToolSchema } from './tool/standard-schema.js';
export type { ToolAuth, ToolContext, ToolOptions, ToolProvider } from './tool/tool-options.js';
