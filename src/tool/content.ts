import { z } from 'zod';
import { base64Of, base64Size, bytesOf } from '../core/crypto.js';
import { expectedGot, invalidArgument } from '../core/issues.js';
import { checkOptions, once, type FieldsOf } from '../core/options.js';
import { cloneFrozen } from '../core/plain-data.js';
import { ToolError } from '../core/errors.js';

/**
 * The intended reader of a content part. A part without an audience is for the user and the model.
 */
export type Audience = 'user' | 'assistant';

interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly audience?: readonly Audience[];
}

/** An image, audio, or file, as bytes or as a URL. */
export interface MediaPart {
  readonly type: 'image' | 'audio' | 'file';
  /** The media type, such as `image/png`. */
  readonly mediaType: string;
  /** The bytes as base64. Missing if the part has a `url`. */
  readonly data?: string;
  readonly url?: string;
  /** The number of bytes, if known. */
  readonly size?: number;
  readonly name?: string;
  readonly audience?: readonly Audience[];
}

interface LinkPart {
  readonly type: 'resource_link';
  readonly uri: string;
  readonly name: string;
  readonly description?: string;
  readonly mediaType?: string;
  readonly size?: number;
  readonly audience?: readonly Audience[];
}

/**
 * A part of a tool's result in addition to its value: text, an image, audio, a file, or a link.
 * Parts are frozen plain data.
 */
export type ContentPart = TextPart | MediaPart | LinkPart;

type Readers = Pick<TextPart, 'audience'>;
type MediaOptions = Pick<MediaPart, 'audience' | 'name'>;

/** The maximum size of one image, audio, or file: 32 MiB. */
const MOST_BYTES = 32 * 2 ** 20;
/** The maximum total size of all parts of one result: 128 MiB, counting bytes and characters. */
const MOST_IN_ALL = 4 * MOST_BYTES;
/** The maximum number of parts in one result. */
export const MOST_PARTS = 100;

const audience = () =>
  z
    .array(z.enum(['user', 'assistant']))
    .min(1)
    .optional();
const words = () => z.string().min(1).max(1_024);
const uri = () =>
  z
    .string()
    .max(8_192)
    .refine((text) => URL.canParse(text), 'an absolute URL');
const mediaType = () =>
  z.string().regex(/^[\w.+-]{1,64}\/[\w.+-]{1,128}(?:\s*;.{0,256})?$/, {
    error: 'a media type such as image/png',
  });
const size = () => z.int().min(0).optional();

/**
 * Returns a text part. Models read the text instead of the value's JSON. Blank text isn't shown to
 * models.
 */
export function text(text: string, options: Readers = {}): ContentPart {
  return checkedPart({ ...options, type: 'text', text });
}

/**
 * Returns an image part from bytes or a URL. @throws ToolError `INVALID_ARGUMENT` if the source is
 * neither bytes nor a URL, the media type isn't an image type, the base64 isn't valid, or the image
 * is larger than 32 MiB.
 */
export function image(
  source: Uint8Array | string | URL,
  mediaType: string,
  options: MediaOptions = {},
): ContentPart {
  return media('image', source, mediaType, options);
}

/** Returns an audio part. Works like `image`. */
export function audio(
  source: Uint8Array | string | URL,
  mediaType: string,
  options: MediaOptions = {},
): ContentPart {
  return media('audio', source, mediaType, options);
}

/** Returns a file part. Works like `image`, and also shows the file's `name`. */
export function file(
  source: Uint8Array | string | URL,
  mediaType: string,
  options: MediaOptions = {},
): ContentPart {
  return media('file', source, mediaType, options);
}

/**
 * Returns a link that the reader can fetch. `size` is in bytes. `name` defaults to the last part of
 * the URL.
 */
export function resourceLink(
  uri: string,
  options: Partial<Omit<LinkPart, 'type' | 'uri'>> = {},
): ContentPart {
  return checkedPart({ name: nameIn(uri), ...options, type: 'resource_link', uri });
}

