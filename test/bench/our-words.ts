import { splitWords, stem, STOP_WORDS } from '../../src/search/words.js';

/**
 * Returns the words of a text as tooldex's search sees them: split identifiers, no stop words, lower
 * case.
 */
export function ourWords(text: string): string[] {
  return splitWords(text)
    .flatMap(({ parts }) => parts)
    .filter((word) => !STOP_WORDS.has(word));
}

/** Returns the words as stems. The tuned packages get stems, so they differ from tooldex only in ranking. */
export function ourStems(text: string): string[] {
  return ourWords(text).map(stem);
}
