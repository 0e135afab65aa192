import { compareText } from '../../core/plain-data.js';
import { readableText, splitWords, type Word } from '../text/split-words.js';
import { stem } from '../text/stem.js';

/**
 * Finds which keywords occur in a text, in time that depends on the text and not on how many keywords there are.
 *
 * A keyword is looked up by its *form*: the stems of its words joined by a space. Every run of words in the text is
 * looked up the same way, so keywords match whole words (never inside `latest`), in any inflection, and phrases match
 * only word by word in order. An identifier in the text matches by its parts too (`gitDiff` has "git diff"), unless some
 * keyword is the whole identifier: then `GitHub` is github and not git.
 */
export class KeywordIndex {
  /** form → the keywords that have it; a set only where there are several, as most have one. */
  readonly #forms = new Map<string, string | Set<string>>();
  /** How many forms have how many words: a text is searched for runs up to the longest. */
  readonly #formsOfLength = new Map<number, number>();
  /** Keywords get their form when somebody first asks: many programs register tools and match no text. */
  #pending: string[] = [];

  /** Adds a keyword that is not there yet. One without letters or digits is never found. */
  add(keyword: string): void {
    this.#pending.push(keyword);
  }

  remove(keyword: string): void {
    this.#addPending();
    const words = keywordForm(keyword);
    const form = words.join(' ');
    const known = this.#forms.get(form);
    if (known === undefined || (typeof known === 'string' && known !== keyword)) return;
    if (known instanceof Set) {
      known.delete(keyword);
      if (known.size > 0) return;
    }
    this.#forms.delete(form);
    const forms = this.#formsOfLength.get(words.length)! - 1;
    if (forms > 0) this.#formsOfLength.set(words.length, forms);
    else this.#formsOfLength.delete(words.length);
  }

  /** The keywords in the text, each once, in order of appearance. */
  find(text: string): ReadonlySet<string> {
    this.#addPending();
    const found = new Set<string>();
    const words = splitWords(readableText(text));
    this.#findRuns(words.map(({ whole }) => stem(whole)), found);
    if (words.some(({ parts }) => parts.length > 1)) this.#findRuns(words.flatMap((word) => this.#partsOf(word)), found);
    return found;
  }

  #addForm(keyword: string): void {
    const words = keywordForm(keyword);
    if (words.length === 0) return;
    const form = words.join(' ');
    const known = this.#forms.get(form);
    if (known === undefined) this.#formsOfLength.set(words.length, (this.#formsOfLength.get(words.length) ?? 0) + 1);
    if (known instanceof Set) known.add(keyword);
    else this.#forms.set(form, known === undefined ? keyword : new Set([known, keyword]));
  }

  #addPending(): void {
    for (const keyword of this.#pending) this.#addForm(keyword);
    this.#pending = [];
  }

  #partsOf({ whole, parts }: Word): string[] {
    const form = stem(whole);
    return this.#forms.has(form) ? [form] : parts.map(stem);
  }

  #findRuns(stems: readonly string[], found: Set<string>): void {
    const longest = Math.max(0, ...this.#formsOfLength.keys());
    for (let start = 0; start < stems.length; start++) {
      let form = '';
      for (let length = 1; length <= longest && start + length <= stems.length; length++) {
        form = length === 1 ? stems[start]! : `${form} ${stems[start + length - 1]!}`;
        const known = this.#forms.get(form);
        if (typeof known === 'string') found.add(known);
        // Sorted, so that the order does not tell which tool came first.
        else if (known !== undefined) for (const keyword of [...known].sort(compareText)) found.add(keyword);
      }
    }
  }
}

/** The stems of a keyword's words; empty for one without letters or digits, which can never match. */
export function keywordForm(keyword: string): readonly string[] {
  return splitWords(keyword).map(({ whole }) => stem(whole));
}
