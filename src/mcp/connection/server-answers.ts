import type * as McpClient from '@modelcontextprotocol/client';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { canonicalJson, describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import { publicMessage, withoutSecrets } from '../../core/public-message.js';
import { isForModel, MOST_PARTS, text as textPart, type ContentPart } from '../../tool/content.js';
import { serverLabel, loginNeeded, serverUnavailable } from '../login/server-errors.js';
import { partOfBlock } from '../translate/content-blocks.js';
import { describeFailure } from '../../providers/run-attempt.js';
import { fail, ok, type ToolResult } from '../../tool/outcome.js';

/** Thrown if a request had no effect because its session has ended or is unknown to the server. */
export class SessionExpiredError extends Error {
  override readonly name = 'SessionExpiredError';

  constructor(cause?: Error) {
    super('the session has ended', { cause });
  }
}

/** Runs `attempt`, and runs it again if the session ended before the attempt had any effect. */
export async function inAnySession<T>(attempt: () => Promise<T>): Promise<T> {
  return attempt().catch((error: unknown) =>
    error instanceof SessionExpiredError ? attempt() : Promise.reject(error as Error),
  );
}

/** Thrown if a call's session ended before the response. Users see this error's name. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}

/**
 * Returns a failed call as the tool's failure, or throws the error.
 *
 * An error response from the server becomes the tool's failure, because another provider wouldn't
 * do better. Transport errors are thrown, so that routers count them: `PROVIDER_UNAVAILABLE` if the
 * call can't have had an effect, and a plain `Error` if it may have. Texts from the server are
 * shortened and stripped of secrets.
 */
export function callFailure(
  error: unknown,
  server: string,
  sdk: typeof McpClient,
): ToolResult<never> {
  const label = serverLabel(server);
  if (isToolError(error)) throw error;
  if (error instanceof sdk.ProtocolError)
    return fail(`${label} refused the call: ${publicMessage(error)}`, { code: error.code });
  const refused = (why: string) => serverUnavailable(`${label} refused the call: ${why}.`, error);
  if (error instanceof sdk.InsufficientScopeError)
    throw refused('the token lacks scopes that the server requires');
  if (error instanceof sdk.SdkHttpError && error.status === 401)
    throw loginNeeded(
      `${label} rejected the token in "headers" (HTTP status 401). Send a valid token.`,
    );
  if (error instanceof sdk.SdkHttpError && error.status < 500)
    throw refused(`HTTP status ${error.status}`);
  if (error instanceof sdk.SdkError) {
    if (error.code === sdk.SdkErrorCode.UnsupportedResultType)
      return fail(
        `${label} asked for input in a way that isn't supported. Call the tool from a client that supports it.`,
      );
    if (error.code === sdk.SdkErrorCode.InvalidResult)
      throw new ToolError('INVALID_RESULT', `${label}'s response violates the protocol.`, {
        cause: error,
      });
  }
  const codes = codesOf(causesOf(error));
  if (error instanceof SessionExpiredError || codes.some((code) => NEVER_SENT.has(code)))
    throw serverUnavailable(`${label} can't be reached: ${describeFailure(error)}.`, error);
  throw new Error(
    `${label} didn't respond: ${describeFailure(error)}. The call may or may not have taken effect.`,
    { cause: error },
  );
}

/**
 * Describes on one line why connecting to a server or listing its tools failed, without secrets or
 * text from the server.
 */
export function describeConnectionFailure(error: unknown): string {
  if (isToolError(error)) return publicMessage(error);
  if (error instanceof ConnectionLostError)
    return 'the connection was lost before the server responded, perhaps because of a message over 16 MiB';
  const causes = causesOf(error);
  const codes = codesOf(causes);
  const explanation = codes
    .map((code) => KNOWN_REASONS.get(code))
    .find((reason) => reason !== undefined);
  if (explanation !== undefined) return explanation;
  const status = httpStatusOf(error);
  if (codes.includes('ERA_NEGOTIATION_FAILED')) {
    const [first] = codes;
    if (first !== 'ERA_NEGOTIATION_FAILED') return `it could not be reached (${first})`;
    return `it doesn't respond like an MCP server${status === undefined ? '' : ` (HTTP status ${status})`}`;
  }
  return status === undefined
    ? describeFailure(error)
    : `${describeFailure(error)}, HTTP status ${status}`;
}

/** Returns the HTTP status that caused an error. */
export function httpStatusOf(error: unknown): number | undefined {
  return causesOf(error)
    .map((cause) => cause['status'])
    .find((each) => typeof each === 'number');
}

const ERROR_WORDS =
  /\b(?:\w*(?:error|exception)|fatal|panic|traceback|failed|failure|cannot|can't|could not|not found|no such|denied|refused|unable|missing|invalid|required)\b/i;
/** Lines of a stack, and the version that Node prints after it. */
const NOT_A_REASON = /^\s*(?:at .*|Node\.js v.*|\^+|[{}])?\s*$/;

/** Returns the last line of a process's stderr that looks like an error, or else its last line. */
export function errorLineOf(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => !NOT_A_REASON.test(line));
  return (lines.findLast((line) => ERROR_WORDS.test(line)) ?? lines.at(-1) ?? '').trim();
}

const KNOWN_REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', "its command or folder doesn't exist (ENOENT)"],
  ['EACCES', "its command isn't executable (EACCES)"],
  ['ECONNREFUSED', 'nothing is listening at its address (ECONNREFUSED)'],
  ['ENOTFOUND', "its host name can't be resolved (ENOTFOUND)"],
  ['CONNECTION_CLOSED', 'it exited before it responded (CONNECTION_CLOSED)'],
]);

