import { compareText } from '../core/plain-data.js';
import { isBetter, type ScoredDocument } from './best-documents.js';
import { RANKING } from './bm25f.js';
import type { InvertedIndex } from './inverted-index.js';
import { CHATTY, type Query } from './query.js';
import { USAGE, type PastRequest, type UsageHistory } from './usage-history.js';

/** The vote of past requests on one tool for a query. */
interface Vote {
  /** The lift in best scores of the query; below zero against the tool. */
  readonly lift: number;
  /** The similarity of the most similar request that votes. */
  readonly nearest: number;
}

/**
 * Every number of the votes.
 *
 * They were chosen coarsely, together, on public retrieval sets (half of the requests as history, near-duplicates
 * removed); the figures are flat around them. Where quality and safety against false votes disagreed, safety won.
 */
const VOTES = {
  /** A vote counts half when the newest similar request is so many uses younger. Relative to similar requests, so that other uses change nothing. */
  halfLife: 5_000,
  /** The most similar past requests that vote on one query. */
  mostVoters: 500,
  /** Requests less alike than this do not vote. */
  leastSimilarity: 0.15,
  /** … and less than this, unless they have two words in common and some tool knows one of these: names of places make no likeness. */
  leastWithoutKnownWords: 0.6,
  /** A tool whose own text hardly fits the query needs a past request at least so similar … */
  closeSimilarity: 0.3,
  /** … and hardly means: less than this share of the best score. */
  ownEvidence: 0.2,
  /** The bonus of a tool whose past requests cover the whole query and went to no other tool, in best scores. */
  gain: 5,
  /** The power of the covered share: above 1, covering half the query gives less than half the bonus: it depends on similarity. */
  coveragePower: 1.5,
  /** The power of a tool's share of the requests: far below 1, a tool that has a part of the similar requests keeps most of the bonus: several tools may be right. */
  sharePower: 0.25,
  /** Past requests of so many stems count whole, longer ones less, as in BM25 with b = ¾. */
  usualStems: 12,
  damping: 0.75,
  /** The share of its score that a tool keeps however many votes are against it. */
  left: 0.01,
} as const;

/** Sums are of whole numbers: they are the same in whatever order requests were recorded or merged. */
const UNIT = 2 ** 20;

/**
 * Returns the stems that tell what a query is about.
 *
 * Not what users say to any helper, and no values (numbers, quoted text, addresses), which are nobody else's business.
 */
export function tellingStems({ terms }: Query): readonly string[] {
  const telling = terms.filter(
    ({ stem, weight }) =>
      weight > RANKING.address && !CHATTY.has(stem) && stem.length <= USAGE.longestStem,
  );
  return telling.slice(0, USAGE.mostStems).map(({ stem }) => stem);
}

/** A past request that is similar enough to vote. */
interface Voter {
  readonly request: PastRequest;
  readonly similarity: number;
}

/** The votes for one tool, or those against it, while they are counted. */
interface Count {
  nearest: number;
  sum: number;
  covered: number;
  /** The number of times that the stem in question was asked for. */
  occurrences: number;
}

type AskedStems = ReadonlyMap<string, { readonly weight: number; readonly rarity: number }>;

/**
 * Asks past requests for the tools of a new one; returns the votes by tool name.
 *
 * Two requests are as alike as the rarity of their common stems, divided by the geometric mean of that of each one's
 * stems. A tool's bonus grows with how much of the new request its similar past requests cover together, each stem
 * counting the more often it was asked for, but less and less so; and with the tool's share of these requests.
 */
export function votesOn(
  query: Query,
  history: UsageHistory,
  index: InvertedIndex,
): ReadonlyMap<string, Vote> {
  const asked: AskedStems = new Map(
    query.terms.map(({ stem, weight }) => [stem, { weight, rarity: rarityOf(stem, index) }]),
  );
  const telling = tellingStems(query).filter((stem) => history.having(stem).size > 0);
  const whole = worthOf([...asked]);
  const voters = votersFor(telling, asked, history, index);
  const newest = voters.reduce((latest, { request }) => Math.max(latest, request.at), 0);
  const counts = new Map<string, readonly [pro: Count, contra: Count]>();
  let all = 0;
  const ballots = voters.map(({ request, similarity }) => {
    const decayed = UNIT * 0.5 ** ((newest - request.at) / VOTES.halfLife);
    const sum = similarity ** 2 * decayed;
    let strongest = 0;
    const votes = Array.from(request.tools, ([name, signed]): readonly [Count, number] => {
      let both = counts.get(name);
      if (both === undefined) counts.set(name, (both = [{ ...NO_COUNT }, { ...NO_COUNT }]));
      const [count, strength] = [both[signed < 0 ? 1 : 0], Math.abs(signed)];
      if (strength > 0) count.nearest = Math.max(count.nearest, similarity);
      count.sum += Math.round(sum * strength);
      strongest = Math.max(strongest, strength);
      return [count, strength];
    });
    all += Math.round(sum * strongest);
    return {
      request,
      votes,
      weight:
        decayed / (1 - VOTES.damping + (VOTES.damping * request.stems.length) / VOTES.usualStems),
    };
  });
  const sides = [...counts.values()].flat();
  for (const stem of telling) {
    const having = history.having(stem);
    for (const { request, votes, weight } of ballots)
      if (having.has(request))
        for (const [count, strength] of votes) count.occurrences += Math.round(weight * strength);
    const { weight, rarity } = asked.get(stem)!;
    const share = (weight * rarity) / whole;
    for (const count of sides) {
      count.covered += (share * count.occurrences) / (count.occurrences + UNIT);
      count.occurrences = 0;
    }
  }
  return new Map(
    Array.from(counts, ([name, [pro, contra]]) => [
      name,
      {
        lift: bonus(pro, all) - bonus(contra, all),
        nearest: Math.max(pro.nearest, contra.nearest),
      },
    ]),
  );
}

