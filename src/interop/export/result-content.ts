import { describePart, textOfFile, type ContentPart, type MediaPart } from '../../tool/content.js';

/** A content part in one target's format. */
type Shape = { readonly type: string } & Readonly<Record<string, unknown>>;

type Kind = 'image' | 'gif' | 'pdf' | 'document' | 'audio';
type Source = 'data' | 'url';
type Target = 'openAI' | 'anthropic' | 'gemini' | 'langChain' | 'openAIAgents' | 'aiSDK';

const IMAGES_AND_PDF = { image: 'data url', gif: 'data url', pdf: 'data url' } as const;
const FILES = { ...IMAGES_AND_PDF, document: 'data url' } as const;

/**
 * The content that each target accepts in the result of a call, as data or by URL. Everything else
 * is described as text, because a service would reject the whole request.
 *
 * Sources: `ResponseFunctionCallOutputItemList` in the openai package, `ToolResultBlockParam` in
 * the Anthropic SDK, `FunctionResponsePart` in the Gemini SDK (whose `fileData` works only on
 * Vertex AI), the standard content blocks in `@langchain/core`, `ToolCallOutputContent` in
 * `@openai/agents`, and `ToolResultOutput` in `@ai-sdk/provider-utils`. OpenAI's Chat Completions
 * API accepts only text.
 */
const CARRIED: Readonly<Record<Target, Partial<Record<Kind, Source | 'data url'>>>> = {
  openAI: FILES,
  anthropic: IMAGES_AND_PDF,
  gemini: { image: 'data', pdf: 'data' },
  langChain: { ...FILES, audio: 'data url' },
  openAIAgents: FILES,
  aiSDK: { ...FILES, audio: 'data' },
};

/** An image, audio or file that the target accepts, with its media type in lowercase. */
interface CarriedPart extends MediaPart {
  readonly kind: Kind;
}

function carriedBy(target: Target, part: ContentPart): CarriedPart | undefined {
  if (!isMedia(part)) return undefined;
  const mediaType = part.mediaType
    .toLowerCase()
    .replace(/\s*;.*$/, '')
    .replace(/^image\/jpg$/, 'image/jpeg');
  const kind = KINDS.find(([, pattern]) => pattern.test(mediaType))?.[0];
  const isReachable = part.url === undefined ? part.data !== '' : /^https?:/i.test(part.url);
  if (kind === undefined || !isReachable) return undefined;
  const source = part.url === undefined ? 'data' : 'url';
  return CARRIED[target][kind]?.includes(source) ? { ...part, mediaType, kind } : undefined;
}

/** The media types that model services accept. A file that contains an image is an image. */
const KINDS: readonly (readonly [Kind, RegExp])[] = [
  ['image', /^image\/(?:jpeg|png|webp)$/],
  ['gif', /^image\/gif$/],
  ['pdf', /^application\/pdf$/],
  [
    'document',
    /^application\/(?:rtf|msword|vnd\.(?:ms-(?:excel|powerpoint)|openxmlformats-officedocument\..*))$/,
  ],
  ['audio', /^audio\//],
];

function isImage({ kind }: CarriedPart): boolean {
  return kind === 'image' || kind === 'gif';
}

/**
 * Returns the parts of a result in a target's format. If all parts can be written as text, returns
 * a single text.
 */
function shaped<S extends Shape>(
  parts: readonly ContentPart[],
  target: Target,
  shapeOf: (part: CarriedPart) => S,
  textOf: (text: string) => S,
): string | S[] {
  const carried = parts.map((part) => carriedBy(target, part));
  if (carried.every((part) => part === undefined)) return parts.map(inWords).join('\n');
  return parts.map((part, at) => (carried[at] ? shapeOf(carried[at]) : textOf(inWords(part))));
}

function inWords(part: ContentPart): string {
  const described = describePart(part);
  return isMedia(part) ? `${described} (not shown: models can't read it here)` : described;
}

function asText(text: string): { type: 'text'; text: string } {
  return { type: 'text', text };
}

/**
 * Returns true for an image, audio or file that isn't text. Text files are sent to every target as
 * text.
 */
function isMedia(part: ContentPart): part is MediaPart {
  return part.type !== 'text' && part.type !== 'resource_link' && textOfFile(part) === undefined;
}

function addressOf({ mediaType, data, url }: MediaPart): string {
  return url ?? `data:${mediaType};base64,${data!}`;
}

function nameOf({ name, mediaType }: MediaPart): string {
  return name ?? `file.${/\w+$/.exec(mediaType)?.[0] ?? 'bin'}`;
}

/** Returns parts for OpenAI's Responses API. */
export function openAIContent(parts: readonly ContentPart[]): string | OpenAIContent[] {
  return shaped<OpenAIContent>(parts, 'openAI', openAIPart, (text) => ({
    type: 'input_text',
    text,
  }));
}

function openAIPart(part: CarriedPart): OpenAIContent {
  if (isImage(part)) return { type: 'input_image', image_url: addressOf(part), detail: 'auto' };
  return part.url === undefined
    ? { type: 'input_file', filename: nameOf(part), file_data: addressOf(part) }
    : { type: 'input_file', file_url: part.url };
}

type OpenAIContent =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail: 'auto' }
  | { type: 'input_file'; filename: string; file_data: string }
  | { type: 'input_file'; file_url: string };

