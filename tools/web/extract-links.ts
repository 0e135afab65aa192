import { z } from 'zod';
import { fail, tool, type ToolContext } from '../../src/index.js';
import { guardedFetch } from '../walls/guarded-fetch.js';
import { linksOf, type PageLink } from './html-text.js';
import { isHtml, reached, textOf, urlInput } from './web-answer.js';
import { WEB_TOOL, WebTool } from './web-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Default and maximum number of links returned. */
const USUAL_LINKS = 100;
const MAX_LINKS = 1_000;

const Input = z.object({
  url: urlInput().describe('Absolute http or https URL of a public page'),
  sameOrigin: z.boolean().default(false).describe('Only links to the same server'),
  limit: wholeNumber(USUAL_LINKS, MAX_LINKS).describe('Maximum number of links to return'),
});

/** Lists the links on a page. */
@tool({
  ...WEB_TOOL,
  name: 'extract_links',
  description:
    'Reads an HTML page and returns its web links as absolute URLs with their texts, each target once, in page order. Skips mail addresses, scripts and links within the page. At most 1000 links.',
  inputSchema: Input,
  keywords: [
    'links',
    'hyperlinks',
    'urls of a page',
    'crawl',
    'outgoing links',
    'anchors',
    'list links',
    'sitemap',
  ],
  mandatoryKeywords: ['extract links', 'list links'],
  taskTypes: ['search', 'analysis'],
  examples: [
    'List all links on https://example.com',
    'Which pages of this site does the start page lead to?',
    'Find the download link on this page',
  ],
})
export class ExtractLinks extends WebTool {
  async execute(
    { url, sameOrigin = false, limit = USUAL_LINKS }: z.input<typeof Input>,
    { signal }: ToolContext,
  ) {
    const answer = await reached(
      guardedFetch(url, { wall: this.wall, signal, headers: { accept: 'text/html' } }),
    );
    if (!('body' in answer)) return answer;
    const page = textOf(answer);
    if (page === undefined || !isHtml(page.contentType))
      return fail(
        `Expected an HTML page, got ${String(answer.headers['content-type']).slice(0, 100)}. Read it with fetch_url.`,
      );
    const origin = new URL(answer.url).origin;
    const links: readonly PageLink[] = linksOf(page.text, answer.url).filter(
      (link) => !sameOrigin || new URL(link.url).origin === origin,
    );
    return {
      url: answer.url,
      status: answer.status,
      links: links.slice(0, limit),
      found: links.length,
      truncated: answer.truncated || links.length > limit,
    };
  }
}
