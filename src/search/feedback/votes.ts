import { compareText } from '../../core/plain-data.js';
import { Best } from '../ranking/best.js';
import { RANKING } from '../ranking/parameters.js';
import { rarityOf } from '../ranking/query-plan.js';
import type { Request } from '../ranking/request.js';
import { CHATTY } from '../text/word-classes.js';
import { FEEDBACK } from './parameters.js';
import type { PastRequest, PastRequests } from './past-requests.js';

/** What past requests say of one tool for a request. */
export interface Vote {
  /** In best scores of the request; below zero against the tool. */
  readonly lift: number;
  /** The similarity of the most similar request that votes. */
  readonly nearest: number;
}

/** What the votes need to know of the catalogue. */
export interface Catalogue {
  /** Some part of this is another one when the catalogue changed. */
  readonly state: readonly unknown[];
  readonly size: number;
  /** How many tools have a stem. */
  documentsWith(stem: string): number;
}

/** Rarities that are remembered: those of all stems of past requests, and those of requests long gone until it is full. */
const MOST_RARITIES = 10 * FEEDBACK.capacity;

/** Sums are of whole numbers: they are the same in whatever order requests were recorded or merged. */
const UNIT = 2 ** 20;

/**
 * The stems that tell what a request is about.
 *
 * Not what people say to any helper, and no values (numbers, quoted text, addresses), which are nobody else's business.
 */
export function tellingStems({ terms }: Request): readonly string[] {
  const stems: string[] = [];
  for (const { stem, weight } of terms) {
    if (weight > RANKING.address && !CHATTY.has(stem) && stem.length <= FEEDBACK.longestStem && stems.length < FEEDBACK.mostStems) stems.push(stem);
  }
  return stems;
}

/** One tool's votes while they are counted; the first of each pair for it, the second against it. */
interface Count {
  readonly nearest: [number, number];
  readonly sums: [number, number];
  readonly covered: [number, number];
  /** Occurrences of the stem that is being counted. */
  readonly occurrences: [number, number];
}

interface Similar {
  readonly request: PastRequest;
  readonly similarity: number;
}

function isMoreSimilar(a: Similar, b: Similar): boolean {
  if (a.similarity !== b.similarity) return a.similarity > b.similarity;
  if (a.request.at !== b.request.at) return a.request.at > b.request.at;
  return compareText(a.request.stems.join(' '), b.request.stems.join(' ')) < 0;
}

interface Voter {
  readonly weight: number;
  readonly votes: readonly (readonly [count: Count, strength: number])[];
}

/**
 * Asks past requests for the tools of a new one.
 *
 * Two requests are as alike as the rarity of their common stems, divided by the geometric mean of that of each one's
 * stems. A tool's bonus grows with how much of the new request its similar past requests cover together, each stem
 * counting the more often it was asked for, but less and less so; and with the tool's share of these requests.
 */
export class VoteCounter {
  readonly #past: PastRequests;
  #state: readonly unknown[] = [];
  readonly #rarities = new Map<string, number>();
  /** By slot: the rarity of all stems of the request that is in it; valid while the request and the state are the same. */
  readonly #weights: { request: unknown; weight: number }[] = [];
  #common = new Float64Array(0);
  #commonStems = new Uint8Array(0);
  #knownStems = new Uint8Array(0);
  #voterOf = new Int32Array(0);

  constructor(past: PastRequests) {
    this.#past = past;
  }

