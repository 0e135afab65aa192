import { describePart, textOfFile, type ContentPart, type MediaPart } from '../../tool/content.js';

/** A content part in one target's format. */
type Shape = { readonly type: string } & Readonly<Record<string, unknown>>;

/**
 * Returns the parts of a result in a target's format. If all parts can be written as text, returns
 * a single text.
 *
 * @param shapeOf Returns an image, audio, or file in the target's format, or `undefined` if the
 * target doesn't support it. Unsupported parts are described as text, because a service would
 * reject the whole request.
 */
function shaped<S extends Shape>(
  parts: readonly ContentPart[],
  words: (text: string) => S,
  shapeOf: (part: ServicePart) => S | undefined,
): string | S[] {
  const shapes = parts.map((part) => (isMedia(part) ? shapeOf(asService(part)) : undefined));
  const inWords = (part: ContentPart) =>
    isMedia(part)
      ? `${describePart(part)} (not shown: models can't read it here)`
      : describePart(part);
  if (shapes.every((shape) => shape === undefined)) return parts.map(inWords).join('\n');
  return parts.map((part, at) => shapes[at] ?? words(inWords(part)));
}

/**
 * Returns true for an image, audio or file that isn't text. Text files are sent to every target as
 * text.
 */
function isMedia(part: ContentPart): part is MediaPart {
  return part.type !== 'text' && part.type !== 'resource_link' && textOfFile(part) === undefined;
}

/** The image and document types that model services accept. */
const IMAGES = /^image\/(?:jpeg|png|gif|webp)$/;
const DOCUMENTS =
  /^application\/(?:pdf|rtf|msword|vnd\.(?:ms-(?:excel|powerpoint)|openxmlformats-officedocument\..*))$/;

type ServicePart = MediaPart & { readonly kind: 'image' | 'audio' | 'document' | undefined };
/**
 * Returns a part with its kind, and with its media type in lowercase and without parameters. A file
 * that contains an image is treated as an image.
 */
function asService(part: MediaPart): ServicePart {
  const mediaType = part.mediaType
    .toLowerCase()
    .replace(/\s*;.*$/, '')
    .replace(/^image\/jpg$/, 'image/jpeg');
  const isReachable = part.url === undefined ? part.data !== '' : /^https?:/i.test(part.url);
  return {
    ...part,
    mediaType,
    kind: !isReachable
      ? undefined
      : IMAGES.test(mediaType)
        ? 'image'
        : DOCUMENTS.test(mediaType)
          ? 'document'
          : mediaType.startsWith('audio/')
            ? 'audio'
            : undefined,
  };
}

function addressOf({ mediaType, data, url }: MediaPart): string {
  return url ?? `data:${mediaType};base64,${data!}`;
}

function nameOf({ name, mediaType }: MediaPart): string {
  return name ?? `file.${/\w+$/.exec(mediaType)?.[0] ?? 'bin'}`;
}

/**
 * Returns parts for OpenAI's Responses API. (The Chat Completions API accepts only text.) Source:
 * `ResponseFunctionCallOutputItemList`.
 */
export function openAIContent(parts: readonly ContentPart[]): string | OpenAIContent[] {
  return shaped<OpenAIContent>(
    parts,
    (text) => ({ type: 'input_text', text }),
    (part) => {
      if (part.kind === 'image')
        return { type: 'input_image', image_url: addressOf(part), detail: 'auto' };
      if (part.kind !== 'document') return undefined;
      return part.url === undefined
        ? { type: 'input_file', filename: nameOf(part), file_data: addressOf(part) }
        : { type: 'input_file', file_url: part.url };
    },
  );
}

type OpenAIContent =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail: 'auto' }
  | { type: 'input_file'; filename: string; file_data: string }
  | { type: 'input_file'; file_url: string };

