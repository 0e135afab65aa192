import { isPlainObject, type Json } from '../../core/plain-data.js';
import { withoutSecrets } from '../../core/public-message.js';
import { fail, ok, type ToolResult } from '../../tool/outcome.js';

/** Characters of an image, a sound or a file (base64) that are passed on: 1 Mi. */
const MAX_DATA_LENGTH = 2 ** 20;
/** Characters of a failure's text. */
const MAX_FAILURE_LENGTH = 8_192;

/**
 * What a server's answer to a call is to us: its structured content, or else its text, or else its parts as plain data.
 *
 * `isError` makes it the tool's failure, with the text as its message. Data longer than 1 Mi characters is left out of a
 * part, which then says `omitted`, its length.
 */
export function callResult(result: unknown): ToolResult {
  const { content, structuredContent, isError } = (isPlainObject(result) ? result : {}) as { content?: unknown; structuredContent?: Json; isError?: unknown };
  const parts = Array.isArray(content) ? content.filter(isPlainObject) : [];
  const texts = parts.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []));
  if (isError === true) return fail(failureText(texts));
  return ok(structuredContent ?? (texts.length === parts.length ? textOf(texts) : parts.map(partOf)));
}

function textOf(texts: readonly string[]): string | null {
  return texts.length === 0 ? null : texts.join('\n');
}

/** The model needs the paths in it as much as those in a result; failures of servers, though, often quote their settings. */
function failureText(texts: readonly string[]): string {
  const text = texts.join('\n').trim();
  if (text === '') return 'the tool failed and did not say why';
  const shown = text.slice(0, MAX_FAILURE_LENGTH).split('\n').map(withoutSecrets).join('\n');
  return text.length <= MAX_FAILURE_LENGTH ? shown : `${shown}… (cut)`;
}

/** A content block without its annotations, and bounded. */
function partOf(part: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { type, text, data, mimeType, uri, name, title, description, resource } = part;
  switch (type) {
    case 'text':
      return { type, text };
    case 'image':
    case 'audio':
      return { type, mimeType, ...bounded('data', data) };
    case 'resource_link':
      return { type, uri, name, title, description, mimeType };
    case 'resource': {
      const { uri: address, mimeType: kind, text: content, blob } = isPlainObject(resource) ? resource : {};
      return { type, uri: address, mimeType: kind, ...(typeof content === 'string' ? { text: content } : bounded('blob', blob)) };
    }
    default:
      return { type };
  }
}

function bounded(field: string, data: unknown): Record<string, unknown> {
  return typeof data === 'string' && data.length > MAX_DATA_LENGTH ? { omitted: data.length } : { [field]: data };
}
