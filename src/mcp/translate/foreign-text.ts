import { isPlainObject, without } from '../../core/plain-data.js';
import { LIMITS } from '../../core/limits.js';
import { publicMessage } from '../../core/public-message.js';
import { withoutHidden } from '../../core/visible-text.js';

/** Returns true for a text with invisible characters or characters that reverse its direction. */
export function hasHidden(text: string): boolean {
  return withoutHidden(text) !== text;
}

/** Returns a server's text without hidden characters, trimmed and cut at a maximum length. */
export function cleanText(text: string, longest: number): string {
  // Text far beyond the maximum length isn't even read.
  return withoutHidden(text.slice(0, 4 * longest))
    .trim()
    .slice(0, longest)
    .replace(/[\uD800-\uDBFF]$/, '');
}

/** Returns a server's text for a message: quoted, short, and without hidden characters. */
export function quoted(name: string): string {
  return JSON.stringify(cleanText(publicMessage(name), 100));
}

/**
 * Returns a short text that a server sent, with hidden characters removed. Returns `undefined` for
 * blank texts, long texts, and values that aren't text.
 */
export function labelOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > LIMITS.labelLength) return undefined;
  return cleanText(value, LIMITS.labelLength) || undefined;
}

/** Returns the objects in a list that a server sent. */
export function itemsIn(
  value: unknown,
  field: string,
): readonly Readonly<Record<string, unknown>>[] {
  const items = isPlainObject(value) ? value[field] : undefined;
  return Array.isArray(items) ? items.filter(isPlainObject) : [];
}

/** A problem or suspicion about a server or its tools. */
export interface McpFinding {
  /**
   * - refused: the tool isn't used
   * - changed: part of the tool was dropped or is read in a certain way
   * - duplicate: the server lists the name twice; the first tool is used
   * - look-alike: the tool may be mistaken for another
   * - hidden-text: a text contains characters that users don't see
   * - mixed-alphabets: a word mixes look-alike letters of two alphabets
   * - instruction-text: a text tells models what to do instead of describing the tool
   * - quarantined: the tool's definition doesn't match its pin, so it can't be called
   * - unreachable: the server couldn't be contacted
   * - disabled: the settings contain the server, but MCP isn't enabled in them
   * - settings: a setting is wrong, has no effect, or isn't enough
   * - unanswered: the server hasn't responded yet
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
    | 'unreachable'
    | 'disabled'
    | 'settings'
    | 'unanswered';
  readonly server: string;
  /**
   * The tool's name at the server, quoted and without hidden characters. Missing for a finding
   * about the server.
   */
  readonly tool?: string;
  readonly message: string;
  /**
   * The location of the text: a JSON pointer into the tool's definition, and the character's index
   * (UTF-16, from 0).
   */
  readonly place?: { readonly path: string; readonly offset: number };
  /** The end of the stderr of an unreachable server's process, without secrets and paths. */
  readonly stderr?: string;
}

/** Creates a finding. @param toolName The name as the server sent it. */
export function findingOf(
  kind: McpFinding['kind'],
  server: string,
  message: string,
  toolName?: string,
  place?: McpFinding['place'],
): McpFinding {
  const tool = toolName === undefined ? undefined : quoted(toolName);
  return Object.freeze(
    without({ kind, server, tool, message, place: place && Object.freeze(place) }),
  );
}
