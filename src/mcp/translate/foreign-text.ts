import { publicMessage } from '../../core/public-message.js';

/**
 * Characters nobody sees and models read, by which servers hide instructions: control characters but line breaks and
 * tabs, halves of surrogate pairs, and all that is drawn as nothing (zero-width blanks, marks that turn the direction of
 * writing, tags). The joiners U+200C and U+200D and the emoji selectors stay: Persian, Hindi and emoji need them.
 */
const HIDDEN = /(?![\t\n\r])\p{Cc}|\p{Surrogate}|(?!\u200C|\u200D|\uFE0E|\uFE0F)\p{Default_Ignorable_Code_Point}/gu;

/** Whether a text has characters that nobody sees. */
export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) !== -1;
}

/** A text of a server without hidden characters, trimmed and cut at a length; `changes` says what was done to it. */
export function cleanText(text: string, longest: number): { readonly text: string; readonly changes: readonly string[] } {
  const changes: string[] = [];
  // What is far beyond the length is dropped first: it need not be looked at.
  let clean = text.slice(0, 4 * longest);
  if (hasHidden(clean)) {
    clean = clean.replace(HIDDEN, '');
    changes.push('hidden characters were taken out');
  }
  clean = clean.trim();
  if (clean.length > longest || text.length > 4 * longest) {
    clean = clean.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '');
    changes.push(`it was cut at ${longest} of ${text.length} characters`);
  }
  return { text: clean, changes };
}

/** A name of a server as messages show it: in quotes, short, with nothing hidden. */
export function quoted(name: string): string {
  const { text } = cleanText(publicMessage(name), 100);
  return JSON.stringify(text);
}
