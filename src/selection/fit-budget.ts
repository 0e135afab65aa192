import {
  highestLevel,
  renderTool,
  SCHEMA_LEVELS,
  type RenderedTool,
  type SchemaLevel,
} from '../tool/render-tool.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** A tool that may get a place in the prompt. */
export interface Candidate {
  readonly entry: ToolEntry;
  readonly guaranteed: boolean;
  /** Marks a tool that is only offered because there is room. */
  readonly isFiller: boolean;
  /** The level of a tool that keeps it, because its bytes must not change. */
  readonly fixedLevel?: SchemaLevel;
}

export interface Fitted<C extends Candidate> {
  readonly kept: readonly {
    readonly candidate: C;
    readonly level: SchemaLevel;
    readonly tokens: number;
  }[];
  readonly dropped: readonly C[];
  readonly tokens: number;
  /** Says that the kept tools are within the budget; false when even the guaranteed ones exceed it. */
  readonly fits: boolean;
}

/**
 * Gives each candidate a level so that all together stay within a budget.
 *
 * Fillers are left out first, the last of them before the others. Then later ones give way: they are shown at the
 * compact level, then as stubs, and only then left out, never a guaranteed one. A level that would cost as much as the
 * one above is skipped. What is freed in the end goes to the first. Candidates with a fixed level are not shown at
 * another; they are left out, the last first, only for a guaranteed one.
 */
export function fitBudget<C extends Candidate>(
  candidates: readonly C[],
  budget: number,
  countTokens: (text: string) => number,
): Fitted<C> {
  const counted = new Map<RenderedTool, number>();
  const cost = ({ entry }: C, level: SchemaLevel) => {
    const tool = renderTool(entry, level);
    let count = counted.get(tool);
    if (count === undefined) counted.set(tool, (count = countTokens(JSON.stringify(tool))));
    return count;
  };
  const kept = candidates.map((candidate) => {
    const level = candidate.fixedLevel ?? highestLevel(candidate.entry);
    return { candidate, level, tokens: cost(candidate, level) };
  });
  const dropped: C[] = [];
  let tokens = kept.reduce((sum, each) => sum + each.tokens, 0);
  const setLevel = (each: (typeof kept)[number], level: SchemaLevel) => {
    tokens -= each.tokens;
    each.level = level;
    each.tokens = cost(each.candidate, level);
    tokens += each.tokens;
  };
  const isLower = (a: SchemaLevel, b: SchemaLevel) =>
    SCHEMA_LEVELS.indexOf(a) > SCHEMA_LEVELS.indexOf(b);

  const leaveOut = (mayLeave: (candidate: C) => boolean) => {
    for (const each of [...kept].reverse()) {
      if (tokens <= budget) break;
      if (!mayLeave(each.candidate)) continue;
      kept.splice(kept.indexOf(each), 1);
      dropped.unshift(each.candidate);
      tokens -= each.tokens;
    }
  };
  leaveOut(({ isFiller }) => isFiller);
  for (const level of ['compact', 'stub'] as const) {
    for (const each of [...kept].reverse()) {
      if (tokens <= budget) break;
      // A summary may be longer than the description that it replaces.
      if (
        each.candidate.fixedLevel === undefined &&
        isLower(level, each.level) &&
        cost(each.candidate, level) < each.tokens
      )
        setLevel(each, level);
    }
  }
  leaveOut(({ guaranteed, fixedLevel }) => !guaranteed && fixedLevel === undefined);
  leaveOut(({ guaranteed }) => !guaranteed);
  for (const each of kept) {
    for (const level of SCHEMA_LEVELS) {
      if (
        each.candidate.fixedLevel !== undefined ||
        !isLower(each.level, level) ||
        isLower(highestLevel(each.candidate.entry), level)
      )
        continue;
      if (tokens - each.tokens + cost(each.candidate, level) <= budget) setLevel(each, level);
    }
  }
  return { kept, dropped, tokens, fits: tokens <= budget };
}
