import type * as McpClient from '@modelcontextprotocol/client';
import { isToolError, ToolError } from '../../core/errors.js';
import { publicMessage } from '../../core/public-message.js';
import { describeFailure } from '../../providers/run-attempt.js';
import { fail, type ToolResult } from '../../tool/outcome.js';
import { ListingError } from './tool-listing.js';
import { ConnectionLostError, SessionExpiredError } from './session-errors.js';

type Sdk = typeof McpClient;

/** How a server is called in messages. */
export function labelOf(server: string): string {
  return server === '' ? 'the MCP server' : `the MCP server ${server}`;
}

/**
 * What a failed call means, as a tool's failure or as an error to throw.
 *
 * An error that the server answered is the tool's own failure: the server is up, and no other provider would do better.
 * What breaks on the way is thrown, so that routers count it: `PROVIDER_UNAVAILABLE` where nothing can have happened at
 * the server, an error that is no ToolError where it may have. Texts of the server are shortened and cleaned of secrets.
 */
export function callFailure(error: unknown, server: string, sdk: Sdk): ToolResult<never> {
  const label = labelOf(server);
  if (isToolError(error)) throw error;
  if (error instanceof SessionExpiredError) throw unavailable(`${label} to keep a session, found two ended before the call`, error);
  if (error instanceof sdk.ProtocolError) return fail(`${label} refused the call: ${publicMessage(error)}`, { code: error.code });
  if (error instanceof sdk.SdkHttpError && error.status < 500) throw unavailable(`${label} to take the call, found the HTTP status ${error.status}`, error);
  if (error instanceof sdk.SdkError) {
    if (error.code === sdk.SdkErrorCode.UnsupportedResultType) return fail(`${label} asks for something in the middle of the call, which this program does not answer; call it another way`);
    if (error.code === sdk.SdkErrorCode.InvalidResult) throw new ToolError('INVALID_RESULT', `expected ${label} to answer a call as the protocol says, found another answer`, { cause: error });
    if (error.code === sdk.SdkErrorCode.NotConnected) throw unavailable(`a connection to ${label}, found none`, error);
  }
  if (wasNeverSent(error)) throw unavailable(`${label} to be there, found ${describeFailure(error)}`, error);
  throw new Error(`expected an answer of ${label}, found ${describeFailure(error)}; whether the call had an effect is not known`, { cause: error });
}

/** Nothing was sent, or what was sent was turned away: another provider may be asked. */
export function unavailable(message: string, cause?: unknown): ToolError {
  return new ToolError('PROVIDER_UNAVAILABLE', `expected ${message}`, cause === undefined ? {} : { cause });
}

/** Why a server could not be opened or listed, in a line without secrets and without texts of the server. */
export function describeConnectionFailure(error: unknown): string {
  if (isToolError(error) || error instanceof ListingError) return publicMessage(error);
  if (error instanceof ConnectionLostError) return 'the connection was lost before it answered; messages above 16 MiB end it too';
  const known = codesOf(error).map((code) => KNOWN_REASONS.get(code)).find((reason) => reason !== undefined);
  if (known !== undefined) return known;
  const status: unknown = typeof error === 'object' && error !== null ? (error as { status?: unknown }).status : undefined;
  return typeof status === 'number' ? `${describeFailure(error)}, HTTP status ${status}` : describeFailure(error);
}

const KNOWN_REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'its command or folder does not exist (ENOENT)'],
  ['EACCES', 'its command may not be run (EACCES)'],
  ['ECONNREFUSED', 'nobody listens at its address (ECONNREFUSED)'],
  ['ENOTFOUND', 'its host has no address (ENOTFOUND)'],
  ['CONNECTION_CLOSED', 'it ended before it answered (CONNECTION_CLOSED)'],
]);

/** Codes of a connection that never came to be. */
const NEVER_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

function wasNeverSent(error: unknown): boolean {
  return codesOf(error).some((code) => NEVER_SENT.has(code));
}

/** The codes of an error and of what caused it, the first cause first: the SDK wraps what the network says. */
function codesOf(error: unknown): readonly string[] {
  const codes: string[] = [];
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 5; at = (at as { cause?: unknown }).cause ?? dataCause(at), depth += 1) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string') codes.unshift(code);
  }
  return codes;
}

function dataCause(error: object): unknown {
  const { data } = error as { data?: { cause?: unknown } };
  return data?.cause;
}
