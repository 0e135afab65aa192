import type { DocumentIndex } from '../index/document-index.js';
import { GENERIC } from '../text/word-classes.js';
import { RANKING } from './parameters.js';
import { rarityOf } from './query-plan.js';

/** What every request needs and none needs to make anew: arrays as long as the vocabulary. */
export class ScorerScratch {
  #rolePlaces = new Int32Array(0);
  #nameWorth: NameWorth | undefined;

  /** All zeros when handed out; whoever writes into it sets it back. */
  rolePlaces(stems: number): Int32Array {
    if (this.#rolePlaces.length < stems) this.#rolePlaces = new Int32Array(Math.ceil(stems * 1.25));
    return this.#rolePlaces;
  }

  nameWorth(index: DocumentIndex): NameWorth {
    if (this.#nameWorth?.version !== index.version) this.#nameWorth = new NameWorth(index);
    return this.#nameWorth;
  }
}

/** How much each stem counts when it is asked how much of a name is covered: its rarity squared, less for generic words. */
export class NameWorth {
  readonly version: number;
  readonly #index: DocumentIndex;
  readonly #worth: Float32Array;
  readonly #generic: ReadonlySet<number | undefined>;

  constructor(index: DocumentIndex) {
    this.version = index.version;
    this.#index = index;
    this.#worth = new Float32Array(index.vocabulary.stemCount);
    this.#generic = new Set([...GENERIC].map((word) => index.vocabulary.stemNumber(word)));
  }

  of(stem: number): number {
    const known = this.#worth[stem]!;
    if (known > 0) return known;
    const rarity = rarityOf(this.#index.documentsWith(stem), this.#index.size) * (this.#generic.has(stem) ? RANKING.genericNameWord : 1);
    return (this.#worth[stem] = Math.fround(rarity * rarity));
  }
}
