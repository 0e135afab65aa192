import { z } from 'zod';
import { AccessMode, CostTier, DangerLevel } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { aFunction, anObject, checkOptions } from '../core/options.js';
import { describeValue } from '../core/plain-data.js';
import type { ToolFilter } from '../registry/tool-filter.js';
import { normalizeLabel } from '../tool/metadata/metadata-schema.js';
import { estimateTokens, SCHEMA_LEVELS } from '../tool/render/render-tool.js';
import type { Selection } from './selection.js';

/** A ranking made elsewhere, best first; as `rankHybrid` gives it. */
export type Ranking = readonly { readonly toolName: string; readonly score: number; readonly explanation?: string }[];

/** What may be offered at all: these conditions win over everything else. */
export interface SelectionLimits {
  /** Names or aliases of tools that must not be offered. */
  readonly exclude?: readonly string[];
  readonly maxDanger?: DangerLevel;
  readonly maxCostTier?: CostTier;
  readonly accessModes?: readonly AccessMode[];
  /** Any other condition, in the registry's own filter. */
  readonly filter?: ToolFilter;
}

/** What is asked of `selectTools`. */
export interface SelectionRequest extends SelectionLimits {
  /** What the user wants, in their words. */
  readonly text: string;
  /** Only tools of this stage, and those that name none, beside the guaranteed. */
  readonly stage?: string;
  /** Only tools for this type of task, and those that name none, beside the guaranteed. */
  readonly taskType?: string;
  /** The most tools there may be, CRITICAL ones not counted unless `criticalOutsideLimit` is `false`. @default 12 */
  readonly maxTools?: number;
  /** Offers CRITICAL tools beside the `maxTools` others; `false` lets them take places of the others. @default true */
  readonly criticalOutsideLimit?: boolean;
  /** What all tools together may cost the prompt. @default no limit */
  readonly tokenBudget?: number;
  /** Names or aliases of tools that are offered in any case, unless a limit forbids them. */
  readonly include?: readonly string[];
  /** The selection of the turn before: its tools keep their place, level and bytes. */
  readonly previous?: Selection;
  /** Used instead of the registry's own search. */
  readonly ranking?: Ranking;
  /** How many tokens a text takes in the model's own counting. @default a quarter of its characters */
  readonly countTokens?: (text: string) => number;
}

export const DEFAULT_MAX_TOOLS = 12;

const names = z.array(z.string()).default([]);
const label = z.string().transform(normalizeLabel).optional();

export const limitsShape = {
  exclude: names,
  maxDanger: z.enum(DangerLevel).optional(),
  maxCostTier: z.enum(CostTier).optional(),
  accessModes: z.array(z.enum(AccessMode)).optional(),
  filter: anObject<ToolFilter>('a filter').optional(),
};

const requestSchema = z.strictObject({
  ...limitsShape,
  text: z.string(),
  stage: label,
  taskType: label,
  maxTools: z.number().int().min(0).default(DEFAULT_MAX_TOOLS),
  criticalOutsideLimit: z.boolean().default(true),
  tokenBudget: z.number().min(0).optional(),
  include: names,
  // What is read of it, so that it may also come from a file.
  previous: z.object({ tools: z.array(z.object({ toolName: z.string(), level: z.enum(SCHEMA_LEVELS), rendered: z.unknown().optional(), reason: z.string().optional() })) }).optional(),
  ranking: z.array(z.object({ toolName: z.string(), score: z.number(), explanation: z.string().optional() })).optional(),
  countTokens: aFunction<(text: string) => number>().default(() => estimateTokens).transform(checkCounts),
});
export type CheckedRequest = z.output<typeof requestSchema>;

/** A hook whose answer is no count would void the budget: no number is above a limit that it cannot be compared with. */
function checkCounts(countTokens: (text: string) => number): (text: string) => number {
  return (text) => {
    const count: unknown = countTokens(text);
    if (typeof count === 'number' && Number.isFinite(count) && count >= 0) return count;
    throw new ToolError('INVALID_ARGUMENT', `The options of selectTools are refused:\n  countTokens: ${expectedGot('a function that returns a number of at least 0', `one that returns ${describeValue(count)}`)}`);
  };
}

/** @throws ToolError `INVALID_ARGUMENT` naming every wrong or unknown part of the request. */
export function checkRequest(request: SelectionRequest): CheckedRequest {
  return checkOptions(requestSchema, request, 'options of selectTools');
}
