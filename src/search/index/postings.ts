import type { Work } from '../../core/clock.js';
import { FIELDS, RANKING } from '../ranking/parameters.js';
import { SEARCH_FIELDS } from './tool-text.js';
import { fieldOf, PIECE_END, wordOf, type TokenStore } from './token-store.js';

const WEIGHTS = Float64Array.from(SEARCH_FIELDS, (field) => FIELDS[field].weight);
const DAMPING = Float64Array.from(SEARCH_FIELDS, (field) => FIELDS[field].damping / FIELDS[field].usualLength);
const UNDAMPED = Float64Array.from(SEARCH_FIELDS, (field) => 1 - FIELDS[field].damping);
const FIELD_COUNT = SEARCH_FIELDS.length;
/** Impacts are kept in a byte. */
const STEPS = 255;
const CEILING = RANKING.saturation + 1;

/** What one occurrence in each field of a document counts, written into `into`. */
export function occurrenceWeights(tokens: Uint32Array, from: number, to: number, into: Float64Array): void {
  into.fill(0);
  for (let at = from; at < to; at++) if (wordOf(tokens[at]!) !== PIECE_END) into[fieldOf(tokens[at]!)]!++;
  for (let field = 0; field < FIELD_COUNT; field++) into[field] = WEIGHTS[field]! / (UNDAMPED[field]! + DAMPING[field]! * into[field]!);
}

/** How much occurrences that count `sum` together are worth: more and more slowly more, up to 1 + k1. */
export function saturate(sum: number): number {
  return ((RANKING.saturation + 1) * sum) / (RANKING.saturation + sum);
}

/** The greatest sum of occurrences that an impact stands for. */
export const GREATEST_SUM = Float64Array.from({ length: STEPS + 1 }, (_, impact) => {
  const saturated = (impact / STEPS) * CEILING;
  return impact === STEPS ? 1e9 : (RANKING.saturation * saturated) / (CEILING - saturated);
});

/**
 * For each stem the documents of one range that have it, with how much it counts there, rounded up to one of 255 steps.
 *
 * Rounded up, so that sums of impacts are upper bounds of scores: a document whose bound is below the last good one need
 * not be scored.
 */
export class Postings {
  readonly firstDocument: number;
  readonly endDocument: number;
  /** Stem s has the places `#offsets[s]` up to `#offsets[s + 1]`. */
  readonly #offsets: Uint32Array;
  documents = new Uint32Array(0);
  impacts = new Uint8Array(0);

  private constructor(stems: number, firstDocument: number, endDocument: number) {
    this.firstDocument = firstDocument;
    this.endDocument = endDocument;
    this.#offsets = new Uint32Array(stems + 1);
  }

  /** Makes the postings of a range of documents, with a pause after each. */
  static *of(store: TokenStore, stemOfWord: Uint32Array, stems: number, firstDocument: number, endDocument: number): Work<Postings> {
    const postings = new Postings(stems, firstDocument, endDocument);
    yield* postings.#count(store, stemOfWord, stems);
    yield* postings.#fill(store, stemOfWord, stems);
    return postings;
  }

  *#count({ tokens, starts }: TokenStore, stemOfWord: Uint32Array, stems: number): Work<void> {
    const lastDocument = new Int32Array(stems).fill(-1);
    for (let document = this.firstDocument; document < this.endDocument; document++) {
      yield;
      for (let at = starts[document]!; at < starts[document + 1]!; at++) {
        const word = wordOf(tokens[at]!);
        if (word === PIECE_END || lastDocument[stemOfWord[word]!] === document) continue;
        lastDocument[stemOfWord[word]!] = document;
        this.#offsets[stemOfWord[word]! + 1]!++;
      }
    }
    for (let stem = 0; stem < stems; stem++) this.#offsets[stem + 1]! += this.#offsets[stem]!;
    this.documents = new Uint32Array(this.#offsets[stems]!);
    this.impacts = new Uint8Array(this.#offsets[stems]!);
  }

  *#fill({ tokens, starts }: TokenStore, stemOfWord: Uint32Array, stems: number): Work<void> {
    const next = this.#offsets.slice(0, stems);
    const sums = new Float64Array(stems);
    const weights = new Float64Array(FIELD_COUNT);
    const present: number[] = [];
    for (let document = this.firstDocument; document < this.endDocument; document++) {
      yield;
      const from = starts[document]!;
      const to = starts[document + 1]!;
      occurrenceWeights(tokens, from, to, weights);
      present.length = 0;
      for (let at = from; at < to; at++) {
        const word = wordOf(tokens[at]!);
        if (word === PIECE_END) continue;
        const stem = stemOfWord[word]!;
        if (sums[stem] === 0) present.push(stem);
        sums[stem]! += weights[fieldOf(tokens[at]!)]!;
      }
      for (const stem of present) {
        const place = next[stem]!++;
        this.documents[place] = document;
        this.impacts[place] = Math.min(STEPS, Math.ceil((saturate(sums[stem]!) / CEILING) * STEPS));
        sums[stem] = 0;
      }
    }
  }

  /** How many documents of the range have the stem, removed ones included. */
  count(stem: number): number {
    return stem + 1 < this.#offsets.length ? this.#offsets[stem + 1]! - this.#offsets[stem]! : 0;
  }

  /** The places of a stem in `documents` and `impacts`. */
  placesOf(stem: number): readonly [from: number, to: number] {
    return stem + 1 < this.#offsets.length ? [this.#offsets[stem]!, this.#offsets[stem + 1]!] : [0, 0];
  }
}
