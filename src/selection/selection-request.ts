import { z } from 'zod';
import { AccessMode, CostTier, DangerLevel } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import { invalidArgument, expectedGot } from '../core/issues.js';
import { LIMITS } from '../core/limits.js';
import { aFunction, anObject, checkOptions, once } from '../core/options.js';
import { describeValue } from '../core/plain-data.js';
import type { ToolFilter } from '../registry/tool-filter.js';
import type { Vector } from '../search/tool-vectors.js';
import { normalizeLabel } from '../tool/metadata-schema.js';
import { estimateTokens, SCHEMA_LEVELS } from '../tool/render-tool.js';
import type { Selection } from './selection.js';

/**
 * Limits on which tools can be offered. Limits take precedence over everything else. A missing
 * limit doesn't restrict anything.
 */
export interface SelectionLimits {
  /** The names or aliases of tools that must not be offered. @default none */
  readonly exclude?: readonly string[];
  /**
   * The scopes that the caller has. Tools whose `auth` requires other scopes aren't offered.
   * @default scopes aren't checked
   */
  readonly scopes?: readonly string[];
  /** The maximum danger level. @default all */
  readonly maxDanger?: DangerLevel;
  /** The maximum cost tier. @default all */
  readonly maxCostTier?: CostTier;
  /** The allowed access modes. @default all */
  readonly accessModes?: readonly AccessMode[];
  /** An additional condition, as a registry filter. @default none */
  readonly filter?: ToolFilter;
}

/** A request to `selectTools`. */
export interface SelectionRequest extends SelectionLimits {
  /** The user's request, in their own words. */
  readonly text: string;
  /**
   * The current stage. Apart from guaranteed tools, only tools that declare this stage or no stage
   * are offered. @default any
   */
  readonly stage?: string;
  /**
   * The current task type. Apart from guaranteed tools, only tools that declare this task type or
   * no task type are offered. @default any
   */
  readonly taskType?: string;
  /**
   * The maximum number of tools that the request adds. Tools in `include` don't count, and CRITICAL
   * tools count only if `criticalOutsideLimit` is `false`. @default 12
   */
  readonly maxTools?: number;
  /**
   * Offers CRITICAL tools in addition to `maxTools`. If `false`, they count toward `maxTools`.
   * @default true
   */
  readonly criticalOutsideLimit?: boolean;
  /** The maximum number of tokens for all tools together. @default no limit */
  readonly tokenBudget?: number;
  /**
   * The names or aliases of tools that are offered in addition to `maxTools`, unless another limit
   * forbids them. For tools that a conversation still needs, use `openToolNames` from
   * `tooldex/interop`. @default none
   */
  readonly include?: readonly string[];
  /**
   * The selection of the previous turn. The tools of that selection keep their position, level, and
   * bytes. @default none
   */
  readonly previous?: Selection;
  /**
   * The embedding of `text`, from the same model as the registry's `vectors`. Tools with a similar
   * meaning are then found, too. (Experimental.) @default only words are compared
   */
  readonly vector?: readonly number[] | Float32Array;
  /** Counts the tokens in a text the way your model does. @default a quarter of its characters */
  readonly countTokens?: (text: string) => number;
}

const names = () => z.array(z.string()).default([]);
const label = () => z.string().transform(normalizeLabel).optional();

export const limitsShape = () => ({
  exclude: names(),
  scopes: z.array(z.string()).optional(),
  maxDanger: z.enum(DangerLevel).optional(),
  maxCostTier: z.enum(CostTier).optional(),
  accessModes: z.array(z.enum(AccessMode)).optional(),
  filter: anObject<ToolFilter>('a filter').optional(),
});

const requestSchema = once(() =>
  z.strictObject({
    ...limitsShape(),
    text: z.string(),
    stage: label(),
    taskType: label(),
    maxTools: z.number().int().min(0).default(LIMITS.selectedTools),
    criticalOutsideLimit: z.boolean().default(true),
    tokenBudget: z.number().min(0).optional(),
    include: names(),
    // Validates only the fields that are used, so the selection can also come from a file.
    previous: z
      .object({
        tools: z.array(
          z.object({
            toolName: z.string(),
            level: z.enum(SCHEMA_LEVELS),
            rendered: z.unknown().optional(),
            reason: z.string().optional(),
          }),
        ),
      })
      .optional(),
    vector: z.custom<Vector>().optional(), // The search checks it against the registry's vectors.
    countTokens: aFunction<(text: string) => number>()
      .default(() => estimateTokens)
      .transform(checkCounts),
  }),
);
export type CheckedRequest = z.output<ReturnType<typeof requestSchema>>;

/**
 * Checks that a custom token counter returns numbers, because the budget can't be enforced without
 * them.
 */
function checkCounts(countTokens: (text: string) => number): (text: string) => number {
  return (text) => {
    const count: unknown = countTokens(text);
    if (typeof count === 'number' && Number.isFinite(count) && count >= 0) return count;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `Invalid options of selectTools:\n  countTokens: ${expectedGot('a function that returns a number of at least 0', `one that returned ${describeValue(count)}`, 'Return the number of tokens in the text.')}`,
    );
  };
}

/**
 * @throws ToolError `INVALID_ARGUMENT` if the value isn't a registry. The message shows how to call
 * the function.
 */
export function requireRegistry(value: unknown, call: string): void {
  const { getByPriority, get } = (value ?? {}) as {
    readonly getByPriority?: unknown;
    readonly get?: unknown;
  };
  if (typeof getByPriority !== 'function' || typeof get !== 'function')
    throw invalidArgument(
      'a ToolMetadataRegistry as the first argument',
      value,
      `Register the tools in a registry, and call ${call}.`,
    );
}

/**
 * Validates a request. @throws ToolError `INVALID_ARGUMENT` listing every invalid or unknown
 * option.
 */
export function checkRequest(request: SelectionRequest): CheckedRequest {
  return checkOptions(requestSchema, request, 'options of selectTools');
}
