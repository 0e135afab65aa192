import { without } from '../../core/plain-data.js';
import { SideEffect } from '../../core/enums.js';
import { matchesPattern } from '../../safety/name-pattern.js';
import type { ToolOptions } from '../../tool/tool-options.js';

/**
 * The operator's metadata for tools, which overrides what the server says. `version` is used for
 * tools that have no version. `keywords` and the options after it are set for individual tools only.
 */
export type McpToolOverrides = Pick<
  ToolOptions,
  | 'accessMode'
  | 'dangerLevel'
  | 'allowParallel'
  | 'requiresConsent'
  | 'idempotencyKey'
  | 'reads'
  | 'sends'
  | 'version'
  | 'category'
  | 'keywords'
  | 'stages'
  | 'taskTypes'
  | 'priority'
  | 'costTier'
> & {
  /**
   * The effects of a call besides its result. @default derived from the server's annotations,
   * interpreted strictly
   */
  readonly sideEffects?: readonly SideEffect[];
};

/** The operator's settings for tools whose names match a pattern. */
export interface McpToolSetting {
  /** The pattern for names at the server. `*` matches any characters. */
  readonly pattern: string;
  /** True to disable the tools. False to enable them even if an earlier pattern disables them. */
  readonly disabled?: boolean;
  readonly timeoutMs?: number;
  /** The only personas that may call the tools, in place of the server's list. */
  readonly personaAllowlist?: readonly string[];
  /** The name that the tool has here, after the prefix. @default its name at the server */
  readonly rename?: string;
  /** The description that models see. @default the server's */
  readonly describe?: string;
  readonly overrides: McpToolOverrides;
}

/** A server's settings about its tools. */
interface ToolWords {
  readonly overrides: McpToolOverrides;
  readonly timeoutMs: number;
  readonly personaAllowlist?: readonly string[];
  readonly rename?: string;
  readonly describe?: string;
  readonly disabled?: boolean;
  readonly tools: readonly McpToolSetting[];
}

/**
 * Returns the settings for one tool. Each matching pattern overrides the server's settings, in
 * order.
 */
export function settingsOf(server: ToolWords, toolName: string): Omit<ToolWords, 'tools'> {
  const { overrides, timeoutMs, personaAllowlist, tools } = server;
  let merged: ReturnType<typeof settingsOf> = {
    overrides,
    timeoutMs,
    ...without({ personaAllowlist }),
  };
  for (const { pattern, overrides: later, ...rest } of tools)
    if (matchesPattern(pattern, toolName.trim()))
      merged = { ...merged, ...rest, overrides: withOverrides(merged.overrides, later) };
  return merged;
}

/**
 * Returns settings in which the server's tools only read. If the server is trusted or the operator
 * has set the effects, returns the settings unchanged.
 */
export function withReading<S extends ToolWords & { readonly trusted: boolean }>(server: S): S {
  const { accessMode, sideEffects } = server.overrides;
  return server.trusted || accessMode !== undefined || sideEffects !== undefined
    ? server
    : {
        ...server,
        overrides: { ...server.overrides, sideEffects: [SideEffect.READ_EXTERNAL_SERVICE] },
      };
}

/**
 * Overrides earlier settings with later settings. `accessMode` and `sideEffects` are only replaced
 * together, because the old value of one could contradict the new value of the other.
 */
function withOverrides(earlier: McpToolOverrides, later: McpToolOverrides): McpToolOverrides {
  if (later.accessMode === undefined && later.sideEffects === undefined)
    return { ...earlier, ...later };
  const { accessMode: _, sideEffects: __, ...rest } = earlier;
  return { ...rest, ...later };
}
