import { PRIORITY_BOOST } from '../core/enum-order.js';
import type { Priority } from '../core/enums.js';
import { compareText } from '../core/plain-data.js';
import { readableText, splitWords, stem, type Word } from './words.js';

/**
 * Finds the keywords in a text. The time depends only on the text, not on the number of keywords.
 *
 * A keyword is stored under its *form*: the stems of its words, joined by spaces. Every sequence of
 * words in the text is looked up in the same form. Keywords therefore match whole words in any
 * inflection (`test` doesn't match `latest`), and phrases match word by word in order. An
 * identifier in the text also matches by its parts: `gitDiff` contains "git diff". If the whole
 * identifier is a keyword, it matches only that keyword: `GitHub` matches github but not git.
 */
export class KeywordIndex {
  /** The keywords with each form. */
  readonly #forms = new Map<string, readonly string[]>();
  /**
   * The number of words in the longest form. Longer sequences in a text don't need to be searched.
   */
  #longest = 0;
  /**
   * The keywords whose form hasn't been computed yet. Forms are computed on the first match,
   * because many programs register tools and never match text.
   */
  #pending: string[] = [];

  /** Adds a keyword. A keyword without letters or digits is never found. */
  add(keyword: string): void {
    this.#pending.push(keyword);
  }

  remove(keyword: string): void {
    this.#addPending();
    const form = keywordForm(keyword).join(' ');
    const others = (this.#forms.get(form) ?? []).filter((other) => other !== keyword);
    if (others.length > 0) this.#forms.set(form, others);
    else this.#forms.delete(form);
  }

  /** Returns the keywords in the text without duplicates, in order of appearance. */
  find(text: string): ReadonlySet<string> {
    this.#addPending();
    const found = new Set<string>();
    const words = splitWords(readableText(text));
    this.#findRuns(
      words.map(({ whole }) => stem(whole)),
      found,
    );
    if (words.some(({ parts }) => parts.length > 1))
      this.#findRuns(
        words.flatMap((word) => this.#partsOf(word)),
        found,
      );
    return found;
  }

  #addPending(): void {
    for (const keyword of this.#pending) {
      const words = keywordForm(keyword);
      if (words.length === 0) continue;
      const form = words.join(' ');
      // The keywords are sorted, so that their order doesn't depend on which tool was added first.
      this.#forms.set(form, [...(this.#forms.get(form) ?? []), keyword].sort(compareText));
      this.#longest = Math.max(this.#longest, words.length);
    }
    this.#pending = [];
  }

  #partsOf({ whole, parts }: Word): string[] {
    const form = stem(whole);
    return this.#forms.has(form) ? [form] : parts.map(stem);
  }

  #findRuns(stems: readonly string[], found: Set<string>): void {
    for (let start = 0; start < stems.length; start++) {
      let form = '';
      for (let end = start; end < Math.min(start + this.#longest, stems.length); end++) {
        form = end === start ? stems[start]! : `${form} ${stems[end]!}`;
        for (const keyword of this.#forms.get(form) ?? []) found.add(keyword);
      }
    }
  }
}

/**
 * Returns the stems of a keyword's words. Returns an empty list for a keyword without letters or
 * digits, which can never match.
 */
export function keywordForm(keyword: string): readonly string[] {
  return splitWords(keyword).map(({ whole }) => stem(whole));
}

/** A tool whose keywords match a text. `score` is the sum of the three parts. */
export interface KeywordMatchResult {
  readonly toolName: string;
  readonly score: number;
  /** The number of matched keywords divided by the number of declared keywords. */
  readonly base: number;
  /** The mean length of the matched keywords divided by 10, at most 0.2. */
  readonly specificity: number;
  /** 0.3 for CRITICAL, 0.2 for HIGH, 0.1 for MEDIUM, 0.05 for LOW. */
  readonly priorityBoost: number;
  readonly matchedKeywords: readonly string[];
}

const SPECIFICITY_CAP = 0.2;

/** Scores one tool with the formula from docs/search-and-scoring.md. */
export function scoreKeywords(
  tool: {
    readonly name: string;
    readonly keywords: readonly string[];
    readonly priority: Priority;
  },
  matchedKeywords: readonly string[],
): KeywordMatchResult {
  const base = matchedKeywords.length / tool.keywords.length;
  const lengths = matchedKeywords.reduce((sum, keyword) => sum + keyword.length, 0);
  const specificity = Math.min(lengths / (matchedKeywords.length * 10), SPECIFICITY_CAP);
  const priorityBoost = PRIORITY_BOOST[tool.priority];
  return Object.freeze({
    toolName: tool.name,
    score: base + specificity + priorityBoost,
    base,
    specificity,
    priorityBoost,
    matchedKeywords: Object.freeze([...matchedKeywords]),
  });
}
