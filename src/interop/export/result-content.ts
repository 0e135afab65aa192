import { describePart, textOfFile, type ContentPart } from '../../tool/content.js';

/** A part in the shape of a service or framework. */
type Shape = { readonly type: string } & Readonly<Record<string, unknown>>;
type MediaPart = Extract<ContentPart, { mediaType: string; type: 'image' | 'audio' | 'file' }>;

/**
 * Returns the parts of a result in the shapes of one target, or the words for them where none is more than words.
 *
 * @param shapeOf gives the shape of an image, a sound or a file; `undefined` for what the target cannot take, which is told in words.
 */
function shaped<S extends Shape>(parts: readonly ContentPart[], words: (text: string) => S, shapeOf: (part: MediaPart) => S | undefined): string | S[] {
  const shapes = parts.map((part) => (isMedia(part) ? shapeOf(part) : undefined));
  if (shapes.every((shape) => shape === undefined)) return parts.map(describePart).join('\n');
  return parts.map((part, at) => shapes[at] ?? words(describePart(part)));
}

/** Files of text are words to every target. */
function isMedia(part: ContentPart): part is MediaPart {
  return part.type !== 'text' && part.type !== 'resource_link' && textOfFile(part) === undefined;
}

function addressOf({ mediaType, data, url }: MediaPart): string {
  return url ?? `data:${mediaType};base64,${data!}`;
}

function nameOf({ name, mediaType }: MediaPart): string {
  return name ?? `file.${/\w+$/.exec(mediaType)?.[0] ?? 'bin'}`;
}

/** Source: `ResponseFunctionCallOutputItemList` of OpenAI's responses API; the chat API takes text alone. */
export function openAIContent(parts: readonly ContentPart[]): string | OpenAIContent[] {
  return shaped<OpenAIContent>(parts, (text) => ({ type: 'input_text', text }), (part) => {
    if (part.type === 'image') return { type: 'input_image', image_url: addressOf(part), detail: 'auto' };
    if (part.type === 'audio') return undefined;
    return part.url === undefined ? { type: 'input_file', filename: nameOf(part), file_data: addressOf(part) } : { type: 'input_file', file_url: part.url };
  });
}

type OpenAIContent =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail: 'auto' }
  | { type: 'input_file'; filename: string; file_data: string }
  | { type: 'input_file'; file_url: string };

/** The images that Anthropic takes. */
const ANTHROPIC_IMAGES = /^image\/(?:jpeg|png|gif|webp)$/;

/** Source: `ToolResultBlockParam` of Anthropic's SDK. */
export function anthropicContent(parts: readonly ContentPart[]): string | AnthropicContent[] {
  return shaped<AnthropicContent>(parts, (text) => ({ type: 'text', text }), (part) => {
    const { type, mediaType, data, url } = part;
    const isImage = type === 'image' && ANTHROPIC_IMAGES.test(mediaType);
    if (url !== undefined) return isImage ? { type: 'image', source: { type: 'url', url } } : mediaType === 'application/pdf' ? { type: 'document', source: { type: 'url', url } } : undefined;
    if (isImage) return { type: 'image', source: { type: 'base64', media_type: mediaType as AnthropicImage, data: data! } };
    return mediaType === 'application/pdf' ? { type: 'document', source: { type: 'base64', media_type: mediaType, data: data! } } : undefined;
  });
}

type AnthropicImage = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
type AnthropicContent =
  | { type: 'text'; text: string }
  | { type: 'image'; source: { type: 'base64'; media_type: AnthropicImage; data: string } | { type: 'url'; url: string } }
  | { type: 'document'; source: { type: 'base64'; media_type: 'application/pdf'; data: string } | { type: 'url'; url: string } };

/** A part beside a function response of Gemini. Source: `FunctionResponsePart` of its SDK. */
type GeminiResponsePart = { inlineData: { mimeType: string; data: string } } | { fileData: { mimeType: string; fileUri: string } };

/** Returns what goes beside the words of a function response. */
export function geminiParts(parts: readonly ContentPart[]): GeminiResponsePart[] {
  return parts.filter(isMedia).map(({ mediaType, data, url }) => (data === undefined ? { fileData: { mimeType: mediaType, fileUri: url! } } : { inlineData: { mimeType: mediaType, data } }));
}

/** Source: the standard content blocks of `@langchain/core`. */
export function langChainContent(parts: readonly ContentPart[]): string | Shape[] {
  return shaped<Shape>(parts, (text) => ({ type: 'text', text }), ({ type, mediaType, data, url, name }) => ({ type, mimeType: mediaType, ...(data === undefined ? { url } : { data }), ...(name !== undefined && { metadata: { filename: name } }) }));
}

/** Source: `ToolCallOutputContent` of `@openai/agents`. */
export function openAIAgentsContent(parts: readonly ContentPart[]): string | Shape[] {
  return shaped<Shape>(parts, (text) => ({ type: 'text', text }), (part) => {
    const { type, mediaType, data, url } = part;
    if (type === 'image') return { type, image: data === undefined ? { url } : { data, mediaType } };
    return type === 'audio' ? undefined : { type, file: data === undefined ? { url, filename: nameOf(part) } : { data, mediaType, filename: nameOf(part) } };
  });
}

/** The answer of a tool with parts, as the AI SDK 6 takes it. Source: `ToolResultOutput` of `@ai-sdk/provider-utils`. */
type AISDKContent = { type: 'text'; value: string } | { type: 'content'; value: AISDKPart[] };
type AISDKPart =
  | { type: 'text'; text: string }
  | { type: 'image-data' | 'file-data'; data: string; mediaType: string }
  | { type: 'file-data'; data: string; mediaType: string; filename?: string }
  | { type: 'image-url' | 'file-url'; url: string };

export function aiSDKContent(parts: readonly ContentPart[]): AISDKContent {
  const value = shaped<AISDKPart>(parts, (text) => ({ type: 'text', text }), ({ type, mediaType, data, url, name }) => {
    if (type === 'image') return data === undefined ? { type: 'image-url', url: url! } : { type: 'image-data', data, mediaType };
    if (data === undefined) return type === 'audio' ? undefined : { type: 'file-url', url: url! };
    return { type: 'file-data', data, mediaType, ...(name !== undefined && { filename: name }) };
  });
  return typeof value === 'string' ? { type: 'text', value } : { type: 'content', value };
}
