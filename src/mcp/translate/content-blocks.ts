import type { ContentBlock } from '@modelcontextprotocol/server';
import { isPlainObject, without } from '../../core/plain-data.js';
import {
  audio,
  describePart,
  file,
  image,
  resourceLink,
  text,
  textOfFile,
  type Audience,
  type ContentPart,
} from '../../tool/content.js';

type Block = Readonly<Record<string, unknown>>;

/**
 * Returns a server's content block as a part of a result. An unreadable block becomes a text that
 * says so, and doesn't affect the other blocks.
 */
export function partOfBlock(block: Block): ContentPart {
  try {
    return readBlock(block, audienceIn(block['annotations']));
  } catch {
    return text(
      `[${String(block['type']).slice(0, 64)}: this part can't be read, or is larger than 32 MiB]`,
    );
  }
}

function readBlock(
  { type, text: words, data, mimeType, uri, name, title, description, size, resource }: Block,
  options: { readonly audience?: readonly Audience[] },
): ContentPart {
  switch (type) {
    case 'text':
      return text(words as string, options);
    case 'image':
      return image(inline(mimeType, data), mimeType as string, options);
    case 'audio':
      return audio(inline(mimeType, data), mimeType as string, options);
    case 'resource_link':
      return resourceLink(uri as string, {
        ...options,
        ...texts({ name: title ?? name, description, mediaType: mimeType }),
        ...(typeof size === 'number' && { size }),
      });
    case 'resource': {
      const { uri: address, mimeType: kind, text: content, blob } = resource as Block;
      const mediaType =
        typeof kind === 'string'
          ? kind
          : typeof content === 'string'
            ? 'text/plain'
            : 'application/octet-stream';
      return file(
        typeof content === 'string' ? new TextEncoder().encode(content) : inline(mediaType, blob),
        mediaType,
        { ...options, ...texts({ name: address }) },
      );
    }
    default:
      throw new TypeError('a block of an unknown kind');
  }
}

function inline(mediaType: unknown, data: unknown): string {
  if (typeof data !== 'string') throw new TypeError('a block without data');
  return `data:${String(mediaType)};base64,${data}`;
}

function texts(fields: Block): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(fields).filter(
      (field): field is [string, string] => typeof field[1] === 'string' && field[1] !== '',
    ),
  );
}

function audienceIn(annotations: unknown): { readonly audience?: readonly Audience[] } {
  const listed = isPlainObject(annotations) ? annotations['audience'] : undefined;
  const audience = Array.isArray(listed)
    ? listed.filter((reader): reader is Audience => reader === 'user' || reader === 'assistant')
    : [];
  return audience.length === 0 ? {} : { audience };
}

/**
 * Returns a part of a result as a content block. A part that only has a URL becomes a link, because
 * the protocol has no images by URL.
 */
export function blockOfPart(part: ContentPart): ContentBlock {
  const annotations = part.audience && { audience: [...part.audience] };
  if (part.type === 'text') return without({ type: part.type, text: part.text, annotations });
  const more = { mimeType: part.mediaType, size: part.size, annotations };
  if (part.type === 'resource_link') {
    const { type, uri, name, description } = part;
    return without({ type, uri, name, description, ...more });
  }
  const { type, mediaType, data, url, name } = part;
  if (data === undefined)
    return without({
      type: 'resource_link' as const,
      uri: url!,
      name: name ?? describePart({ type, mediaType }),
      ...more,
    });
  if (type !== 'file') return without({ type, data, mimeType: mediaType, annotations });
  const uri =
    name !== undefined && URL.canParse(name)
      ? name
      : `attachment:///${encodeURIComponent(name ?? 'file')}`;
  const content = textOfFile(part);
  return without({
    type: 'resource' as const,
    resource: {
      uri,
      mimeType: mediaType,
      ...(content === undefined ? { blob: data } : { text: content }),
    },
    annotations,
  });
}
