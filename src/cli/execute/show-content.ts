import { bytesOf, sha256Of } from '../../core/crypto.js';
import type { ToolOutcome } from '../../safety/calls.js';
import { describePart, type ContentPart } from '../../tool/content.js';

/**
 * Describes the parts of a result as text: text that isn't part of the value, and the kind and size
 * of everything else.
 */
export function contentTexts(outcome: ToolOutcome): readonly string[] {
  if (!('content' in outcome) || outcome.content === undefined) return [];
  const { value } = outcome;
  const isShown = (text: string) =>
    typeof value === 'string'
      ? value.includes(text)
      : [undefined, 2].some((indent) => text === JSON.stringify(value, null, indent));
  return outcome.content
    .filter((part) => part.type !== 'text' || !isShown(part.text))
    .map(describePart);
}

/** Returns a part as plain data, with bytes replaced by their size and SHA-256. */
export function contentToJson(part: ContentPart): object {
  if (!('data' in part) || part.data === undefined) return part;
  const { data, ...rest } = part;
  const bytes = bytesOf(data);
  return { ...rest, size: bytes.length, digest: sha256Of(bytes) };
}
