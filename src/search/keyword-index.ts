import { PRIORITY_BOOST } from '../core/enum-order.js';
import type { Priority } from '../core/enums.js';
import { compareText } from '../core/plain-data.js';
import { readableText, splitWords, stem, type Word } from './words.js';

/**
 * Finds which keywords occur in a text, in time that depends on the text and not on how many keywords there are.
 *
 * A keyword is looked up by its *form*: the stems of its words joined by a space. Every run of words in the text is
 * looked up the same way, so keywords match whole words (never inside `latest`), in any inflection, and phrases match
 * only word by word in order. An identifier in the text matches by its parts too (`gitDiff` has "git diff"), unless some
 * keyword is the whole identifier: then `GitHub` is github and not git.
 */
export class KeywordIndex {
  /** Form → the keywords that have it. */
  readonly #forms = new Map<string, readonly string[]>();
  /** The most words that a form has had: a text is searched for runs of so many. */
  #longest = 0;
  /** Keywords get their form at the first match: many programs register tools and match no text. */
  #pending: string[] = [];

  /** Adds a keyword that is not there yet. One without letters or digits is never found. */
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

  /** Returns the keywords in the text, each once, in order of appearance. */
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
      // Sorted, so that the order does not tell which tool came first.
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

/** Returns the stems of a keyword's words; none for one without letters or digits, which can never match. */
export function keywordForm(keyword: string): readonly string[] {
  return splitWords(keyword).map(({ whole }) => stem(whole));
}

/** A tool whose keywords fit a text, with the three parts of which `score` is the sum. */
export interface KeywordMatchResult {
  readonly toolName: string;
  readonly score: number;
  /** Matched keywords divided by declared ones. */
  readonly base: number;
  /** Mean length of the matched keywords divided by 10, at most 0.2. */
  readonly specificity: number;
  /** CRITICAL 0.3, HIGH 0.2, MEDIUM 0.1, LOW 0.05. */
  readonly priorityBoost: number;
  readonly matchedKeywords: readonly string[];
}

const SPECIFICITY_CAP = 0.2;

/** Scores one tool by the formula in docs/search-and-scoring.md. */
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
