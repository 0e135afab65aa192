import { z } from 'zod';
import type { Work } from '../../core/clock.js';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import { RANKING } from '../ranking/parameters.js';
import { stem } from '../text/stem.js';
import { CONCEPTS } from './concepts.js';
import { SYNONYMS, WORD_FAMILIES } from './synonyms.js';

/** Words of one's own trade, added to the built-in tables. */
export interface RelatedWordsOptions {
  /** Lists of words that mean about the same. */
  readonly synonyms?: readonly (readonly string[])[];
  /** For a kind of thing, words that are one: `{ crypto: ['bitcoin'] }`. */
  readonly concepts?: Readonly<Record<string, readonly string[]>>;
}

const word = z.string().regex(/^[^\s]+$/u, { error: 'a single word' });
const optionsSchema = z.strictObject({ synonyms: z.array(z.array(word)).optional(), concepts: z.record(word, z.array(word)).optional() } satisfies FieldsOf<RelatedWordsOptions>);

/** @throws ToolError `INVALID_ARGUMENT` naming what is wrong: words that were never matched would be missed by nobody. */
export function checkRelatedWords(options: RelatedWordsOptions): RelatedWordsOptions {
  checkOptions(optionsSchema, options, 'related words');
  return options; // zod leaves words out that are called __proto__.
}

/** Which stems may stand in for a stem of a request, and as what share of it. */
export class RelatedWords {
  readonly #related = new Map<string, Map<string, number>>();

  private constructor() {}

  /** Reads the tables, and the words of one's own, with a pause after each line. */
  static *of(options: RelatedWordsOptions): Work<RelatedWords> {
    const words = new RelatedWords();
    yield* words.#fill(options);
    return words;
  }

  *#fill(options: RelatedWordsOptions): Work<void> {
    const groups = [...SYNONYMS, ...WORD_FAMILIES].map((line) => line.split(' '));
    for (const group of [...groups, ...(options.synonyms ?? [])]) {
      yield;
      const stems = group.map((word) => stem(word.toLowerCase()));
      for (const one of stems) for (const other of stems) this.#add(one, other, RANKING.synonym);
    }
    const concepts = Object.entries(CONCEPTS).map(([concept, words]) => [concept, words.split(' ')] as const);
    for (const [concept, words] of [...concepts, ...Object.entries(options.concepts ?? {})]) {
      yield;
      for (const word of words) this.#add(stem(word.toLowerCase()), stem(concept.toLowerCase()), RANKING.concept);
    }
  }

  /** The related stems with their shares; none for most words. */
  of(word: string): Iterable<readonly [string, number]> {
    return this.#related.get(word) ?? [];
  }

  #add(from: string, to: string, share: number): void {
    if (from === to) return;
    const known = this.#related.get(from);
    if (known === undefined) this.#related.set(from, new Map([[to, share]]));
    else known.set(to, Math.max(share, known.get(to) ?? 0));
  }
}
