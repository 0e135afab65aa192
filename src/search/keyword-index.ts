import { LIMITS } from '../core/limits.js';
import { splitWords, type Word } from './split-words.js';
import { stem } from './stem.js';

/**
 * Finds which tools' keywords occur in a text, in time that depends on the text and not on the number of tools.
 *
 * A keyword is looked up by its *form*: the stems of its words joined by a space. Every run of words in the text is
 * looked up the same way, so keywords match whole words (never inside `latest`), in any inflection, and phrases match
 * only word by word in order. An identifier in the text matches by its parts too (`gitDiff` has "git diff"), unless some
 * keyword is the whole identifier: then `GitHub` is github and not git.
 */
export class KeywordIndex {
  /** form → keyword as declared → tools that declare it. */
  readonly #keywords = new Map<string, Map<string, Set<string>>>();
  /** How many forms have how many words: a text is searched for runs up to the longest. */
  readonly #formsOfLength = new Map<number, number>();

  add(tool: string, keywords: readonly string[]): void {
    for (const keyword of keywords) {
      const form = keywordForm(keyword);
      if (form.length === 0) continue;
      const key = form.join(' ');
      let declared = this.#keywords.get(key);
      if (declared === undefined) {
        this.#keywords.set(key, (declared = new Map<string, Set<string>>()));
        this.#formsOfLength.set(form.length, (this.#formsOfLength.get(form.length) ?? 0) + 1);
      }
      const tools = declared.get(keyword);
      if (tools === undefined) declared.set(keyword, new Set([tool]));
      else tools.add(tool);
    }
  }

  remove(tool: string, keywords: readonly string[]): void {
    for (const keyword of keywords) {
      const form = keywordForm(keyword);
      const key = form.join(' ');
      const declared = this.#keywords.get(key);
      const tools = declared?.get(keyword);
      if (declared === undefined || tools === undefined) continue;
      tools.delete(tool);
      if (tools.size === 0) declared.delete(keyword);
      if (declared.size > 0) continue;
      this.#keywords.delete(key);
      const left = (this.#formsOfLength.get(form.length) ?? 1) - 1;
      if (left === 0) this.#formsOfLength.delete(form.length);
      else this.#formsOfLength.set(form.length, left);
    }
  }

  /** The tools with at least one keyword in the text, each with its keywords found, in order of appearance. */
  match(text: string): Map<string, string[]> {
    const found = new Map<string, Set<string>>();
    const words = splitWords(text.slice(0, LIMITS.queryLength));
    this.#matchRuns(words.map(({ whole }) => stem(whole)), found);
    if (words.some(({ parts }) => parts.length > 1)) this.#matchRuns(words.flatMap((word) => this.#partsOf(word)), found);
    return new Map([...found].map(([tool, keywords]) => [tool, [...keywords]]));
  }

  #partsOf({ whole, parts }: Word): string[] {
    const form = stem(whole);
    return this.#keywords.has(form) ? [form] : parts.map(stem);
  }

  #matchRuns(stems: readonly string[], found: Map<string, Set<string>>): void {
    const longest = Math.max(0, ...this.#formsOfLength.keys());
    for (let start = 0; start < stems.length; start++) {
      let form = '';
      for (let length = 1; length <= longest && start + length <= stems.length; length++) {
        form = length === 1 ? stems[start]! : `${form} ${stems[start + length - 1]!}`;
        for (const [keyword, tools] of this.#keywords.get(form) ?? []) {
          for (const tool of tools) {
            const keywords = found.get(tool);
            if (keywords === undefined) found.set(tool, new Set([keyword]));
            else keywords.add(keyword);
          }
        }
      }
    }
  }
}

/** The stems of a keyword's words; empty for one without letters or digits, which can never match. */
export function keywordForm(keyword: string): readonly string[] {
  return splitWords(keyword).map(({ whole }) => stem(whole));
}
