import type { Json } from '../../core/plain-data.js';
import { describePart, textOfFile, type ContentPart } from '../../tool/content.js';

/** The answer of a tool with parts, as the AI SDK takes it; a text where all parts are text. */
export type AISDKContent = { readonly type: 'text'; readonly value: string } | { readonly type: 'content'; readonly value: readonly Json[] };

/** Returns the parts of a result in the shapes of the AI SDK 6; links, audio by address and files of text are words. */
export function aiSdkContent(parts: readonly ContentPart[]): AISDKContent {
  const value = parts.map(aiSdkPart);
  return value.every(({ type }) => type === 'text') ? { type: 'text', value: value.map(({ text }) => text).join('\n') } : { type: 'content', value };
}

function aiSdkPart(part: ContentPart): { readonly type: string; readonly [field: string]: string } {
  if (part.type === 'text' || part.type === 'resource_link' || textOfFile(part) !== undefined) return { type: 'text', text: describePart(part) };
  const { type, mediaType, data, url, name } = part;
  if (type === 'image') return data === undefined ? { type: 'image-url', url: url! } : { type: 'image-data', data, mediaType };
  if (data === undefined) return type === 'audio' ? { type: 'text', text: describePart(part) } : { type: 'file-url', url: url! };
  return { type: 'file-data', data, mediaType, ...(name !== undefined && { filename: name }) };
}
