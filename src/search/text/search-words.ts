import { splitWords } from './split-words.js';
import { STOP_WORDS } from './stop-words.js';

/** Where letters meet digits: `mp3` is read as mp and 3, `utf8` as utf and 8. */
const LETTER_DIGIT = /(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u;

/** A text as ranked search reads it. */
export interface SearchWords {
  /** In order, identifiers as their parts, without the words that say nothing. */
  readonly words: readonly string[];
  /** Identifiers as a whole: `GitHub` is found by github too. */
  readonly identifiers: readonly string[];
}

export function searchWords(text: string): SearchWords {
  const words: string[] = [];
  const identifiers: string[] = [];
  for (const { whole, parts } of splitWords(text)) {
    for (const part of parts) for (const piece of part.split(LETTER_DIGIT)) if (!STOP_WORDS.has(piece)) words.push(piece);
    if (parts.length > 1) identifiers.push(whole);
  }
  return { words, identifiers };
}
