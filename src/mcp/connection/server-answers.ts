import type * as McpClient from '@modelcontextprotocol/client';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { canonicalJson, describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import { publicMessage, withoutSecrets } from '../../core/public-message.js';
import { isForModel, MOST_PARTS, text as textPart, type ContentPart } from '../../tool/content.js';
import { labelOf, loginNeeded, unavailable } from '../login/server-errors.js';
import { partOfBlock } from '../translate/content-blocks.js';
import { describeFailure } from '../../providers/run-attempt.js';
import { fail, ok, type ToolResult } from '../../tool/outcome.js';

/** The error for a session that has ended or that the server no longer knows. Nothing was done in it. */
export class SessionExpiredError extends Error {
  override readonly name = 'SessionExpiredError';

  constructor(cause?: Error) {
    super('the session has ended', { cause });
  }
}

/** Makes an attempt again if its session had ended before anything was done in it. */
export async function inAnySession<T>(attempt: () => Promise<T>): Promise<T> {
  return attempt().catch((error: unknown) =>
    error instanceof SessionExpiredError ? attempt() : Promise.reject(error as Error),
  );
}

/** The error of calls whose session ended before the answer. Users see its name. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}

/**
 * Returns the tool's failure for a failed call, or throws the error.
 *
 * An error that the server answered is the tool's own failure: no other provider would do better. Faults on the way are
 * thrown, so that routers count them: `PROVIDER_UNAVAILABLE` if nothing can have happened at the server, and an error
 * that is no ToolError if something may have. Texts of the server are shortened and freed of secrets.
 */
export function callFailure(
  error: unknown,
  server: string,
  sdk: typeof McpClient,
): ToolResult<never> {
  const label = labelOf(server);
  if (isToolError(error)) throw error;
  if (error instanceof ListingError) throw new ToolError('INVALID_RESULT', error.message);
  if (error instanceof SessionExpiredError)
    throw unavailable(`${label} to keep a session`, 'two that ended before the call', error);
  if (error instanceof sdk.ProtocolError)
    return fail(`${label} refused the call: ${publicMessage(error)}`, { code: error.code });
  const refused = (got: string) => unavailable(`${label} to take the call`, got, error);
  if (error instanceof sdk.InsufficientScopeError)
    throw refused('a token without the scopes that it asks for');
  if (error instanceof sdk.SdkHttpError && error.status === 401)
    throw loginNeeded(
      `a token in "headers" that ${label} accepts`,
      'the HTTP status 401',
      'Send another token.',
    );
  if (error instanceof sdk.SdkHttpError && error.status < 500)
    throw refused(`the HTTP status ${error.status}`);
  if (error instanceof sdk.SdkError) {
    if (error.code === sdk.SdkErrorCode.UnsupportedResultType)
      return fail(
        `${label} asks for something in the middle of the call, which this program does not answer; call it another way`,
      );
    if (error.code === sdk.SdkErrorCode.InvalidResult)
      throw new ToolError(
        'INVALID_RESULT',
        expectedGot(`${label} to answer a call as the protocol says`, 'another answer'),
        { cause: error },
      );
    if (error.code === sdk.SdkErrorCode.NotConnected)
      throw unavailable(`a connection to ${label}`, 'none', error);
  }
  if (codesOf(causesOf(error)).some((code) => NEVER_SENT.has(code)))
    throw unavailable(`${label} to be there`, describeFailure(error), error);
  throw new Error(
    `Expected an answer of ${label}, got ${describeFailure(error)}; whether the call had an effect is not known`,
    { cause: error },
  );
}

/** Returns why a server could not be opened or listed, in one line without secrets and texts of the server. */
export function describeConnectionFailure(error: unknown): string {
  if (isToolError(error) || error instanceof ListingError) return publicMessage(error);
  if (error instanceof ConnectionLostError)
    return 'the connection was lost before it answered; messages above 16 MiB end it too';
  const causes = causesOf(error);
  const codes = codesOf(causes);
  const known = codes.map((code) => KNOWN_REASONS.get(code)).find((reason) => reason !== undefined);
  if (known !== undefined) return known;
  const status = causes.map((cause) => cause['status']).find((each) => typeof each === 'number');
  if (codes.includes('ERA_NEGOTIATION_FAILED')) {
    const [first] = codes;
    if (first !== 'ERA_NEGOTIATION_FAILED') return `it could not be reached (${first})`;
    return `it did not answer as an MCP server does${status === undefined ? '' : `, but with the HTTP status ${status}`}`;
  }
  return status === undefined
    ? describeFailure(error)
    : `${describeFailure(error)}, HTTP status ${status}`;
}

const KNOWN_REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'its command or folder does not exist (ENOENT)'],
  ['EACCES', 'its command may not be run (EACCES)'],
  ['ECONNREFUSED', 'no program listens at its address (ECONNREFUSED)'],
  ['ENOTFOUND', 'its host has no address (ENOTFOUND)'],
  ['CONNECTION_CLOSED', 'it ended before it answered (CONNECTION_CLOSED)'],
]);