/** Error codes of requests that were never sent. */
const NEVER_SENT = new Set([
  'NOT_CONNECTED',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Returns an error and its causes, root cause first. The SDK wraps network errors. */
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
  // The SDK's older transport has the code in the message only.
  return causes
    .flatMap(({ code, event, message }) =>
      event === undefined ? [code] : [/\bE[A-Z]{4,}\b/.exec(String(message))?.[0]],
    )
    .filter((code) => typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code)) as string[];
}

/** Maximum number of characters in a failure's text. */
const MAX_FAILURE_LENGTH = 8_192;

/**
 * Converts a server's response into a tool's result. The value is the structured content if there
 * is any, and the text if there isn't. All parts become content.
 *
 * Models read the content. If no text in it is the JSON of the structured content, this JSON is
 * appended. If there's nothing else, there's no content. A text meant only for the user becomes a
 * content part and is left out of the value. A response with `isError` becomes the tool's failure,
 * with the text and the structured content as its message.
 *
 * @param saysAll True if the content is known to say all that the structured content says.
 */
export function callResult(result: unknown, saysAll = false): ToolResult {
  const { content, structuredContent, isError } = (isPlainObject(result) ? result : {}) as {
    content?: unknown;
    structuredContent?: Json;
    isError?: unknown;
  };
  const blocks = (Array.isArray(content) ? content.filter(isPlainObject) : []).map(readPart);
  const texts = blocks.flatMap(({ part, text }) =>
    text !== undefined && isForModel(part) ? [text] : [],
  );
  const isSaid = saysAll || structuredContent === undefined;
  const unsaid =
    isSaid || texts.some((text) => isJsonOf(structuredContent, text))
      ? []
      : [JSON.stringify(structuredContent)];
  if (isError === true) return fail(failureText([...texts, ...unsaid]));
  const isForUser = blocks.length > 0 && !blocks.some(({ part }) => isForModel(part));
  const said = texts.length === 0 ? (isForUser ? FOR_USER : null) : texts.join('\n');
  const value = structuredContent ?? said;
  if (blocks.every((block) => isInValue(block, structuredContent))) return ok(value);
  const parts = blocks.map(({ part }) => part);
  const most = MOST_PARTS - unsaid.length;
  if (parts.length > most) {
    const omitted = parts.splice(most - 1).length;
    parts.push(textPart(`[${omitted} more parts omitted: a result has at most ${MOST_PARTS}]`));
  }
  return ok(value, { content: [...parts, ...unsaid.map((json) => textPart(json))] });
}

