import type { ToolEntry } from '../../tool/tool-definition.js';
import { FEEDBACK } from './parameters.js';
import type { Vote } from './votes.js';

interface Ranked {
  readonly document: number;
  readonly entry: ToolEntry;
  readonly score: number;
}

/** A tool with its score, and the part of it that past use gave (or, below zero, took). */
export interface Voted extends Ranked {
  readonly usage: number;
}

/** How many tools votes could push down: so many more are needed from the ranking by words. */
export function votedAgainst(votes: ReadonlyMap<string, Vote>): number {
  let count = 0;
  for (const { lift } of votes.values()) if (lift < 0) count++;
  return count;
}

/**
 * Adds votes to scores; of the result, the best `limit` are the best of all.
 *
 * @param ranked The best by words: `limit` and `votedAgainst` more, so that what is left out comes in by votes only.
 * @param score The tool of a name with its score by words, unless there is no such tool or it is not accepted.
 */
export function applyVotes(ranked: readonly Ranked[], limit: number, votes: ReadonlyMap<string, Vote>, score: (toolName: string) => Ranked | undefined): Voted[] {
  const best = ranked[0]?.score ?? 1;
  const results = new Map<string, Voted>();
  for (const tool of ranked) results.set(tool.entry.name, voted(tool, votes.get(tool.entry.name), best));
  const scores = [...results.values()].map((tool) => tool.score).sort((a, b) => b - a);
  const enough = scores[limit - 1] ?? 0;
  // What is not ranked has no more than the last that is; where all are ranked that have any word, it has none.
  const most = ranked.at(-1)?.score ?? 0;
  for (const [name, vote] of votes) {
    if (results.has(name) || vote.lift <= 0 || most + vote.lift * best < enough) continue;
    const tool = score(name);
    if (tool === undefined) continue;
    const result = voted(tool, vote, best);
    if (result.score > 0) results.set(name, result);
  }
  return [...results.values()];
}

/** Votes may move a tool to the end, but never out, and bring in only what similar enough requests or its own words speak for. */
function voted(tool: Ranked, vote: Vote | undefined, best: number): Voted {
  const counts = vote !== undefined && (vote.nearest >= FEEDBACK.closeSimilarity || tool.score >= FEEDBACK.ownEvidence * best);
  const score = counts ? Math.max(tool.score + vote.lift * best, tool.score * LEFT) : tool.score;
  return { ...tool, score, usage: score - tool.score };
}

/** The share of its score that a tool keeps however many votes are against it. */
const LEFT = 0.01;