  /** By tool name. */
  count(request: Request, catalogue: Catalogue): ReadonlyMap<string, Vote> {
    this.#enter(catalogue.state);
    const own = new Map(request.terms.map(({ stem, weight }) => [stem, weight]));
    const stems = tellingStems(request).filter((stem) => this.#past.slotsWith(stem).length > 0);
    if (stems.length === 0) return new Map();
    let whole = 0;
    let telling = 0;
    for (const { stem, weight } of request.terms) {
      const worth = weight * rarityOf(catalogue.documentsWith(stem), catalogue.size);
      whole += worth;
      if (!CHATTY.has(stem)) telling += worth;
    }
    const counts = new Map<string, Count>();
    const touched = this.#addCommon(stems, own, catalogue);
    const [voters, all] = this.#voters(touched, telling, catalogue, counts);
    for (const stem of stems) this.#cover(stem, (own.get(stem)! * this.#rarity(stem, catalogue)) / whole, voters, counts);
    for (const slot of touched) this.#voterOf[slot] = -1;
    return new Map([...counts].map(([name, count]) => [name, { lift: bonus(count, 0, all) - bonus(count, 1, all), nearest: Math.max(...count.nearest) }]));
  }

  #enter(state: readonly unknown[]): void {
    if (state.length !== this.#state.length || state.some((part, place) => part !== this.#state[place])) {
      this.#state = state;
      this.#rarities.clear();
      this.#weights.length = 0;
    }
    const slots = this.#past.slotCount;
    if (this.#common.length >= slots) return;
    const room = Math.ceil(slots * 1.5);
    this.#common = new Float64Array(room);
    this.#commonStems = new Uint8Array(room);
    this.#knownStems = new Uint8Array(room);
    this.#voterOf = new Int32Array(room).fill(-1);
  }

  #rarity(stem: string, catalogue: Catalogue): number {
    let rarity = this.#rarities.get(stem);
    if (rarity === undefined) {
      if (this.#rarities.size > MOST_RARITIES) this.#rarities.clear();
      this.#rarities.set(stem, (rarity = rarityOf(catalogue.documentsWith(stem), catalogue.size)));
    }
    return rarity;
  }

  /** Sums the rarity of common stems for every past request that has one; returns the slots of these. */
  #addCommon(stems: readonly string[], own: ReadonlyMap<string, number>, catalogue: Catalogue): readonly number[] {
    const touched: number[] = [];
    const unknown = rarityOf(0, catalogue.size);
    for (const stem of stems) {
      const rarity = this.#rarity(stem, catalogue);
      const worth = Math.sqrt(own.get(stem)!) * rarity;
      const known = rarity < unknown ? 1 : 0;
      for (const slot of this.#past.slotsWith(stem)) {
        if (this.#commonStems[slot] === 0) touched.push(slot);
        this.#common[slot]! += worth;
        this.#commonStems[slot]!++;
        this.#knownStems[slot]! += known;
      }
    }
    return touched;
  }

  /** The past requests that are similar enough, and the weight of all of them; empties the sums. */
  #voters(touched: readonly number[], telling: number, catalogue: Catalogue, counts: Map<string, Count>): readonly [voters: readonly Voter[], all: number] {
    const similar = new Best<Similar>(FEEDBACK.mostVoters, isMoreSimilar);
    // From the back, where the newest often are: of equally similar ones they are kept.
    for (let at = touched.length - 1; at >= 0; at--) {
      const slot = touched[at]!;
      const similarity = this.#common[slot]! / Math.sqrt(telling * this.#weight(slot, catalogue));
      const enough = this.#commonStems[slot]! >= 2 && this.#knownStems[slot]! >= 1;
      this.#common[slot] = 0;
      this.#commonStems[slot] = 0;
      this.#knownStems[slot] = 0;
      if (similarity >= (enough ? FEEDBACK.leastSimilarity : FEEDBACK.leastWithoutKnownWords)) similar.offer({ request: this.#past.inSlot(slot), similarity });
    }
    const kept = similar.sorted();
    const newest = kept.reduce((latest, { request }) => Math.max(latest, request.at), 0);
    let all = 0;
    const voters = kept.map(({ request, similarity }, place): Voter => {
      const { stems, tools, at, slot } = request;
      const decay = 0.5 ** ((newest - at) / FEEDBACK.halfLife);
      const sum = similarity ** 2 * decay * UNIT;
      let strongest = 0;
      const votes = [...tools].map(([name, strength]): readonly [Count, number] => {
        let count = counts.get(name);
        if (count === undefined) counts.set(name, (count = { nearest: [0, 0], sums: [0, 0], covered: [0, 0], occurrences: [0, 0] }));
        const side = strength < 0 ? 1 : 0;
        if (strength !== 0) count.nearest[side] = Math.max(count.nearest[side], similarity);
        count.sums[side] += Math.round(sum * Math.abs(strength));
        strongest = Math.max(strongest, Math.abs(strength));
        return [count, strength];
      });
      all += Math.round(sum * strongest);
      this.#voterOf[slot] = place;
      return { weight: (decay * UNIT) / (1 - FEEDBACK.damping + (FEEDBACK.damping * stems.length) / FEEDBACK.usualStems), votes };
    });
    return [voters, all];
  }

  /** Adds to each tool how far its past requests cover one stem, which is `share` of the request. */
  #cover(stem: string, share: number, voters: readonly Voter[], counts: ReadonlyMap<string, Count>): void {
    for (const slot of this.#past.slotsWith(stem)) {
      const place = this.#voterOf[slot]!;
      if (place === -1) continue;
      const { weight, votes } = voters[place]!;
      for (const [{ occurrences }, strength] of votes) occurrences[strength < 0 ? 1 : 0] += Math.round(weight * Math.abs(strength));
    }
    for (const { occurrences, covered } of counts.values()) {
      for (const side of [0, 1] as const) {
        if (occurrences[side] === 0) continue;
        covered[side] += (share * occurrences[side]) / (occurrences[side] + UNIT);
        occurrences[side] = 0;
      }
    }
  }

  #weight(slot: number, catalogue: Catalogue): number {
    const request = this.#past.inSlot(slot);
    const known = this.#weights[slot];
    if (known?.request === request) return known.weight;
    let weight = 0;
    for (const stem of request.stems) weight += this.#rarity(stem, catalogue);
    this.#weights[slot] = { request, weight };
    return weight;
  }
}

function bonus({ covered, sums }: Count, side: 0 | 1, all: number): number {
  return sums[side] === 0 ? 0 : FEEDBACK.gain * covered[side] ** FEEDBACK.coveragePower * (sums[side] / all) ** FEEDBACK.sharePower;
}
