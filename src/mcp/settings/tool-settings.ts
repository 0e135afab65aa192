import { SideEffect } from '../../core/enums.js';
import { matchesPattern } from '../../safety/name-pattern.js';
import type { ToolOptions } from '../../tool/tool-options.js';

/** The operator's word on all tools of a server, which goes before what the server says; `version` is that of tools that have none. What is left out stays as the server says. */
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

/** The operator's word on the tools of a server whose names match a pattern. */
export interface McpToolSetting {
  /** The name at the server; `*` stands for any characters. */
  readonly pattern: string;
  /** True for tools that are never used, false for those that are though an earlier pattern says otherwise. */
  readonly disabled?: boolean;
  readonly timeoutMs?: number;
  /** The only personas that may call the tools, in place of the server's. */
  readonly personaAllowlist?: readonly string[];
  readonly overrides: McpToolOverrides;
  /** The metadata of the tools beside the operator's axes. */
  readonly extras: Pick<ToolOptions, 'keywords' | 'stages' | 'taskTypes' | 'priority' | 'costTier'>;
}

/** The settings of a server that are about its tools. */
interface ToolWords {
  readonly overrides: McpToolOverrides;
  readonly timeoutMs: number;
  readonly personaAllowlist?: readonly string[];
  readonly tools: readonly McpToolSetting[];
}

/** Returns what is said of a tool of a server: what is said of all, and then by each pattern that it matches, the later before the earlier. */
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
 * Returns a server whose file is trusted to approve tools: those count as reading, unless the operator says what they touch, or
 * the server that they change something.
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

/** Returns the settings of a server for a tool that reads, unless the operator says what its tools touch. Hints of trusted servers say more. */
export function withReading<S extends ToolWords & { readonly trusted: boolean }>(server: S): S {
  const { accessMode, sideEffects } = server.overrides;
  return server.trusted || accessMode !== undefined || sideEffects !== undefined
    ? server
    : {
        ...server,
        overrides: { ...server.overrides, sideEffects: [SideEffect.READ_EXTERNAL_SERVICE] },
      };
}

/** Returns true for a tool that the last word on it switches off. */
export function isDisabled(tools: readonly McpToolSetting[], toolName: string): boolean {
  return (
    matching(tools, toolName).findLast(({ disabled }) => disabled !== undefined)?.disabled === true
  );
}

/** Returns the settings whose patterns a name matches. */
function matching(tools: readonly McpToolSetting[], toolName: string): readonly McpToolSetting[] {
  return tools.filter(({ pattern }) => matchesPattern(pattern, toolName.trim()));
}

/** Puts later words over earlier ones; those on what a tool touches replace each other, as two would contradict themselves. */
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

/** Returns an object without the members that are missing. */
export function without<T extends object>(object: T): Without<T> {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined),
  ) as Without<T>;
}

/** Returns some members of an object, those that are there. */
export function picked<T extends object, K extends keyof T>(
  object: T,
  keys: readonly K[],
): Without<Pick<T, K>> {
  return without(Object.fromEntries(keys.map((key) => [key, object[key]])) as Pick<T, K>);
}
