import { searchWords } from '../text/search-words.js';
import { GrowingArray } from './growing-array.js';
import { SEARCH_FIELDS } from './tool-text.js';
import type { Vocabulary } from './vocabulary.js';

/** A token is a word number and the field it stands in; the highest word number marks the end of a piece of text. */
const FIELD_SHIFT = 28;
const WORD_MASK = (1 << FIELD_SHIFT) - 1;
export const PIECE_END = WORD_MASK;

export function wordOf(token: number): number {
  return token & WORD_MASK;
}

export function fieldOf(token: number): number {
  return token >>> FIELD_SHIFT;
}

const IDENTIFIERS = SEARCH_FIELDS.indexOf('identifiers');

/** The texts of all documents as word numbers, in order: what a document is scored from, and what the index is built from. */
export class TokenStore {
  readonly #tokens = new GrowingArray();
  readonly #starts = new GrowingArray();
  readonly #vocabulary: Vocabulary;

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
    this.#starts.push(0);
  }

  get documents(): number {
    return this.#starts.length - 1;
  }

  get tokens(): Uint32Array {
    return this.#tokens.values;
  }

  /** Document d has the tokens from `starts[d]` up to `starts[d + 1]`. */
  get starts(): Uint32Array {
    return this.#starts.values;
  }

  /** Adds a document as pieces of text by field; returns its number. */
  add(fields: readonly (readonly string[])[]): number {
    const wholes: string[] = [];
    for (const [field, pieces] of fields.entries()) {
      for (const piece of pieces) {
        const { words, identifiers } = searchWords(piece);
        this.#addPiece(field, words);
        wholes.push(...identifiers);
      }
    }
    this.#addPiece(IDENTIFIERS, wholes);
    this.#starts.push(this.#tokens.length);
    return this.documents - 1;
  }

  #addPiece(field: number, words: readonly string[]): void {
    if (words.length === 0) return;
    for (const word of words) this.#tokens.push(((field << FIELD_SHIFT) | this.#vocabulary.add(word)) >>> 0);
    this.#tokens.push(((field << FIELD_SHIFT) | PIECE_END) >>> 0);
  }
}
