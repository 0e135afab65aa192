import { SideEffect } from '../../core/enums.js';
import { matchesPattern } from '../../safety/name-pattern.js';
import type { ToolOptions } from '../../tool/tool-options.js';

/** The operator's statements about all tools of a server, which override those of the server. `version` is for tools that have none. */
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
> & { readonly sideEffects?: readonly SideEffect[] };

/** The operator's statements about the tools whose names match a pattern. */
export interface McpToolSetting {
  /** The pattern of names at the server; `*` stands for any characters. */
  readonly pattern: string;
  /** True for tools that are never used; false for tools that are used although an earlier pattern says true. */
  readonly disabled?: boolean;
  readonly timeoutMs?: number;
  /** The only personas that may call the tools, instead of the server's list. */
  readonly personaAllowlist?: readonly string[];
  readonly overrides: McpToolOverrides;
  /** Other metadata of the tools. */
  readonly extras: Pick<ToolOptions, 'keywords' | 'stages' | 'taskTypes' | 'priority' | 'costTier'>;
}

/** The settings of a server about its tools. */
interface ToolWords {
  readonly overrides: McpToolOverrides;
  readonly timeoutMs: number;
  readonly personaAllowlist?: readonly string[];
  readonly tools: readonly McpToolSetting[];
}

/** Returns the settings of one tool: those of the server, overridden by each pattern that matches, in order. */
export function settingsOf(
  server: ToolWords,
  toolName: string,
): Omit<ToolWords, 'tools'> & Pick<McpToolSetting, 'extras'> {
  const { overrides, timeoutMs, personaAllowlist, tools } = server;
  let known: ReturnType<typeof settingsOf> = {
    overrides,
    timeoutMs,
    ...without({ personaAllowlist }),
    extras: {},
  };
  for (const { overrides: later, extras, ...rest } of matching(tools, toolName))
    known = {
      ...known,
      ...rest,
      overrides: withOverrides(known.overrides, later),
      extras: { ...known.extras, ...extras },
    };
  return known;
}

/**
 * Returns a server whose file is trusted to approve tools. These count as reading, unless the operator says what they touch
 * or the server says that they change something.
 */
export function withApprovals<S extends ToolWords & { readonly autoApprove: readonly string[] }>(
  server: S,
): S {
  const { accessMode, sideEffects, requiresConsent = false } = server.overrides;
  const overrides: McpToolOverrides = {
    requiresConsent,
    ...(accessMode === undefined && sideEffects === undefined
      ? { sideEffects: [SideEffect.READ_EXTERNAL_SERVICE] }
      : {}),
  };
  return {
    ...server,
    tools: [
      ...server.autoApprove.map((pattern) => ({ pattern, overrides, extras: {} })),
      ...server.tools,
    ],
  };
}

/** Returns the settings of a server for a tool that only reads. The operator's statements and the hints of trusted servers override that. */
export function withReading<S extends ToolWords & { readonly trusted: boolean }>(server: S): S {
  const { accessMode, sideEffects } = server.overrides;
  return server.trusted || accessMode !== undefined || sideEffects !== undefined
    ? server
    : {
        ...server,
        overrides: { ...server.overrides, sideEffects: [SideEffect.READ_EXTERNAL_SERVICE] },
      };
}

/** Returns true for a tool that the last matching setting switches off. */
export function isDisabled(tools: readonly McpToolSetting[], toolName: string): boolean {
  return (
    matching(tools, toolName).findLast(({ disabled }) => disabled !== undefined)?.disabled === true
  );
}

/** Returns the settings whose patterns a name matches. */
function matching(tools: readonly McpToolSetting[], toolName: string): readonly McpToolSetting[] {
  return tools.filter(({ pattern }) => matchesPattern(pattern, toolName.trim()));
}

/** Overrides earlier statements by later ones. Statements about what a tool touches replace each other, because two could contradict each other. */
export function withOverrides(
  earlier: McpToolOverrides,
  later: McpToolOverrides,
): McpToolOverrides {
  if (later.accessMode === undefined && later.sideEffects === undefined)
    return { ...earlier, ...later };
  const { accessMode: _, sideEffects: __, ...rest } = earlier;
  return { ...rest, ...later };
}

type Without<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns an object without its undefined members. */
export function without<T extends object>(object: T): Without<T> {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined),
  ) as Without<T>;
}

/** Returns the named members of an object that are defined. */
export function picked<T extends object, K extends keyof T>(
  object: T,
  keys: readonly K[],
): Without<Pick<T, K>> {
  return without(Object.fromEntries(keys.map((key) => [key, object[key]])) as Pick<T, K>);
}
