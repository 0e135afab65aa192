import { splitWords, stem, STOP_WORDS } from '../../src/search/words.js';

/** The words of a text as our own search sees them: identifiers by their parts, without stop words, in lower case. */
export function ourWords(text: string): string[] {
  return splitWords(text)
    .flatMap(({ parts }) => parts)
    .filter((word) => !STOP_WORDS.has(word));
}

/** The same as stems: what the tuned packages are given, so that they differ from us in ranking alone. */
export function ourStems(text: string): string[] {
  return ourWords(text).map(stem);
}
