import { LIMITS } from '../core/limits.js';
import { compareText } from '../core/plain-data.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { splitWords, type Word } from './split-words.js';
import { stem } from './stem.js';
import { STOP_WORDS } from './stop-words.js';
import { SEARCH_FIELDS, textOf, type SearchField } from './tool-text.js';

/** A tool that fits a request, and why. */
export interface SearchResult {
  readonly toolName: string;
  readonly score: number;
  /** The words of the request that hit, each with the fields it was found in. */
  readonly matches: readonly { readonly word: string; readonly fields: readonly SearchField[] }[];
  /** The same as one line for people. */
  readonly explanation: string;
}

/** How fast repeated words stop counting. BM25's usual value (Robertson and Zaragoza, 2009). */
const K1 = 1.2;

interface Document {
  readonly entry: ToolEntry;
  readonly stems: ReadonlySet<string>;
}

interface Posting {
  /** Sum over the fields of the field's weight times the word's share of it. */
  readonly weight: number;
  readonly fields: readonly SearchField[];
}

/** Ranked retrieval over everything known of a tool: BM25 over stems, with weighted fields. */
export class SearchIndex {
  readonly #documents = new Map<string, Document>();
  /** stem → tool → where it occurs. */
  readonly #postings = new Map<string, Map<string, Posting>>();
  /** Tools are indexed when somebody first searches: many programs never do. */
  readonly #pending = new Map<string, ToolEntry>();

  add(entry: ToolEntry): void {
    this.#pending.set(entry.name, entry);
  }

  remove(entry: ToolEntry): void {
    this.#pending.delete(entry.name);
    const document = this.#documents.get(entry.name);
    if (document === undefined) return;
    this.#documents.delete(entry.name);
    for (const each of document.stems) {
      const tools = this.#postings.get(each);
      tools?.delete(entry.name);
      if (tools?.size === 0) this.#postings.delete(each);
    }
  }

  /** The best tools for a text, best first; equal scores by priority, then by name. */
  search(text: string, limit: number): readonly SearchResult[] {
    this.#indexPending();
    const hits = new Map<string, { score: number; matches: { word: string; fields: readonly SearchField[] }[] }>();
    for (const [each, word] of queryStems(text)) {
      const tools = this.#postings.get(each);
      if (tools === undefined) continue;
      const rarity = Math.log(1 + (this.#documents.size - tools.size + 0.5) / (tools.size + 0.5));
      for (const [name, { weight, fields }] of tools) {
        let hit = hits.get(name);
        if (hit === undefined) hits.set(name, (hit = { score: 0, matches: [] }));
        hit.score += (rarity * weight * (K1 + 1)) / (weight + K1);
        hit.matches.push(Object.freeze({ word, fields }));
      }
    }
    return [...hits]
      .map(([name, hit]) => ({ entry: this.#documents.get(name)!.entry, ...hit }))
      .sort((a, b) => b.score - a.score || a.entry.priority - b.entry.priority || compareText(a.entry.name, b.entry.name))
      .slice(0, limit)
      .map(({ entry, score, matches }) => Object.freeze({ toolName: entry.name, score, matches: Object.freeze(matches), explanation: explain(matches) }));
  }

  #indexPending(): void {
    for (const entry of this.#pending.values()) {
      const occurrences = new Map<string, { weight: number; fields: SearchField[] }>();
      for (const [field, text] of Object.entries(textOf(entry)) as [SearchField, string][]) {
        const stems = splitWords(text).flatMap(termsOf).map(stem);
        const share = SEARCH_FIELDS[field] / Math.max(1, Math.sqrt(stems.length / 8));
        for (const each of stems) {
          const seen = occurrences.get(each);
          if (seen === undefined) occurrences.set(each, { weight: share, fields: [field] });
          else {
            seen.weight += share;
            if (!seen.fields.includes(field)) seen.fields.push(field);
          }
        }
      }
      for (const [each, posting] of occurrences) {
        Object.freeze(posting.fields);
        const tools = this.#postings.get(each);
        if (tools === undefined) this.#postings.set(each, new Map([[entry.name, posting]]));
        else tools.set(entry.name, posting);
      }
      this.#documents.set(entry.name, { entry, stems: new Set(occurrences.keys()) });
    }
    this.#pending.clear();
  }
}

/** An identifier counts by its parts and as a whole: `GitHub` is found by github, hub and GitHub. */
function termsOf({ whole, parts }: Word): readonly string[] {
  return parts.length > 1 ? [...parts, whole] : parts;
}

/** The distinct stems of a request with the word each comes from, without the words that say nothing. */
function queryStems(text: string): Map<string, string> {
  const stems = new Map<string, string>();
  for (const word of splitWords(text.slice(0, LIMITS.queryLength))) {
    for (const part of termsOf(word)) if (!STOP_WORDS.has(part) && !stems.has(stem(part))) stems.set(stem(part), part);
  }
  return stems;
}

function explain(matches: SearchResult['matches']): string {
  return matches.map(({ word, fields }) => `"${word}" in ${fields.join(', ')}`).join('; ');
}
