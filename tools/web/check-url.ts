import { z } from 'zod';
import { tool, type ToolContext } from '../../src/index.js';
import { guardedFetch } from '../walls/guarded-fetch.js';
import { reached, urlInput } from './web-answer.js';
import { WEB_TOOL, WebTool } from './web-tool.js';

const Input = z.object({
  url: urlInput().describe('Absolute http or https URL of a public host'),
});

/** Checks if an address responds, and with which status. Doesn't read the content. */
@tool({
  ...WEB_TOOL,
  name: 'check_url',
  description:
    "Checks with a HEAD request whether a web address exists: returns status, media type, size, last change and redirects, but no content. Public http and https addresses only. A status of 405 or 501 means that the server doesn't support HEAD; use fetch_url then.",
  inputSchema: Input,
  keywords: [
    'check url',
    'link',
    'reachable',
    'status code',
    'broken link',
    'dead link',
    'redirect',
    'online',
    'content type',
  ],
  mandatoryKeywords: ['check url', 'broken link', 'dead link'],
  stages: ['reading', 'verification'],
  examples: [
    'Is https://example.com still online?',
    'Does this link work?',
    'How large is the file behind this URL?',
    'Where does this short link lead?',
  ],
})
export class CheckUrl extends WebTool {
  async execute({ url }: z.input<typeof Input>, { signal }: ToolContext) {
    const answer = await reached(guardedFetch(url, { wall: this.wall, signal, method: 'HEAD' }));
    if (!('body' in answer)) return answer;
    const { headers, status } = answer;
    const size = Number(headers['content-length'] ?? NaN);
    return {
      url: answer.url,
      status,
      ok: status >= 200 && status < 300,
      contentType: headers['content-type'] ?? null,
      size: Number.isSafeInteger(size) && size >= 0 ? size : null,
      lastModified: headers['last-modified'] ?? null,
      redirects: answer.redirects,
    };
  }
}
