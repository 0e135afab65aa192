import {
  highestLevel,
  renderTool,
  SCHEMA_LEVELS,
  type RenderedTool,
  type SchemaLevel,
} from '../tool/render-tool.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** A tool that could be included in the prompt. */
export interface Candidate {
  readonly entry: ToolEntry;
  readonly guaranteed: boolean;
  /** True if the tool is offered only to fill the remaining space. */
  readonly isFiller: boolean;
  /** The level that the tool must keep, because its bytes must not change. */
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
  /** True if the kept tools fit the budget. False if the guaranteed tools alone exceed it. */
  readonly fits: boolean;
}

/**
 * Chooses a level of detail for each candidate, so that all candidates together stay within the
 * token budget.
 *
 * Tools that only fill the remaining space are dropped first, starting with the last. Then,
 * starting with the last candidate, tools are reduced to the compact level, then to stubs, and
 * finally dropped. Guaranteed tools are never dropped. A level that doesn't save any tokens is
 * skipped. Any tokens left at the end are used to restore the first candidates to higher levels.
 * Candidates with a fixed level keep that level. They're dropped, starting with the last, only to
 * make room for guaranteed tools.
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
      // A summary can be longer than the description it replaces.
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
