import { LIMITS } from '../../core/limits.js';

/** A word of a text: as written, in lower case, and the parts an identifier consists of. */
export interface Word {
  readonly whole: string;
  /** `gitDiff` → `git`, `diff`; one part equal to `whole` for ordinary words. */
  readonly parts: readonly string[];
}

/** Letters with their marks and digits, beginning with one (emoji carry marks too); a trailing `+` or `#` belongs to the word, or `c++` and `c#` would both be `c`. */
export const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:[+#]{1,2}(?![\p{L}\p{N}+#]))?/gu;

/** Where a camel-case identifier breaks: `gitDiff` between t and D, `HTTPServer` between P and S. */
const HUMP = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu;

/** As much of a request as is read, in plain letters; some characters are many plain ones, so it is cut again. */
export function readableText(text: string): string {
  return text.slice(0, LIMITS.queryLength).normalize('NFKC').slice(0, LIMITS.queryLength);
}

/**
 * The words of a text, in order.
 *
 * Everything that is neither letter nor digit separates words, so `git_diff`, `git-diff` and `git.diff` are two words
 * each. Compatibility forms (full-width letters, ligatures) count as their plain letters.
 */
export function splitWords(text: string): Word[] {
  const words: Word[] = [];
  for (const [written] of text.normalize('NFKC').matchAll(WORD)) {
    const whole = lowerCase(written);
    const parts = written === whole ? [whole] : written.split(HUMP).map(lowerCase);
    words.push({ whole, parts });
  }
  return words;
}

/** With one form of the Greek sigma, which otherwise depends on its place in the word. */
function lowerCase(word: string): string {
  return word.toLowerCase().replaceAll('ς', 'σ');
}
