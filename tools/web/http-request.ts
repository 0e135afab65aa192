import { z } from 'zod';
import { fail, tool, type ToolContext } from '../../src/index.js';
import { guardedFetch } from '../walls/guarded-fetch.js';
import { pieceOf, reached, textOf, urlInput, urlKey } from './web-answer.js';
import { WEB_TOOL, WebTool } from './web-tool.js';

/** Maximum length of a request body in characters. */
const MAX_BODY_CHARS = 1_000_000;
/**
 * Maximum length of a header value in characters. Servers usually accept a value of this length.
 */
const MAX_HEADER_CHARS = 8_192;
const MAX_HEADERS = 50;
/** Maximum number of characters in the result: about 12,000 tokens. */
const MAX_ANSWER_CHARS = 50_000;

const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

const Input = z.object({
  url: urlInput().describe('Absolute http or https URL of a public host'),
  method: z
    .enum(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])
    .describe('HTTP method'),
  headers: z
    .record(z.string().max(200), z.string().max(MAX_HEADER_CHARS))
    .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, {
      error: `at most ${MAX_HEADERS} headers`,
    })
    .optional()
    .describe('Request headers, such as content-type or authorization'),
  body: z
    .string()
    .max(MAX_BODY_CHARS)
    .optional()
    .describe('Request body; not allowed with GET, HEAD and OPTIONS'),
});

/**
 * Sends any request to a web service. Only the service knows what the request does, so the tool is
 * treated as writing.
 */
@tool({
  ...WEB_TOOL,
  name: 'http_request',
  description:
    'Sends an HTTP request with any method, headers and body to a public web service and returns status, headers and text. Can change or delete things there. Redirects are followed only for GET and HEAD; for other methods the response contains the new location. To just read a page, use fetch_url.',
  inputSchema: Input,
  accessMode: 'mixed',
  dangerLevel: 'medium',
  executionCategory: 'mixed',
  sideEffects: ['network', 'read_external_service', 'write'],
  reads: ['private', 'untrusted'],
  keywords: [
    'http request',
    'api call',
    'rest',
    'webhook',
    'post',
    'put',
    'patch',
    'delete request',
    'endpoint',
    'send request',
  ],
  mandatoryKeywords: ['http request', 'api call', 'webhook'],
  stages: ['execution'],
  taskTypes: ['action'],
  examples: [
    'Send a POST request with this JSON to https://api.example.com/orders',
    'Call the webhook with the message "done"',
    'Delete record 17 through the REST API',
    'Which methods does this endpoint allow?',
  ],
  allowParallel: false,
  preview: ({ url, method, body }) => ({
    summary: `${method} ${url}${body === undefined ? '' : ` with ${Buffer.byteLength(body)} bytes`}`,
    recipients: [new URL(url).hostname],
    ...(!READING.has(method) && { reversible: false }),
  }),
  dangerFor: ({ method }) => (READING.has(method) ? 'medium' : 'high'),
  conflictKeys({ url, method }) {
    const keys = [urlKey(url)];
    return { reads: keys, writes: READING.has(method) ? [] : keys };
  },
})
export class HttpRequest extends WebTool {
  async execute({ url, method, headers, body }: z.input<typeof Input>, { signal }: ToolContext) {
    if (body !== undefined && READING.has(method))
      return fail(`${method} can't have a body. Omit the body or use POST.`);
    const answer = await reached(
      guardedFetch(url, { wall: this.wall, method, headers, body, signal }),
    );
    if (!('body' in answer)) return answer;
    const text = answer.body.length === 0 ? '' : textOf(answer)?.text;
    const { piece, nextOffset } = pieceOf(text ?? '', 0, MAX_ANSWER_CHARS);
    return {
      url: answer.url,
      status: answer.status,
      headers: shownHeaders(answer.headers),
      body: text === undefined ? null : piece,
      truncated: answer.truncated || nextOffset !== null,
    };
  }
}

/** Hides session cookies, which are secrets and mustn't get into a transcript. */
function shownHeaders(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || name === 'set-cookie' ? [] : [[name, String(value)]],
    ),
  );
}
