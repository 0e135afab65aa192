import { file, image, type ContentPart } from '../../src/index.js';

/** Media types that models can look at, and the bytes that such files start with. */
const KINDS: readonly (readonly [mediaType: string, beginning: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
  ['application/pdf', /^%PDF-/],
];

/**
 * Recognizes an image or PDF by its first bytes, and returns its media type and content. Returns
 * `undefined` for anything else.
 */
export function mediaContent(
  bytes: Uint8Array,
  name: string,
): { readonly mediaType: string; readonly part: ContentPart } | undefined {
  const beginning = String.fromCharCode(...bytes.subarray(0, 16));
  const mediaType = KINDS.find(([, pattern]) => pattern.test(beginning))?.[0];
  if (mediaType === undefined) return undefined;
  const options = name === '' ? {} : { name: name.slice(0, 256) };
  return {
    mediaType,
    part: (mediaType === 'application/pdf' ? file : image)(bytes, mediaType, options),
  };
}