/** Returns parts for Anthropic. */
export function anthropicContent(parts: readonly ContentPart[]): string | AnthropicContent[] {
  return shaped<AnthropicContent>(parts, 'anthropic', anthropicPart, asText);
}

function anthropicPart(part: CarriedPart): AnthropicContent {
  const { mediaType, data, url } = part;
  const source =
    url === undefined
      ? { type: 'base64', media_type: mediaType, data: data! }
      : { type: 'url', url };
  return { type: isImage(part) ? 'image' : 'document', source } as AnthropicContent;
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

/**
 * Returns images and documents for Gemini. The images and documents are sent in addition to a text
 * that describes every part.
 */
export function geminiParts(
  parts: readonly ContentPart[],
): { inlineData: { mimeType: string; data: string } }[] {
  const carried = parts.flatMap((part) => carriedBy('gemini', part) ?? []);
  return carried.map(({ mediaType: mimeType, data }) => ({
    inlineData: { mimeType, data: data! },
  }));
}

/** Returns parts for LangChain. */
export function langChainContent(parts: readonly ContentPart[]): string | Shape[] {
  return shaped<Shape>(parts, 'langChain', langChainPart, asText);
}

function langChainPart(part: CarriedPart): Shape {
  const { kind, mediaType, data, url, name } = part;
  return {
    type: isImage(part) ? 'image' : kind === 'audio' ? 'audio' : 'file',
    mimeType: mediaType,
    ...(data === undefined ? { url } : { data }),
    ...(name !== undefined && { metadata: { filename: name } }),
  };
}

/** Returns parts for OpenAI Agents. */
export function openAIAgentsContent(parts: readonly ContentPart[]): string | Shape[] {
  return shaped<Shape>(parts, 'openAIAgents', openAIAgentsPart, asText);
}

function openAIAgentsPart(part: CarriedPart): Shape {
  const { mediaType, data, url } = part;
  const source = data === undefined ? { url } : { data, mediaType };
  return isImage(part)
    ? { type: 'image', image: source }
    : { type: 'file', file: { ...source, filename: nameOf(part) } };
}

/** The content of a result in the AI SDK's format. */
type AISDKContent = { type: 'text'; value: string } | { type: 'content'; value: AISDKPart[] };
type AISDKPart =
  | { type: 'text'; text: string }
  | { type: 'image-data'; data: string; mediaType: string }
  | { type: 'file-data'; data: string; mediaType: string; filename?: string }
  | { type: 'image-url' | 'file-url'; url: string };

export function aiSDKContent(parts: readonly ContentPart[]): AISDKContent {
  const value = shaped<AISDKPart>(parts, 'aiSDK', aiSDKPart, asText);
  return typeof value === 'string' ? { type: 'text', value } : { type: 'content', value };
}

function aiSDKPart(part: CarriedPart): AISDKPart {
  const { mediaType, data, url, name } = part;
  if (data === undefined) return { type: isImage(part) ? 'image-url' : 'file-url', url: url! };
  return isImage(part)
    ? { type: 'image-data', data, mediaType }
    : { type: 'file-data', data, mediaType, ...(name !== undefined && { filename: name }) };
}
