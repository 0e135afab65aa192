import type { ToolEntry } from '../tool/tool-definition.js';
import { impactOf, rarityOf, SEARCH_FIELDS, weighFields } from './bm25f.js';
import { searchWords, stem } from './words.js';

/** A list of integers below 2³² in a typed array. A full list grows by half. */
class Uint32List {
  /** The numbers, with unused capacity at the end. `push` can replace the array. */
  values: Uint32Array;
  length = 0;

  constructor(room: number) {
    this.values = new Uint32Array(room);
  }

  push(value: number): void {
    if (this.length === this.values.length) {
      const larger = new Uint32Array(Math.ceil(this.length * 1.5));
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.length++] = value;
  }
}

/**
 * A token consists of a word's number and the field in which the word occurs. The highest number
 * marks the end of a piece of text.
 */
const FIELD_SHIFT = 28;
export const PIECE_END = (1 << FIELD_SHIFT) - 1;

export function wordOf(token: number): number {
  return token & PIECE_END;
}

export function fieldAt(token: number): number {
  return token >>> FIELD_SHIFT;
}

/**
 * A posting consists of a document's number and, in its lowest byte, the stem's impact in that
 * document.
 */
const IMPACT_BITS = 8;

export function documentOf(posting: number): number {
  return posting >>> IMPACT_BITS;
}

export function impactAt(posting: number): number {
  return posting & 0xff;
}

/** Stems that are so common in names that a match doesn't mean much. */
const GENERIC: ReadonlySet<string> = new Set(
  'get set list api tool by id for from to new data info information create update delete add search find all'
    .split(' ')
    .map(stem),
);
const IDENTIFIERS = SEARCH_FIELDS.indexOf('identifiers');
const PAST_REQUESTS = SEARCH_FIELDS.indexOf('past requests');
const HINTS = SEARCH_FIELDS.indexOf('hints');
/** The words of several texts. */
type Texts = readonly (readonly string[])[];
/**
 * Returns what is known about a tool in addition to its own text: the words of each request that it
 * handled, and of its hints.
 */
type LearnedOf = (entry: ToolEntry) => { readonly served: Texts; readonly hints: Texts };
/**
 * The minimum number of removed documents before an index is rebuilt. An index is rebuilt only if
 * more documents were removed than are left.
 */
const FEWEST_REMOVED = 1_000;
const NOTHING = { served: [], hints: [] };

/**
 * Tool texts, indexed for search. Each tool is a document: a sequence of words. Each stem has a
 * list of postings.
 *
 * Words and stems are numbered in order of first occurrence. The words are used to score a
 * document; the postings show which documents are worth scoring. Tools are indexed on the first
 * search after they're added, because many programs register tools and never search. The order in
 * which tools are added and removed doesn't affect any score.
 */
export class InvertedIndex {
  /**
   * An object that is replaced whenever the counts change. Stored rarities are valid only for the
   * object that they were computed with.
   */
  state = {};
  readonly #tokens = new Uint32List(64);
  readonly #starts = new Uint32List(64);
  readonly #words = new Map<string, number>();
  readonly #stems = new Map<string, number>();
  readonly #stemOfWord = new Uint32List(64);
  readonly #genericStems = new Set<number>();
  /** Maps a first letter and a length to words. */
  readonly #wordsByShape = new Map<string, string[]>();
  /** The postings of each stem. */
  readonly #postings: Uint32List[] = [];
  readonly #documentsWith: number[] = [];
  #rarities = new Float64Array(0);
  #raritiesOf: object | undefined;
  /** The entry of each document number. Removed entries are `undefined`. */
  readonly #entries: (ToolEntry | undefined)[] = [];
  readonly #numbers = new Map<ToolEntry, number>();
  /** The tools that haven't been indexed yet. */
  readonly #pending = new Set<ToolEntry>();
  readonly #learnedOf: LearnedOf;

  /** @param learnedOf Called when a tool is indexed. */
  constructor(learnedOf: LearnedOf = () => NOTHING) {
    this.#learnedOf = learnedOf;
    this.#starts.push(0);
  }

  /** The number of tools. */
  get size(): number {
    return this.#numbers.size + this.#pending.size;
  }