const NO_COUNT: Count = { nearest: 0, sum: 0, covered: 0, occurrences: 0 };

/** Returns the past requests that are similar enough, at most as many as may vote. */
function votersFor(
  telling: readonly string[],
  asked: AskedStems,
  history: UsageHistory,
  index: InvertedIndex,
): readonly Voter[] {
  const touched: PastRequest[] = [];
  const unknown = index.rarity(-1);
  for (const stem of telling) {
    const { weight, rarity } = asked.get(stem)!;
    for (const request of history.having(stem)) {
      const { tally } = request;
      if (tally.stems === 0) touched.push(request);
      tally.common += Math.sqrt(weight) * rarity;
      tally.stems++;
      if (rarity < unknown) tally.known++;
    }
  }
  const whole = worthOf([...asked].filter(([stem]) => !CHATTY.has(stem)));
  const voters: Voter[] = [];
  for (const request of touched) {
    const { tally } = request;
    const similarity = tally.common / Math.sqrt(whole * weightOf(request, index));
    if (
      similarity >=
      (tally.stems >= 2 && tally.known >= 1 ? VOTES.leastSimilarity : VOTES.leastWithoutKnownWords)
    )
      voters.push({ request, similarity });
    tally.common = tally.stems = tally.known = 0;
  }
  return voters.length <= VOTES.mostVoters
    ? voters
    : voters.sort(bySimilarity).slice(0, VOTES.mostVoters);
}

function worthOf(
  stems: readonly (readonly [string, { readonly weight: number; readonly rarity: number }])[],
): number {
  return stems.reduce((sum, [, { weight, rarity }]) => sum + weight * rarity, 0);
}

function bySimilarity(a: Voter, b: Voter): number {
  return (
    b.similarity - a.similarity ||
    b.request.at - a.request.at ||
    compareText(a.request.stems.join(' '), b.request.stems.join(' '))
  );
}

/** Returns the rarity of all stems of a past request, which is computed when it is first asked for after a change of the index. */
function weightOf({ stems, tally }: PastRequest, index: InvertedIndex): number {
  if (tally.weighedFor !== index.state) {
    tally.weighedFor = index.state;
    tally.weight = stems.reduce((sum, stem) => sum + rarityOf(stem, index), 0);
  }
  return tally.weight;
}

function rarityOf(stem: string, index: InvertedIndex): number {
  return index.rarity(index.stemNumber(stem) ?? -1);
}

function bonus({ covered, sum }: Count, all: number): number {
  return sum === 0
    ? 0
    : VOTES.gain * covered ** VOTES.coveragePower * (sum / all) ** VOTES.sharePower;
}

/** Counts the tools that votes could push down: so many more are needed from the ranking by words. */
export function votedAgainst(votes: ReadonlyMap<string, Vote>): number {
  return [...votes.values()].filter(({ lift }) => lift < 0).length;
}

/**
 * Adds votes to scores; returns the best `limit`, best first, which are the best of all.
 *
 * @param ranked The best by words: `limit` and `votedAgainst` more, so that what is left out comes in by votes only.
 * @param score The tool of a name with its score by words, unless there is no such tool or it is not accepted.
 */
export function applyVotes(
  ranked: readonly ScoredDocument[],
  limit: number,
  votes: ReadonlyMap<string, Vote>,
  score: (toolName: string) => ScoredDocument | undefined,
): readonly ScoredDocument[] {
  const best = ranked[0]?.score ?? 1;
  const results = ranked.map((tool) => voted(tool, votes.get(tool.entry.name), best));
  const names = new Set(ranked.map(({ entry }) => entry.name));
  const enough = results.map((tool) => tool.score).sort((a, b) => b - a)[limit - 1] ?? 0;
  // What is not ranked has no more than the last that is; where all are ranked that have any word, it has none.
  const most = ranked.at(-1)?.score ?? 0;
  for (const [name, vote] of votes) {
    if (names.has(name) || vote.lift <= 0 || most + vote.lift * best < enough) continue;
    const tool = score(name);
    const result = tool && voted(tool, vote, best);
    if (result !== undefined && result.score > 0) results.push(result);
  }
  return results.sort((a, b) => (isBetter(a, b) ? -1 : 1)).slice(0, limit);
}

/** Votes may move a tool to the end, but never out, and bring in only what similar enough requests or its own words speak for. */
function voted(tool: ScoredDocument, vote: Vote | undefined, best: number): ScoredDocument {
  if (
    vote === undefined ||
    (vote.nearest < VOTES.closeSimilarity && tool.score < VOTES.ownEvidence * best)
  )
    return tool;
  const score = Math.max(tool.score + vote.lift * best, tool.score * VOTES.left);
  return { ...tool, score, usage: score - tool.score };
}
