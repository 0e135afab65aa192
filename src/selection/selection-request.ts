import { z } from 'zod';
import { AccessMode, CostTier, DangerLevel } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import { invalidArgument, expectedGot } from '../core/issues.js';
import { LIMITS } from '../core/limits.js';
import { aFunction, anObject, checkOptions, once } from '../core/options.js';
import { describeValue } from '../core/plain-data.js';
import type { ToolFilter } from '../registry/tool-filter.js';
import { normalizeLabel } from '../tool/metadata-schema.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { estimateTokens, SCHEMA_LEVELS } from '../tool/render-tool.js';
import type { Selection } from './selection.js';

/** Tools with how well each fits a request, from your own ranking. The order doesn't matter. */
export type Ranking = readonly {
  readonly toolName: string;
  readonly score: number;
  readonly explanation?: string | undefined;
}[];

/**
 * Limits on what can be offered. They win over everything else. A missing limit forbids nothing.
 */
export interface SelectionLimits {
  /** The names or aliases of tools that must not be offered. @default none */
  readonly exclude?: readonly string[];
  /**
   * The scopes that the caller has. Tools whose `auth` requires others aren't offered. @default
   * scopes aren't checked
   */
  readonly scopes?: readonly string[];
  /** The maximum danger level. @default all */
  readonly maxDanger?: DangerLevel;
  /** The maximum cost tier. @default all */
  readonly maxCostTier?: CostTier;
  /** The allowed access modes. @default all */
  readonly accessModes?: readonly AccessMode[];
  /** Any other condition, as a registry filter. @default none */
  readonly filter?: ToolFilter;
}

/** A request to `selectTools`. */
export interface SelectionRequest extends SelectionLimits {
  /** The user's request, in their words. */
  readonly text: string;
  /**
   * The stage. Besides the guaranteed tools, only its tools and tools that name no stage are
   * offered. @default any
   */
  readonly stage?: string;
  /**
   * The task type. Besides the guaranteed tools, only its tools and tools that name no task type
   * are offered. @default any
   */
  readonly taskType?: string;
  /**
   * The maximum number of tools. CRITICAL tools don't count unless `criticalOutsideLimit` is
   * `false`. @default 12
   */
  readonly maxTools?: number;
  /**
   * Offers CRITICAL tools in addition to `maxTools`. With `false` they count toward it. @default
   * true
   */
  readonly criticalOutsideLimit?: boolean;
  /** The maximum number of tokens that all tools together can take. @default no limit */
  readonly tokenBudget?: number;
  /**
   * Names or aliases of tools that are always offered unless a limit forbids them. @default none
   */
  readonly include?: readonly string[];
  /**
   * The selection of the previous turn. Its tools keep their place, level, and bytes. @default none
   */
  readonly previous?: Selection;
  /**
   * Ranks the tools instead of the registry's own search, for example by embeddings. A tool that it
   * doesn't return isn't a hit.
   * @default the registry's search
   */
  readonly rank?: (text: string, entries: readonly ToolEntry[]) => Ranking;
  /** Counts the tokens of a text, as your model does. @default a quarter of its characters */
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
    // Only the parts that are read, so the selection can also come from a file.
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
    rank: aFunction<NonNullable<SelectionRequest['rank']>>().optional(),
    countTokens: aFunction<(text: string) => number>()
      .default(() => estimateTokens)
      .transform(checkCounts),
  }),
);
export type CheckedRequest = z.output<ReturnType<typeof requestSchema>>;

const rankingSchema = once(() =>
  z.array(
    z.object({ toolName: z.string(), score: z.number(), explanation: z.string().optional() }),
  ),
);

/** Checks what the program's ranking returned. @throws ToolError `INVALID_ARGUMENT`. */
export function checkRanking(ranking: unknown): z.output<ReturnType<typeof rankingSchema>> {
  const read = rankingSchema().safeParse(ranking);
  if (read.success) return read.data;
  const form = '[{ toolName, score }]';
  throw invalidArgument(
    `a function rank that returns ${form}`,
    ranking,
    'Return each tool with a number.',
  );
}

/** Checks that the program's counter returns numbers. A budget can't hold for anything else. */
function checkCounts(countTokens: (text: string) => number): (text: string) => number {
  return (text) => {
    const count: unknown = countTokens(text);
    if (typeof count === 'number' && Number.isFinite(count) && count >= 0) return count;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The options of selectTools are refused:\n  countTokens: ${expectedGot('a function that returns a number of at least 0', `one that returned ${describeValue(count)}`, 'Return the number of tokens in the text.')}`,
    );
  };
}

/**
 * @throws ToolError `INVALID_ARGUMENT` for anything but a registry, showing how to call the
 * function.
 */
export function requireRegistry(given: unknown, call: string): void {
  const { getByPriority, get } = (given ?? {}) as {
    readonly getByPriority?: unknown;
    readonly get?: unknown;
  };
  if (typeof getByPriority !== 'function' || typeof get !== 'function')
    throw invalidArgument(
      'a ToolMetadataRegistry as the first argument',
      given,
      `Register the tools in one, and call ${call}.`,
    );
}

/**
 * Checks a request. @throws ToolError `INVALID_ARGUMENT` naming every wrong or unknown part of it.
 */
export function checkRequest(request: SelectionRequest): CheckedRequest {
  return checkOptions(requestSchema, request, 'options of selectTools');
}
