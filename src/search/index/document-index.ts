import { finish, type Work } from '../../core/clock.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { Postings } from './postings.js';
import { textOf } from './tool-text.js';
import { PIECE_END, TokenStore, wordOf } from './token-store.js';
import { Vocabulary } from './vocabulary.js';

/** Removed documents are kept in the arrays until they are this many and more than those that count. */
const FEWEST_REMOVED = 1_000;

/**
 * The texts of tools, ready to be ranked.
 *
 * Tools are indexed when somebody first asks after they came: many programs register tools and never search. Each batch
 * becomes a segment of its own, and a segment at least half as large as the one before is merged with it, so that there
 * are few, and adding one tool to many costs little. What is counted (documents, documents with a stem) does not depend
 * on the order in which tools came and went.
 */
export class DocumentIndex {
  #vocabulary = new Vocabulary();
  #store = new TokenStore(this.#vocabulary);
  #segments: Postings[] = [];
  /** By document number; removed ones are undefined. */
  #entries: (ToolEntry | undefined)[] = [];
  readonly #numbers = new Map<ToolEntry, number>();
  readonly #named = new Map<string, readonly number[]>();
  readonly #pending = new Set<ToolEntry>();
  /** How many removed documents have a stem. */
  #removedWith = new Map<number, number>();
  #version = 0;

  /** Grows whenever what is counted changes. */
  get version(): number {
    return this.#version;
  }

  get vocabulary(): Vocabulary {
    return this.#vocabulary;
  }

  get store(): TokenStore {
    return this.#store;
  }

  get segments(): readonly Postings[] {
    return this.#segments;
  }

  /** How many tools there are. */
  get size(): number {
    return this.#numbers.size + this.#pending.size;
  }

  add(entry: ToolEntry): void {
    this.#version++;
    this.#pending.add(entry);
  }

  remove(entry: ToolEntry): void {
    this.#version++;
    if (this.#pending.delete(entry)) return;
    const number = this.#numbers.get(entry);
    if (number === undefined) return;
    this.#numbers.delete(entry);
    this.#named.set(entry.name, this.documentsNamed(entry.name).filter((other) => other !== number));
    if (this.documentsNamed(entry.name).length === 0) this.#named.delete(entry.name);
    this.#entries[number] = undefined;
    for (const stem of this.stemsOf(number)) this.#removedWith.set(stem, (this.#removedWith.get(stem) ?? 0) + 1);
  }

  /** The tool of a document; undefined for a removed one. */
  entry(document: number): ToolEntry | undefined {
    return this.#entries[document];
  }

  /** The documents of the tools with a name: in a registry one at most, in a catalogue one of each owner. */
  documentsNamed(name: string): readonly number[] {
    return this.#named.get(name) ?? NONE;
  }

  /** In how many documents a stem occurs. */
  documentsWith(stem: number): number {
    let count = -(this.#removedWith.get(stem) ?? 0);
    for (const segment of this.#segments) count += segment.count(stem);
    return count;
  }

  stemsOf(document: number): ReadonlySet<number> {
    const { tokens, starts } = this.#store;
    const stemOfWord = this.#vocabulary.stemOfWord;
    const stems = new Set<number>();
    for (let at = starts[document]!; at < starts[document + 1]!; at++) {
      const word = wordOf(tokens[at]!);
      if (word !== PIECE_END) stems.add(stemOfWord[word]!);
    }
    return stems;
  }

  /** Indexes what came since the last call. */
  update(): void {
    finish(this.updating());
  }

  /** The same as work that pauses between tools; what is asked meanwhile is answered from what was indexed before. */
  *updating(): Work<void> {
    const removed = this.#entries.length - this.#numbers.size;
    if (removed > FEWEST_REMOVED && removed > this.#numbers.size) this.#startAfresh();
    for (const entry of this.#pending) {
      this.#pending.delete(entry);
      const number = this.#store.add(textOf(entry));
      this.#numbers.set(entry, number);
      this.#named.set(entry.name, [...this.documentsNamed(entry.name), number]);
      this.#entries.push(entry);
      yield;
    }
    const end = this.#store.documents;
    const kept = [...this.#segments];
    const known = kept.at(-1)?.endDocument ?? 0;
    if (known === end) return;
    let from = known;
    while (kept.length > 0) {
      const last = kept.at(-1)!;
      if ((end - from) * 2 < last.endDocument - last.firstDocument) break;
      from = last.firstDocument;
      kept.pop();
    }
    const [store, { stemOfWord, stemCount }] = [this.#store, this.#vocabulary];
    const segment = yield* Postings.of(store, stemOfWord, stemCount, from, end);
    // A search that came meanwhile has indexed everything itself.
    if (this.#store !== store || (this.#segments.at(-1)?.endDocument ?? 0) !== known) return;
    this.#segments = [...kept, segment];
    this.#version++;
    yield;
  }

  #startAfresh(): void {
    const entries = this.#entries.filter((entry) => entry !== undefined);
    const waiting = [...this.#pending];
    this.#pending.clear();
    for (const entry of [...entries, ...waiting]) this.#pending.add(entry);
    this.#vocabulary = new Vocabulary();
    this.#store = new TokenStore(this.#vocabulary);
    this.#segments = [];
    this.#entries = [];
    this.#numbers.clear();
    this.#named.clear();
    this.#removedWith = new Map();
  }
}

const NONE: readonly number[] = Object.freeze([]);
