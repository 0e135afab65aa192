import { z } from 'zod';
import { fail, ok, Priority, tool, type ToolContext, type ToolResult } from '../../src/index.js';
import { guardedFetch } from '../walls/guarded-fetch.js';
import { mediaContent } from '../walls/media-content.js';
import { readablePage } from './html-text.js';
import { isHtml, isJson, pieceOf, reached, textOf, urlInput } from './web-answer.js';
import { WEB_TOOL, WebTool } from './web-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Default number of characters in one result: about 5,000 tokens, enough for an article. */
const USUAL_CHARS = 20_000;
/** Maximum number of characters in one result. Longer pages are read in pieces. */
const MAX_CHARS = 200_000;

const Input = z.object({
  url: urlInput().describe('Absolute http or https URL of a public host'),
  offset: z
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('Position in the text at which to start: nextOffset from the previous result'),
  maxChars: wholeNumber(USUAL_CHARS, MAX_CHARS).describe('Maximum number of characters to return'),
});

/**
 * The page that was read. If the response is JSON and fits in one piece, `json` replaces `text`.
 */
type FetchedPage = {
  readonly url: string;
  readonly status: number;
  readonly contentType: string;
  readonly title?: string;
  readonly text?: string;
  readonly json?: unknown;
  /** The size of an image or PDF, which is in the result's content. */
  readonly bytes?: number;
  readonly truncated: boolean;
  readonly nextOffset: number | null;
};

/** Reads a web page, without changing anything on the server. */
@tool({
  ...WEB_TOOL,
  name: 'fetch_url',
  description:
    'Reads a web page or web API with GET and returns its text: HTML as readable text, JSON as data, other text unchanged; PNG, JPEG, GIF, WebP and PDF files as files. Reads at most 5 MiB from public http and https addresses. Long texts come in pieces (offset, nextOffset). HTTP errors such as 404 are returned as status.',
  inputSchema: Input,
  priority: Priority.HIGH,
  keywords: [
    'fetch',
    'url',
    'web page',
    'website',
    'download',
    'read page',
    'browse',
    'http get',
    'article',
    'link',
  ],
  mandatoryKeywords: ['fetch url', 'https://'],
  examples: [
    'Summarize https://example.com/article',
    'What does the documentation at this link say about retries?',
    'Read the JSON at https://api.example.com/status',
    'Fetch this web page for me',
  ],
  progressParams: ['url', 'offset'],
})
export class FetchUrl extends WebTool {
  async execute(
    { url, offset = 0, maxChars = USUAL_CHARS }: z.input<typeof Input>,
    { signal }: ToolContext,
  ): Promise<FetchedPage | ToolResult<FetchedPage>> {
    const answer = await reached(
      guardedFetch(url, {
        wall: this.wall,
        signal,
        headers: { accept: 'text/html, application/json, text/*;q=0.9, */*;q=0.1' },
      }),
    );
    if (!('body' in answer)) return answer;
    const found = textOf(answer);
    const media =
      found === undefined && !answer.truncated
        ? mediaContent(answer.body, new URL(answer.url).pathname.split('/').at(-1)!)
        : undefined;
    if (media !== undefined)
      return ok(
        {
          url: answer.url,
          status: answer.status,
          contentType: media.mediaType,
          bytes: answer.body.length,
          truncated: false,
          nextOffset: null,
        },
        { content: [media.part] },
      );
    if (found === undefined)
      return fail(
        `The response has type ${String(answer.headers['content-type']).slice(0, 100)} and ${answer.body.length} bytes. Only text, HTML, JSON, and images or PDFs of at most 5 MiB can be read. Use check_url to get its type and size.`,
      );
    const page = { url: answer.url, status: answer.status, contentType: found.contentType };
    if (
      isJson(found.contentType) &&
      !answer.truncated &&
      offset === 0 &&
      found.text.length <= maxChars
    ) {
      const json = parsed(found.text);
      if (json !== undefined) return { ...page, json, truncated: false, nextOffset: null };
    }
    const { title, text } = isHtml(found.contentType)
      ? readablePage(found.text)
      : { title: null, text: found.text };
    const { piece, nextOffset } = pieceOf(text, offset, maxChars);
    return {
      ...page,
      ...(title === null ? {} : { title }),
      text: piece,
      truncated: answer.truncated || nextOffset !== null,
      nextOffset,
    };
  }
}

/** Parses JSON. Returns `undefined` if a server wrongly labels other text as JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
