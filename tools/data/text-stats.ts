import { z } from 'zod';
import { Priority, tool } from '../../src/index.js';
import { MAX_TEXT } from './formats/limits.js';
import { DATA_TOOL } from './data-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Matches a word: letters and digits, possibly with apostrophes or hyphens between them. */
const WORD = /[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*/gu;

const Input = z.object({
  text: z.string().max(MAX_TEXT).describe('Text to analyze'),
  topWords: wholeNumber(10, 100, 0).describe('Number of most frequent words to list'),
  minWordLength: wholeNumber(1, 50).describe('Minimum length of the most frequent words listed'),
});

type TextCounts = {
  /** The number of Unicode characters. */
  readonly characters: number;
  readonly charactersWithoutSpaces: number;
  /** The size in bytes as UTF-8. */
  readonly bytes: number;
  readonly words: number;
  readonly uniqueWords: number;
  readonly lines: number;
  readonly topWords: readonly { readonly word: string; readonly count: number }[];
};

/** Counts characters, words and lines. */
@tool({
  ...DATA_TOOL,
  name: 'text_stats',
  description:
    'Counts characters, bytes, words and lines of a text and lists its most frequent words in lower case. At most 5 million characters.',
  inputSchema: Input,
  priority: Priority.LOW,
  keywords: [
    'count words',
    'word count',
    'characters',
    'text length',
    'statistics',
    'line count',
    'frequency',
    'most common words',
  ],
  mandatoryKeywords: ['word count', 'count words'],
  stages: ['analysis', 'verification'],
  taskTypes: ['analysis'],
  examples: [
    'How many words does this text have?',
    'Count the characters of my tweet',
    'Which words occur most often here?',
  ],
})
export class TextStats {
  execute({ text, topWords = 10, minWordLength = 1 }: z.input<typeof Input>): TextCounts {
    const counts = new Map<string, number>();
    let words = 0;
    for (const [word] of text.matchAll(WORD)) {
      const folded = word.toLowerCase();
      counts.set(folded, (counts.get(folded) ?? 0) + 1);
      words += 1;
    }
    let characters = 0;
    let spaces = 0;
    for (const character of text) {
      characters += 1;
      if (character.trim() === '') spaces += 1;
    }
    const lines =
      text === '' ? 0 : text.split(/\r\n|\r|\n/).length - (/[\r\n]$/.test(text) ? 1 : 0);
    return {
      characters,
      charactersWithoutSpaces: characters - spaces,
      bytes: Buffer.byteLength(text),
      words,
      uniqueWords: counts.size,
      lines,
      topWords: mostFrequent(counts, topWords, minWordLength),
    };
  }
}

/**
 * Sorts equal counts alphabetically, so that the result doesn't depend on the order of the text.
 */
function mostFrequent(
  counts: ReadonlyMap<string, number>,
  wanted: number,
  minLength: number,
): TextCounts['topWords'] {
  const candidates = [...counts].filter(([word]) => word.length >= minLength);
  candidates.sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1));
  return candidates.slice(0, wanted).map(([word, count]) => ({ word, count }));
}
