import { LIMITS } from '../../core/limits.js';
import { publicMessage } from '../../core/public-message.js';
import { withoutHidden } from '../../core/visible-text.js';

/** Returns true for a text with invisible characters or characters that turn its direction. */
export function hasHidden(text: string): boolean {
  return withoutHidden(text) !== text;
}

/** Returns a text of a server without hidden characters, trimmed and cut at a length. `changes` lists the corrections. */
export function cleanText(
  text: string,
  longest: number,
): { readonly text: string; readonly changes: readonly string[] } {
  const changes: string[] = [];
  // Text far beyond the length is dropped unread.
  const start = text.slice(0, 4 * longest);
  const visible = withoutHidden(start);
  if (visible !== start) changes.push('hidden characters were taken out');
  let clean = visible.trim();
  if (clean.length > longest || text.length > 4 * longest) {
    clean = clean.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '');
    changes.push(`it was cut at ${longest} of ${text.length} characters`);
  }
  return { text: clean, changes };
}

/** Returns a server's text for a message: in quotes, short, and without hidden characters. */
export function quoted(name: string): string {
  return JSON.stringify(cleanText(publicMessage(name), 100).text);
}

/** Returns a short text of a server without hidden characters; `undefined` for blank or long texts and other values. */
export function labelOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > LIMITS.labelLength) return undefined;
  return cleanText(value, LIMITS.labelLength).text || undefined;
}

/** A fact about a server or its tools that operators should know. */
export interface McpFinding {
  /**
   * - refused: the tool is left out
   * - changed: a part of the tool was corrected or left out
   * - duplicate: the server lists the name twice; the first tool is used
   * - look-alike: the tool may be mistaken for another one
   * - hidden-text: a text has characters that users do not see
   * - mixed-alphabets: a word has letters of two alphabets that look alike
   * - instruction-text: a text tells models what to do instead of what the tool does
   * - quarantined: the tool's definition is not the pinned one, so it cannot be called
   * - unavailable: the tool is listed but cannot be called
   * - unreachable: the server could not be asked
   * - disabled: the settings name the server but are not enabled
   * - settings: a setting is wrong, has no effect, or is not enough
   * - unanswered: the server has not answered yet
   */
  readonly kind:
    | 'refused'
    | 'changed'
    | 'duplicate'
    | 'look-alike'
    | 'hidden-text'
    | 'mixed-alphabets'
    | 'instruction-text'
    | 'quarantined'
    | 'unavailable'
    | 'unreachable'
    | 'disabled'
    | 'settings'
    | 'unanswered';
  readonly server: string;
  /** The tool's name at the server, in quotes and without hidden characters; missing for a finding about the server. */
  readonly tool?: string;
  readonly message: string;
  /** The place of the text: a JSON pointer into the tool, and the index of the character (UTF-16, from 0). */
  readonly place?: { readonly path: string; readonly offset: number };
}

/** Makes a finding. @param toolName as the server sent it. */
export function findingOf(
  kind: McpFinding['kind'],
  server: string,
  message: string,
  toolName?: string,
  place?: McpFinding['place'],
): McpFinding {
  return Object.freeze({
    kind,
    server,
    ...(toolName === undefined ? {} : { tool: quoted(toolName) }),
    message,
    ...(place === undefined ? {} : { place: Object.freeze(place) }),
  });
}
