import { stem } from '../text/stem.js';
import { GrowingArray } from './growing-array.js';

/** Numbers for words and for their stems, given in order of first use. */
export class Vocabulary {
  readonly #words = new Map<string, number>();
  readonly #stems = new Map<string, number>();
  /** word number → stem number */
  readonly #stemOfWord = new GrowingArray();
  /** first letter and length → words, as of `#indexedWords` words. */
  readonly #byShape = new Map<string, string[]>();
  #indexedWords = 0;

  get stemCount(): number {
    return this.#stems.size;
  }

  /** word number → stem number, as a typed array with unused room at the end. */
  get stemOfWord(): Uint32Array {
    return this.#stemOfWord.values;
  }

  /** The number of a word; a new one where the word is new. */
  add(word: string): number {
    const known = this.#words.get(word);
    if (known !== undefined) return known;
    const number = this.#words.size;
    this.#words.set(word, number);
    const its = stem(word);
    let stemNumber = this.#stems.get(its);
    if (stemNumber === undefined) this.#stems.set(its, (stemNumber = this.#stems.size));
    this.#stemOfWord.push(stemNumber);
    return number;
  }

  wordNumber(word: string): number | undefined {
    return this.#words.get(word);
  }

  stemNumber(ofStem: string): number | undefined {
    return this.#stems.get(ofStem);
  }

  /** Known words with the same first letter that are at most one letter shorter or longer. */
  wordsLike(word: string): readonly string[] {
    if (this.#indexedWords !== this.#words.size) this.#indexByShape();
    return [word.length - 1, word.length, word.length + 1].flatMap((length) => this.#byShape.get(`${word[0]}${length}`) ?? []);
  }

  /** Made when a misspelt word is first looked up: most requests have none. */
  #indexByShape(): void {
    this.#byShape.clear();
    for (const word of this.#words.keys()) {
      const shape = `${word[0]}${word.length}`;
      const known = this.#byShape.get(shape);
      if (known === undefined) this.#byShape.set(shape, [word]);
      else known.push(word);
    }
    this.#indexedWords = this.#words.size;
  }
}