  /** The number of document numbers assigned so far, including removed documents. */
  get documentCount(): number {
    return this.#entries.length;
  }

  get stemCount(): number {
    return this.#stems.size;
  }

  /** The tokens of all documents, one document after another. */
  get tokens(): Uint32Array {
    return this.#tokens.values;
  }

  /**
   * The position at which each document starts: document d consists of the tokens from `starts[d]`
   * up to `starts[d + 1]`.
   */
  get starts(): Uint32Array {
    return this.#starts.values;
  }

  /** The stem number of each word number. */
  get stemOfWord(): Uint32Array {
    return this.#stemOfWord.values;
  }

  add(entry: ToolEntry): void {
    this.state = {};
    this.#pending.add(entry);
  }

  /** Removes a tool from the counts. The tool's postings are kept until the index is rebuilt. */
  remove(entry: ToolEntry): void {
    this.state = {};
    const number = this.#numbers.get(entry);
    if (this.#pending.delete(entry) || number === undefined) return;
    this.#numbers.delete(entry);
    this.#entries[number] = undefined;
    for (const stem of this.fieldsByStem(number).keys()) this.#documentsWith[stem]!--;
  }

  /** Indexes the tools added since the last search. */
  update(): void {
    for (const entry of this.#pending) this.#index(entry);
    this.#pending.clear();
  }

  /**
   * Returns the index to continue with: this index, or a new index with the same tools if most
   * documents were removed.
   */
  compacted(): InvertedIndex {
    const removed = this.#entries.length - this.#numbers.size;
    if (removed <= FEWEST_REMOVED || removed <= this.#numbers.size) return this;
    const index = new InvertedIndex(this.#learnedOf);
    for (const entry of [...this.#numbers.keys(), ...this.#pending]) index.add(entry);
    return index;
  }

  /** Returns the tool of a document, or `undefined` if it was removed. */
  entry(document: number): ToolEntry | undefined {
    return this.#entries[document];
  }

  wordNumber(word: string): number | undefined {
    return this.#words.get(word);
  }

  stemNumber(ofStem: string): number | undefined {
    return this.#stems.get(ofStem);
  }

  /**
   * Returns true if at least one tool currently has the stem. Stem numbers also exist for words of
   * removed tools.
   */
  has(ofStem: string): boolean {
    const number = this.#stems.get(ofStem);
    return number !== undefined && this.#documentsWith[number]! > 0;
  }

  /** Returns how informative a stem is in this index. -1 means a stem that no tool has. */
  rarity(stem: number): number {
    if (stem === -1) return rarityOf(0, this.size);
    if (this.#raritiesOf !== this.state) {
      this.#rarities = new Float64Array(this.stemCount);
      this.#raritiesOf = this.state;
    }
    return (this.#rarities[stem] ||= rarityOf(this.#documentsWith[stem]!, this.size));
  }

  get genericStems(): ReadonlySet<number> {
    return this.#genericStems;
  }

  /**
   * Returns the postings of a stem, including the postings of removed documents. Only the first
   * `length` items of `values` are valid.
   */
  postings(stem: number): Readonly<Pick<Uint32List, 'values' | 'length'>> {
    return this.#postings[stem]!;
  }

  /**
   * Returns the known words with the same first letter that are at most one letter shorter or
   * longer.
   */
  wordsLike(word: string): readonly string[] {
    return [word.length - 1, word.length, word.length + 1].flatMap(
      (length) => this.#wordsByShape.get(`${word[0]}${length}`) ?? [],
    );
  }

  /** Returns the fields in which each stem of a document occurs, as a bit set. */
  fieldsByStem(document: number): ReadonlyMap<number, number> {
    const { tokens, stemOfWord } = this;
    const fields = new Map<number, number>();
    for (let at = this.starts[document]!, to = this.starts[document + 1]!; at < to; at++) {
      const word = wordOf(tokens[at]!);
      if (word === PIECE_END) continue;
      const stem = stemOfWord[word]!;
      fields.set(stem, (fields.get(stem) ?? 0) | (1 << fieldAt(tokens[at]!)));
    }
    return fields;
  }

  /** Writes the weight of one occurrence in each field of a document into `into`. */
  fieldWeights(document: number, into: Float64Array): void {
    const { tokens } = this;
    into.fill(0);
    for (let at = this.starts[document]!, to = this.starts[document + 1]!; at < to; at++)
      if (wordOf(tokens[at]!) !== PIECE_END) into[fieldAt(tokens[at]!)]!++;
    weighFields(into);
  }

  #index(entry: ToolEntry): void {
    this.state = {};
    const document = this.#entries.push(entry) - 1;
    this.#numbers.set(entry, document);
    const identifiers: string[] = [];
    for (const [field, pieces] of textOf(entry).entries()) {
      for (const piece of pieces) {
        const read = searchWords(piece);
        this.#addPiece(field, read.words);
        identifiers.push(...read.identifiers);
      }
    }
    this.#addPiece(IDENTIFIERS, identifiers);
    const { served, hints } = this.#learnedOf(entry);
    for (const words of served) this.#addPiece(PAST_REQUESTS, words);
    for (const words of hints) this.#addPiece(HINTS, words);
    this.#starts.push(this.#tokens.length);
    this.#addPostings(document);
  }

  #addPiece(field: number, words: readonly string[]): void {
    if (words.length === 0) return;
    for (const word of words) this.#tokens.push((field << FIELD_SHIFT) | this.#numberOf(word));
    this.#tokens.push((field << FIELD_SHIFT) | PIECE_END);
  }

  #numberOf(word: string): number {
    let number = this.#words.get(word);
    if (number !== undefined) return number;
    this.#words.set(word, (number = this.#words.size));
    const shape = `${word[0]}${word.length}`;
    const alike = this.#wordsByShape.get(shape);
    if (alike === undefined) this.#wordsByShape.set(shape, [word]);
    else alike.push(word);
    const its = stem(word);
    let stemNumber = this.#stems.get(its);
    if (stemNumber === undefined) {
      this.#stems.set(its, (stemNumber = this.#postings.push(new Uint32List(2)) - 1));
      this.#documentsWith.push(0);
      if (GENERIC.has(its)) this.#genericStems.add(stemNumber);
    }
    this.#stemOfWord.push(stemNumber);
    return number;
  }

  #addPostings(document: number): void {
    const { tokens, stemOfWord } = this;
    const weights = new Float64Array(SEARCH_FIELDS.length);
    const sums = new Map<number, number>();
    this.fieldWeights(document, weights);
    for (let at = this.starts[document]!; at < this.#tokens.length; at++) {
      const word = wordOf(tokens[at]!);
      if (word !== PIECE_END)
        sums.set(
          stemOfWord[word]!,
          (sums.get(stemOfWord[word]!) ?? 0) + weights[fieldAt(tokens[at]!)]!,
        );
    }
    for (const [stem, sum] of sums) {
      this.#postings[stem]!.push((document << IMPACT_BITS) | impactOf(sum));
      this.#documentsWith[stem]!++;
    }
  }
}

/**
 * Returns all texts of a tool as pieces, by field.
 *
 * Words in different pieces aren't adjacent. The first piece of the name field is the name itself,
 * followed by its aliases and its title.
 */
function textOf(entry: ToolEntry): readonly (readonly string[])[] {
  const properties = entry.inputJsonSchema['properties'];
  const parameters =
    typeof properties === 'object' && properties !== null
      ? (Object.entries(properties) as [string, unknown][])
      : [];
  return [
    [entry.name, ...entry.aliases, ...titleOf(entry)],
    [...entry.keywords, ...entry.mandatoryKeywords],
    entry.examples,
    [entry.description],
    entry.category === undefined ? [] : [entry.category],
    parameters.map(([name]) => name),
    parameters.map(([, schema]) => descriptionOf(schema)),
  ];
}

function titleOf({ metadata }: ToolEntry): readonly string[] {
  const title = metadata?.['title'];
  return typeof title === 'string' ? [title] : [];
}

function descriptionOf(schema: unknown): string {
  const description =
    typeof schema === 'object' && schema !== null && 'description' in schema
      ? schema.description
      : undefined;
  return typeof description === 'string' ? description : '';
}