function nameIn(uri: unknown): string {
  return (
    String(uri)
      .replace(/[?#].*$/, '')
      .split('/')
      .filter(Boolean)
      .at(-1)
      ?.slice(0, 1_024) ?? 'resource'
  );
}

function media(
  type: MediaPart['type'],
  source: unknown,
  mediaType: string,
  options: MediaOptions,
): ContentPart {
  const url = source instanceof URL ? source.href : source;
  const inline = typeof url === 'string' ? /^data:[^,]*;base64,/.exec(url)?.[0] : undefined;
  const data =
    source instanceof Uint8Array
      ? base64Of(source)
      : inline && (url as string).slice(inline.length);
  return checkedPart({
    ...options,
    type,
    mediaType,
    ...(data === undefined ? { url } : { data, size: base64Size(data) }),
  });
}

/** Parts that have already been checked. Frozen parts don't need to be checked again. */
const CHECKED = new WeakSet<object>();

function checkedPart(value: unknown): ContentPart {
  if (typeof value === 'object' && value !== null && CHECKED.has(value))
    return value as ContentPart;
  const part = cloneFrozen(checkOptions(PART, value, 'fields of a content part'));
  CHECKED.add(part);
  return part as ContentPart;
}

const MADE_BY = 'Create the parts with text, image, audio, file, or resourceLink.';

const PART = once(() =>
  z.discriminatedUnion(
    'type',
    [
      z.strictObject({
        type: z.literal('text'),
        text: z.string(),
        audience: audience(),
      } satisfies FieldsOf<TextPart>),
      z
        .strictObject({
          type: z.enum(['image', 'audio', 'file']),
          mediaType: mediaType(),
          data: z
            .string()
            .refine(
              (data) => (base64Size(data) ?? Infinity) <= MOST_BYTES,
              'standard base64 with its padding, of at most 32 MiB',
            )
            .optional(),
          url: uri().optional(),
          size: size(),
          name: words().optional(),
          audience: audience(),
        } satisfies FieldsOf<MediaPart>)
        .refine(
          ({ data, url }) => (data === undefined) !== (url === undefined),
          'either data or url',
        )
        .refine(
          ({ type, mediaType }) =>
            type === 'file' || mediaType.toLowerCase().startsWith(`${type}/`),
          {
            path: ['mediaType'],
            error: 'a media type of the same kind as the part, such as image/png for an image',
          },
        ),
      z.strictObject({
        type: z.literal('resource_link'),
        uri: uri(),
        name: words(),
        description: z.string().optional(),
        mediaType: mediaType().optional(),
        size: size(),
        audience: audience(),
      } satisfies FieldsOf<LinkPart>),
    ],
    { error: 'a part created by text, image, audio, file, or resourceLink' },
  ),
);

/**
 * Returns the checked and frozen content of a result.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the content isn't a list of at most 100 parts made by the
 * helpers, or is larger than 128 MiB in total.
 */
export function checkContent(value: unknown): readonly ContentPart[] {
  if (!Array.isArray(value) || value.length > MOST_PARTS)
    throw invalidArgument(`content as a list of at most ${MOST_PARTS} parts`, value, MADE_BY);
  const parts = value.map(checkedPart);
  const total = parts.reduce(
    (sum, part) =>
      sum + (part.type === 'text' ? part.text.length : 'data' in part ? base64Size(part.data)! : 0),
    0,
  );
  if (total > MOST_IN_ALL)
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        `content of at most ${sizeText(MOST_IN_ALL)} in total`,
        sizeText(total),
        'Upload it somewhere, and pass its URL instead.',
      ),
    );
  return Object.freeze(parts);
}

/** Returns true if the part is meant for models. */
export function isForModel({ audience }: ContentPart): boolean {
  return audience?.includes('assistant') ?? true;
}

/**
 * Returns a description (kind and size) of a part that the recipient can't receive. For a text
 * file, the description is the file's text.
 */
export function describePart(part: ContentPart): string {
  if (part.type === 'text') return part.text;
  const text = textOfFile(part);
  if (text !== undefined) return part.name === undefined ? text : `${part.name}:\n${text}`;
  const { mediaType, name, size } = part;
  const facts = [mediaType, size === undefined ? undefined : sizeText(size)]
    .filter((fact) => fact !== undefined)
    .join(', ');
  const label =
    part.type === 'resource_link'
      ? `link to ${part.name}`
      : name === undefined
        ? part.type
        : `${part.type} ${name}`;
  const address = part.type === 'resource_link' ? part.uri : part.url;
  return `[${label}${facts === '' ? '' : `: ${facts}`}${address === undefined ? '' : `, ${address}`}]`;
}

/** Returns a byte count as human-readable text. */
function sizeText(bytes: number): string {
  return bytes < 1_024
    ? `${bytes} bytes`
    : bytes < 2 ** 20
      ? `${Math.round(bytes / 1_024)} KiB`
      : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

const TEXT_TYPE =
  /^(?:text\/|application\/(?:json|xml|yaml|toml|javascript|sql)\b|[^;]+\+(?:json|xml)\b)/i;

/**
 * The decoded text of files, cached because it's read several times. `null` if the file isn't valid
 * UTF-8.
 */
const DECODED = new WeakMap<ContentPart, string | null>();

/** Returns a file's text if its media type is textual, or `undefined` for any other part. */
export function textOfFile(part: ContentPart): string | undefined {
  if (part.type !== 'file' || part.data === undefined || !TEXT_TYPE.test(part.mediaType))
    return undefined;
  if (!DECODED.has(part)) DECODED.set(part, decoded(part.data));
  return DECODED.get(part) ?? undefined;
}

function decoded(data: string): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(data));
  } catch {
    return null;
  }
}