/** Returns parts for Anthropic. Source: `ToolResultBlockParam` in the Anthropic SDK. */
export function anthropicContent(parts: readonly ContentPart[]): string | AnthropicContent[] {
  return shaped<AnthropicContent>(
    parts,
    (text) => ({ type: 'text', text }),
    ({ kind, mediaType, data, url }) => {
      const isPdf = mediaType === 'application/pdf' && kind === 'document';
      if (url !== undefined)
        return kind === 'image'
          ? { type: 'image', source: { type: 'url', url } }
          : isPdf
            ? { type: 'document', source: { type: 'url', url } }
            : undefined;
      if (kind === 'image')
        return {
          type: 'image',
          source: { type: 'base64', media_type: mediaType as AnthropicImage, data: data! },
        };
      return isPdf
        ? { type: 'document', source: { type: 'base64', media_type: mediaType, data: data! } }
        : undefined;
    },
  );
}

type AnthropicImage = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
type AnthropicContent =
  | { type: 'text'; text: string }
  | {
      type: 'image';
      source:
        { type: 'base64'; media_type: AnthropicImage; data: string } | { type: 'url'; url: string };
    }
  | {
      type: 'document';
      source:
        | { type: 'base64'; media_type: 'application/pdf'; data: string }
        | { type: 'url'; url: string };
    };

/** The media types that Gemini accepts in a function response. */
const GEMINI_MEDIA = /^(?:image\/(?:jpeg|png|webp)|application\/pdf)$/;

/**
 * Returns images and documents for Gemini. The images and documents are sent in addition to a text
 * that describes every part. Source: `FunctionResponsePart` in the Gemini SDK, whose `fileData`
 * works only on Vertex AI.
 */
export function geminiParts(
  parts: readonly ContentPart[],
): { inlineData: { mimeType: string; data: string } }[] {
  return parts
    .filter(isMedia)
    .map(asService)
    .flatMap(({ mediaType: mimeType, data = '' }) =>
      data !== '' && GEMINI_MEDIA.test(mimeType) ? [{ inlineData: { mimeType, data } }] : [],
    );
}

/** Returns parts for LangChain. Source: the standard content blocks in `@langchain/core`. */
export function langChainContent(parts: readonly ContentPart[]): string | Shape[] {
  return shaped<Shape>(
    parts,
    (text) => ({ type: 'text', text }),
    ({ kind, mediaType, data, url, name }) =>
      kind && {
        type: kind === 'document' ? 'file' : kind,
        mimeType: mediaType,
        ...(data === undefined ? { url } : { data }),
        ...(name !== undefined && { metadata: { filename: name } }),
      },
  );
}

/** Returns parts for OpenAI Agents. Source: `ToolCallOutputContent` in `@openai/agents`. */
export function openAIAgentsContent(parts: readonly ContentPart[]): string | Shape[] {
  return shaped<Shape>(
    parts,
    (text) => ({ type: 'text', text }),
    (part) => {
      const { kind, mediaType, data, url } = part;
      if (kind === 'image')
        return { type: kind, image: data === undefined ? { url } : { data, mediaType } };
      return kind === 'document'
        ? {
            type: 'file',
            file:
              data === undefined
                ? { url, filename: nameOf(part) }
                : { data, mediaType, filename: nameOf(part) },
          }
        : undefined;
    },
  );
}

/**
 * The content of a result in the AI SDK's format. Source: `ToolResultOutput` in
 * `@ai-sdk/provider-utils`.
 */
type AISDKContent = { type: 'text'; value: string } | { type: 'content'; value: AISDKPart[] };
type AISDKPart =
  | { type: 'text'; text: string }
  | { type: 'image-data'; data: string; mediaType: string }
  | { type: 'file-data'; data: string; mediaType: string; filename?: string }
  | { type: 'image-url' | 'file-url'; url: string };

export function aiSDKContent(parts: readonly ContentPart[]): AISDKContent {
  const value = shaped<AISDKPart>(
    parts,
    (text) => ({ type: 'text', text }),
    ({ kind, mediaType, data, url, name }) => {
      if (kind === 'image')
        return data === undefined
          ? { type: 'image-url', url: url! }
          : { type: 'image-data', data, mediaType };
      if (kind === undefined || (data === undefined && kind === 'audio')) return undefined;
      return data === undefined
        ? { type: 'file-url', url: url! }
        : { type: 'file-data', data, mediaType, ...(name !== undefined && { filename: name }) };
    },
  );
  return typeof value === 'string' ? { type: 'text', value } : { type: 'content', value };
}