interface ReadBlock {
  readonly part: ContentPart;
  /** The text of a text block. */
  readonly text: string | undefined;
}

function readPart(block: Readonly<Record<string, unknown>>): ReadBlock {
  const text = block['type'] === 'text' ? block['text'] : undefined;
  return { part: partOfBlock(block), text: typeof text === 'string' ? text : undefined };
}

/** Returns true for a part that says nothing more than the result's value. */
function isInValue({ part, text }: ReadBlock, structuredContent: Json | undefined): boolean {
  if (structuredContent !== undefined) return isJsonOf(structuredContent, text);
  return text !== undefined && part.audience === undefined;
}

/** The value of a result that says nothing to models. */
const FOR_USER = 'The result is for the user only.';

function isJsonOf(value: Json, text: unknown): boolean {
  try {
    return (
      typeof text === 'string' && canonicalJson(JSON.parse(text) as Json) === canonicalJson(value)
    );
  } catch {
    return false;
  }
}

/**
 * Returns a failure's text without secrets, because failures often quote settings. Paths are kept,
 * because the model needs them.
 */
function failureText(texts: readonly string[]): string {
  const text = texts.join('\n').trim();
  if (text === '') return "the tool failed and didn't say why";
  const shown = text.slice(0, MAX_FAILURE_LENGTH).split('\n').map(withoutSecrets).join('\n');
  return text.length <= MAX_FAILURE_LENGTH ? shown : `${shown}… (cut)`;
}

/** Maximum number of pages per list. Most servers need two or three. */
const MAX_PAGES = 512;

/** The lists that a server can have. */
const LISTS = ['tools', 'resources', 'resourceTemplates', 'prompts'] as const;
export type ListName = (typeof LISTS)[number];

/** Returns the name of the extra field in which a page's unchecked entries are kept. */
const rawKey = (list: ListName) => `tooldex/raw-${list}`;

/** Returns the error for an unusable listing. The message contains no text from the server. */
export function unusable(message: string): ToolError {
  return new ToolError('INVALID_RESULT', message);
}

/**
 * Makes listings bypass the SDK's checks, which drop a whole page because of one invalid tool. Each
 * tool is checked later. Call this function once the transport is connected.
 */
export function keepRawLists(transport: Transport): void {
  const receive = transport.onmessage?.bind(transport);
  transport.onmessage = (message, extra) => receive?.(withRawLists(message), extra);
}

function withRawLists<M extends JSONRPCMessage>(message: M): M {
  if (!('result' in message) || !isPlainObject(message.result)) return message;
  const { result } = message;
  const copy: Record<string, unknown> = { ...result };
  for (const list of LISTS)
    if (Array.isArray(result[list]))
      Object.assign(copy, { [list]: [], [rawKey(list)]: result[list] });
  return { ...message, result: copy };
}

/**
 * Passes a list's entries to `take`, page by page, until `take` returns true.
 * @throws ToolError `INVALID_RESULT` if the pages never end or a page has no list.
 */
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
      throw unusable(`The server returned a page without a list of ${list}.`);
    if (entries.some(take)) return;
    const next = (result as Readonly<Record<string, unknown>>)['nextCursor'];
    // Some servers end the list with an empty cursor.
    // A repeated cursor would repeat the same pages.
    if (next === undefined || next === null || next === '') return;
    if (typeof next !== 'string')
      throw unusable(expectedGot('a cursor as text', describeValue(next)));
    if (seen.has(next)) return;
    seen.add(next);
    cursor = next;
  }
  throw unusable(`The server's listing doesn't end: it has more than ${MAX_PAGES} pages.`);
}

/** Returns true if the server responded that it doesn't know a method. */
export function isMethodNotFound(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === -32_601;
}