/** The codes of connections that were never made. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Returns an error and its causes, the first cause first. The SDK wraps errors of the network. */
function causesOf(error: unknown): readonly Readonly<Record<string, unknown>>[] {
  const causes: Readonly<Record<string, unknown>>[] = [];
  for (let at = error; typeof at === 'object' && at !== null && causes.length < 5;) {
    const cause = at as Readonly<Record<string, unknown>>;
    causes.unshift(cause);
    at = cause['cause'] ?? (cause['data'] as { cause?: unknown } | undefined)?.cause;
  }
  return causes;
}

/** Returns the error codes of causes. */
function codesOf(causes: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  return causes
    .map(({ code }) => code)
    .filter((code) => typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code)) as string[];
}

/** The maximum number of characters of a failure's text. */
const MAX_FAILURE_LENGTH = 8_192;

/**
 * Returns a server's answer to a call as a result. The value is its structured content, or else its text; all parts are content.
 *
 * A text that only repeats the structured content as JSON is left out. A text for the user alone is a part and no value.
 * With `isError` the answer is the tool's failure, whose message is the text, or else the structured content.
 */
export function callResult(result: unknown): ToolResult {
  const { content, structuredContent, isError } = (isPlainObject(result) ? result : {}) as {
    content?: unknown;
    structuredContent?: Json;
    isError?: unknown;
  };
  const blocks = (Array.isArray(content) ? content.filter(isPlainObject) : []).map((block) => ({
    part: partOfBlock(block),
    text: block['type'] === 'text' ? block['text'] : undefined,
  }));
  const texts = blocks.flatMap(({ part, text }) =>
    typeof text === 'string' && isForModel(part) ? [text] : [],
  );
  if (isError === true)
    return fail(
      failureText(
        texts.join('\n').trim() === '' && structuredContent !== undefined
          ? [JSON.stringify(structuredContent)]
          : texts,
      ),
    );
  const value = structuredContent ?? (texts.length === 0 ? null : texts.join('\n'));
  const isValue = (part: ContentPart, text: unknown) =>
    structuredContent === undefined
      ? typeof text === 'string' && part.audience === undefined
      : isJsonOf(structuredContent, text);
  const parts = (
    blocks.every(({ part, text }) => isValue(part, text))
      ? []
      : blocks.filter(({ part, text }) => structuredContent === undefined || !isValue(part, text))
  ).map(({ part }) => part);
  if (parts.length === 0) return ok(value);
  const more = parts.length - MOST_PARTS + 1;
  return ok(value, {
    content:
      more <= 1
        ? parts
        : [
            ...parts.slice(0, MOST_PARTS - 1),
            textPart(`[${more} more parts, left out: a result has at most ${MOST_PARTS}]`),
          ],
  });
}

function isJsonOf(value: Json, text: unknown): boolean {
  try {
    return (
      typeof text === 'string' && canonicalJson(JSON.parse(text) as Json) === canonicalJson(value)
    );
  } catch {
    return false;
  }
}

/** Returns a failure's text without secrets, since failures often quote settings. Paths stay, because the model needs them. */
function failureText(texts: readonly string[]): string {
  const text = texts.join('\n').trim();
  if (text === '') return 'the tool failed and did not say why';
  const shown = text.slice(0, MAX_FAILURE_LENGTH).split('\n').map(withoutSecrets).join('\n');
  return text.length <= MAX_FAILURE_LENGTH ? shown : `${shown}… (cut)`;
}

