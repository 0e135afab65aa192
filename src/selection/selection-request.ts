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

/** Tools with how well each fits a request, made by a ranking of your own; the order does not matter. */
export type Ranking = readonly {
  readonly toolName: string;
  readonly score: number;
  readonly explanation?: string | undefined;
}[];

/** The limits of what may be offered: they win over everything else, and one left out forbids nothing. */
export interface SelectionLimits {
  /** The names or aliases of tools that must not be offered. @default none */
  readonly exclude?: readonly string[];
  /** The scopes that the caller has: tools whose `auth` requires others are not offered. @default not compared */
  readonly scopes?: readonly string[];
  /** The maximum danger level. @default all */
  readonly maxDanger?: DangerLevel;
  /** The maximum cost tier. @default all */
  readonly maxCostTier?: CostTier;
  /** The access modes that are allowed. @default all */
  readonly accessModes?: readonly AccessMode[];
  /** Any other condition, as the registry's own filter. @default none */
  readonly filter?: ToolFilter;
}

/** A request to `selectTools`. */
export interface SelectionRequest extends SelectionLimits {
  /** The user's request, in their words. */
  readonly text: string;
  /** The stage: only its tools, and those that name none, are offered beside the guaranteed ones. @default any */
  readonly stage?: string;
  /** The task type: only its tools, and those that name none, are offered beside the guaranteed ones. @default any */
  readonly taskType?: string;
  /** The maximum number of tools, CRITICAL ones not counted unless `criticalOutsideLimit` is `false`. @default 12 */
  readonly maxTools?: number;
  /** Offers CRITICAL tools beside the `maxTools` others; `false` lets them take places of the others. @default true */
  readonly criticalOutsideLimit?: boolean;
  /** The tokens that all tools together may take in the prompt. @default no limit */
  readonly tokenBudget?: number;
  /** Names or aliases of tools that are offered in any case, unless a limit forbids them. @default none */
  readonly include?: readonly string[];
  /** The selection of the turn before: its tools keep their place, level and bytes. @default none */
  readonly previous?: Selection;
  /**
   * Ranks the tools instead of the registry's own search, for example by embeddings; a tool it leaves out is no hit.
   * @default the registry's search
   */
  readonly rank?: (text: string, entries: readonly ToolEntry[]) => Ranking;
  /** Counts the tokens of a text as the model does. @default a quarter of its characters */
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
    // Only the parts that are read, so that it may also come from a file.
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

/** Checks what a ranking of the program returned. @throws ToolError `INVALID_ARGUMENT`. */
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

/** Checks that a hook returns counts: no budget holds against a value that cannot be compared with a number. */
function checkCounts(countTokens: (text: string) => number): (text: string) => number {
  return (text) => {
    const count: unknown = countTokens(text);
    if (typeof count === 'number' && Number.isFinite(count) && count >= 0) return count;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The options of selectTools are refused:\n  countTokens: ${expectedGot('a function that returns a number of at least 0', `one that returns ${describeValue(count)}`, 'Return how many tokens the text has.')}`,
    );
  };
}

/** @throws ToolError `INVALID_ARGUMENT` for anything but a registry, saying how the function is called. */
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

/** Checks a request. @throws ToolError `INVALID_ARGUMENT` naming every wrong or unknown part of it. */
export function checkRequest(request: SelectionRequest): CheckedRequest {
  return checkOptions(requestSchema, request, 'options of selectTools');
}
