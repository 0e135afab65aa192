import { LIMITS } from '../../core/limits.js';
import { publicMessage } from '../../core/public-message.js';
import { withoutHidden } from '../../core/visible-text.js';

/** Returns true for a text with characters that nobody sees, or that turn its direction. */
export function hasHidden(text: string): boolean {
  return withoutHidden(text) !== text;
}

/** Returns a text of a server without hidden characters, trimmed and cut at a length; `changes` says what was done to it. */
export function cleanText(
  text: string,
  longest: number,
): { readonly text: string; readonly changes: readonly string[] } {
  const changes: string[] = [];
  // What is far beyond the length is dropped first: it need not be looked at.
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

/** Returns a name of a server as messages show it: in quotes, short, with nothing hidden. */
export function quoted(name: string): string {
  return JSON.stringify(cleanText(publicMessage(name), 100).text);
}

/** Returns a short text of a server without hidden characters; `undefined` for a blank or longer one, and for anything else. */
export function labelOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > LIMITS.labelLength) return undefined;
  return cleanText(value, LIMITS.labelLength).text || undefined;
}

/** A fact about a server or its tools that an operator should know. */
export interface McpFinding {
  /**
   * - refused: the tool is left out
   * - changed: something in it was put right, or left out
   * - duplicate: the server lists the name twice; the first is used
   * - look-alike: it may be taken for another tool
   * - hidden-text: a text of it has characters that users do not see
   * - mixed-alphabets: a word of it has letters of two alphabets that look the same
   * - instruction-text: a text of it tells models what to do, and not what the tool does
   * - quarantined: the tool's definition is not the pinned one; it cannot be called
   * - unavailable: the tool is listed, and cannot be called
   * - unreachable: the server could not be asked
   * - disabled: the settings name the server, and are not enabled
   * - settings: the settings say something that is not understood, that has no effect, or that is not enough
   * - unanswered: the server is asked still
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
  /** The tool as its server calls it, in quotes and with nothing hidden; missing where it has no name, or where it is about the server. */
  readonly tool?: string;
  readonly message: string;
  /** The place of a text that it is about: a JSON pointer into the tool, and the character there (UTF-16, from 0). */
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