/** The maximum number of pages of one list. Most servers need two or three. */
const MAX_PAGES = 512;

/** The lists of a server. */
const LISTS = ['tools', 'resources', 'resourceTemplates', 'prompts'] as const;
export type ListName = (typeof LISTS)[number];

/** Returns the key under which the entries of a page get past the SDK's checks. */
const rawKey = (list: ListName) => `tooldex/raw-${list}`;

/** The error for a listing that cannot be used. Its message has no texts of the server. */
class ListingError extends Error {
  override readonly name = 'ListingError';
}

/**
 * Keeps the SDK from losing parts of messages. Call it once the transport is connected.
 *
 * Listings get past its checks, which drop a whole page for one wrong tool; each tool is checked by itself later. And an
 * answer waits until progress that came just before it is reported: the SDK forgets the listener when it reads the answer.
 */
export function keepWhole(transport: Transport): void {
  const receive = transport.onmessage?.bind(transport);
  let isTelling = false;
  transport.onmessage = (message, extra) => {
    const deliver = () => receive?.(withRawLists(message), extra);
    if ('method' in message) {
      isTelling ||= message.method === 'notifications/progress';
      if (isTelling) setImmediate(() => (isTelling = false));
    }
    if (isTelling && !('method' in message)) setImmediate(deliver);
    else deliver();
  };
}

function withRawLists<M extends JSONRPCMessage>(message: M): M {
  if (!('result' in message) || !isPlainObject(message.result)) return message;
  const { result } = message;
  const lists = LISTS.filter((list) => Array.isArray(result[list]));
  return lists.length === 0
    ? message
    : {
        ...message,
        result: Object.assign(
          { ...result },
          ...lists.map((list) => ({ [list]: [], [rawKey(list)]: result[list] })),
        ) as typeof result,
      };
}

/**
 * Returns all wanted tools that a server lists, as it sent them. The others don't count.
 *
 * @param fetchPage asks for a page and returns the result as it came.
 * @throws ListingError if the pages never end, or if a page has no list.
 */
export async function readAllPages(
  fetchPage: (cursor: string | undefined) => Promise<unknown>,
  {
    maxTools,
    isWanted,
  }: { readonly maxTools: number; readonly isWanted: (tool: unknown) => boolean },
): Promise<readonly unknown[]> {
  const tools: unknown[] = [];
  await readPages(fetchPage, 'tools', (tool) => isWanted(tool) && tools.push(tool) > maxTools);
  if (tools.length > maxTools)
    throw new ListingError(
      expectedGot(
        `at most ${maxTools} tools`,
        'more',
        'The server lists too many: name those that you need in "allow_tools", or raise "max_tools".',
      ),
    );
  return tools;
}

/** Hands the entries of a list to `take`, page by page, until it returns true. @throws ListingError as `readAllPages`. */
export async function readPages(
  fetchPage: (cursor: string | undefined) => Promise<unknown>,
  list: ListName,
  take: (entry: unknown) => boolean,
): Promise<void> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 1; page <= MAX_PAGES; page++) {
    const result = await fetchPage(cursor);
    const entries = isPlainObject(result) ? result[rawKey(list)] : undefined;
    if (!Array.isArray(entries))
      throw new ListingError(expectedGot(`a page with a list of ${list}`, 'none'));
    if (entries.some(take)) return;
    const next = (result as Readonly<Record<string, unknown>>)['nextCursor'];
    // Some servers end with an empty cursor. A cursor that comes again would repeat the same pages.
    if (next === undefined || next === null || next === '') return;
    if (typeof next !== 'string')
      throw new ListingError(expectedGot('a cursor as text', describeValue(next)));
    if (seen.has(next)) return;
    seen.add(next);
    cursor = next;
  }
  throw new ListingError(
    expectedGot(`the listing to end within ${MAX_PAGES} pages`, 'more', 'The server never stops.'),
  );
}

/** Returns true for the error of a server that does not know a method. */
export function isMethodNotFound(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === -32_601;
}
