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
  { corrections, truncated }: Pick<SearchResult, 'corrections' | 'truncated'>,
): SearchResult {
  const { tokens, starts } = index.store;
  const stemOfWord = index.vocabulary.stemOfWord;
  const fieldsOf = (stems: readonly number[]): readonly SearchField[] => {
    const fields = new Set<number>();
    for (let at = starts[document]!; at < starts[document + 1]!; at++) {
      const word = wordOf(tokens[at]!);
      if (word !== PIECE_END && stems.includes(stemOfWord[word]!)) fields.add(fieldOf(tokens[at]!));
    }
    return Object.freeze([...fields].map((field) => SEARCH_FIELDS[field]!));
  };
  const matches = plan.terms.flatMap(({ word, stem, related }): WordMatch[] => {
    const own = stem === -1 ? [] : fieldsOf([stem]);
    if (own.length > 0) return [Object.freeze({ word, fields: own, related: false })];
    const others = fieldsOf(related.map((each) => each.stem));
    return others.length > 0 ? [Object.freeze({ word, fields: others, related: true })] : [];
  });
  const notes = [
    ...matches.map(({ word, fields, related }) => `${related ? `a word like "${word}"` : `"${word}"`} in ${fields.join(', ')}`),
    ...corrections.map(({ word, readAs }) => `"${word}" read as "${readAs}"`),
    ...(truncated ? ['the end of the text was not read'] : []),
  ];
  return Object.freeze({ toolName: entry.name, score, matches: Object.freeze(matches), corrections, truncated, explanation: notes.join('; ') });
}
