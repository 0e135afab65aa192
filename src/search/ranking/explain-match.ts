import type { ToolEntry } from '../../tool/tool-definition.js';
import type { DocumentIndex } from '../index/document-index.js';
import { SEARCH_FIELDS, type SearchField } from '../index/tool-text.js';
import { fieldOf, PIECE_END, wordOf } from '../index/token-store.js';
import type { QueryPlan } from './query-plan.js';
import type { Correction } from './spelling.js';

/** A word of the request that a tool has, or has a word for. */
export interface WordMatch {
  readonly word: string;
  readonly fields: readonly SearchField[];
  /** Whether the tool has only words that mean about the same. */
  readonly related: boolean;
}

/** A tool that fits a request, and why. */
export interface SearchResult {
  readonly toolName: string;
  readonly score: number;
  readonly matches: readonly WordMatch[];
  /** Words of the request that no tool has, and as what they were read. */
  readonly corrections: readonly Correction[];
  /** Whether the text was longer than is read; the rest was ignored. */
  readonly truncated: boolean;
  /** The part of the score that past use of the tool gave, or, below zero, took; 0 when there was none. */
  readonly usage: number;
  /** The same as one line for people. */
  readonly explanation: string;
}

/** Says which words of the request were found where in a tool. */
export function explainMatch(
  entry: ToolEntry,
  score: number,
  document: number,
  plan: QueryPlan,
  index: DocumentIndex,
  { corrections, truncated, usage }: Pick<SearchResult, 'corrections' | 'truncated' | 'usage'>,
): SearchResult {
  const fieldsOfStem = fieldsByStem(document, index);
  const namesOf = (fields: number) => Object.freeze(SEARCH_FIELDS.filter((_, field) => (fields & (1 << field)) !== 0));
  const matches = plan.terms.flatMap(({ word, stem, related }): WordMatch[] => {
    const own = fieldsOfStem.get(stem) ?? 0;
    if (own !== 0) return [Object.freeze({ word, fields: namesOf(own), related: false })];
    const others = related.reduce((fields, each) => fields | (fieldsOfStem.get(each.stem) ?? 0), 0);
    return others === 0 ? [] : [Object.freeze({ word, fields: namesOf(others), related: true })];
  });
  const notes = [
    ...matches.map(({ word, fields, related }) => `${related ? `a word like "${word}"` : `"${word}"`} in ${fields.join(', ')}`),
    ...corrections.map(({ word, readAs }) => `"${word}" read as "${readAs}"`),
    ...(usage === 0 ? [] : [usage > 0 ? 'served similar requests before' : 'failed on similar requests before']),
    ...(truncated ? ['the end of the text was not read'] : []),
  ];
  return Object.freeze({ toolName: entry.name, score, matches: Object.freeze(matches), corrections, truncated, usage, explanation: notes.join('; ') });
}

/** In which fields of a document each stem stands, as a set of bits. */
function fieldsByStem(document: number, index: DocumentIndex): ReadonlyMap<number, number> {
  const { tokens, starts } = index.store;
  const stemOfWord = index.vocabulary.stemOfWord;
  const fields = new Map<number, number>();
  for (let at = starts[document]!; at < starts[document + 1]!; at++) {
    const word = wordOf(tokens[at]!);
    if (word === PIECE_END) continue;
    const stem = stemOfWord[word]!;
    fields.set(stem, (fields.get(stem) ?? 0) | (1 << fieldOf(tokens[at]!)));
  }
  return fields;
}
