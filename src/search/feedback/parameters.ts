/**
 * Every number of learning from use.
 *
 * They were chosen coarsely, together, on public retrieval sets (half of the requests as history, near-duplicates
 * removed); the figures are flat around them. Where quality and safety against false votes disagreed, safety won.
 */
export const FEEDBACK = {
  /** Past requests that are kept; the one whose last use is oldest goes first. */
  capacity: 10_000,
  /** Stems of a request that are kept and looked up. Honest requests have about ten, long ones thirty. */
  mostStems: 64,
  /** Longer ones are no words. */
  longestStem: 64,
  /** Tools that one past request may speak for or against. */
  mostTools: 32,

  /** What a past request still counts with each later use of the same request: repeating one is worth at most 1 / (1 − this) uses. */
  repetition: 0.9,
  /** A failure says less against a tool than a success says for it: often the arguments were wrong and not the tool. */
  failure: 0.5,
  /** A vote counts half when the newest similar request is so many uses younger. Relative to similar requests, so that other uses change nothing. */
  halfLife: 5_000,

  /** The most similar past requests that vote on one request. */
  mostVoters: 500,
  /** Requests less alike than this do not vote. */
  leastSimilarity: 0.15,
  /** … and less than this, unless they have two words in common and some tool knows one of these: names of places make no likeness. */
  leastWithoutKnownWords: 0.6,
  /** A tool whose own text hardly fits the request needs a past request at least so similar … */
  closeSimilarity: 0.3,
  /** … and hardly means: less than this share of the best score. */
  ownEvidence: 0.2,

  /** The bonus of a tool whose past requests cover the whole request and went to no other tool, in best scores. */
  gain: 5,
  /** Above 1, covering half the request gives less than half the bonus: it depends on similarity. */
  coveragePower: 1.5,
  /** Far below 1, a tool that has a part of the similar requests keeps most of the bonus: several tools may be right. */
  sharePower: 0.25,
  /** Past requests of so many stems count whole, longer ones less, as in BM25 with b = ¾. */
  usualStems: 12,
  damping: 0.75,
} as const;
