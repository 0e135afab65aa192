import type * as McpClient from '@modelcontextprotocol/client';
import type {
  Client,
  McpSubscription,
  RequestOptions,
  Transport,
} from '@modelcontextprotocol/client';
import { isToolError } from '../../core/errors.js';
import { LIMITS } from '../../core/limits.js';
import { onAbort } from '../../core/listeners.js';
import { without } from '../../core/plain-data.js';
import type { Elicitation } from './elicitation.js';
import { ConnectionLostError, SessionExpiredError } from './server-answers.js';

/**
 * Switches off the SDK's 60-second timeout, which would cut off tools that are allowed more time.
 * This library enforces the timeouts itself.
 */
export const NO_LIMIT: RequestOptions = Object.freeze({ timeout: LIMITS.timerMs });

/** Makes requests in a session. */
export type SessionWork<T> = (
  session: ServerSession,
  options: RequestOptions & { readonly signal: AbortSignal },
) => Promise<T>;

interface SessionParts {
  readonly client: Client;
  readonly transport: Transport;
  /** Forwards the server's questions to the user. `undefined` if nobody can be asked. */
  readonly elicitation: Elicitation | undefined;
  readonly isHttp: boolean;
  /** Runs when the server's tools may have changed without an announcement. */
  readonly onDoubt: () => void;
}

/** A session with a server, from the handshake until the connection is lost or closed. */
export class ServerSession {
  readonly client: Client;
  readonly elicitation: Elicitation | undefined;
  /** Resolves when the session has ended and everything is closed. */
  closed: Promise<unknown> | undefined;
  readonly #gone = new AbortController();
  readonly #subscriptions = new Map<string, McpSubscription>();
  /** True while the server keeps a stream open on which it announces changes. */
  #isWatched = false;

  constructor(readonly parts: SessionParts) {
    this.client = parts.client;
    this.elicitation = parts.elicitation;
  }

  /** True once the session has ended. */
  get isGone(): boolean {
    return this.#gone.signal.aborted;
  }

  /**
   * True if requests are independent of each other, so a restarted server can answer the next one.
   */
  get isStateless(): boolean {
    return this.parts.isHttp && this.parts.transport.sessionId === undefined;
  }

  /** True if the server announces changes to its tools in this session. */
  get announces(): boolean {
    return (
      this.client.getServerCapabilities()?.tools?.listChanged === true &&
      (!this.isStateless || this.#isWatched)
    );
  }

  /**
   * Makes requests until the session ends.
   *
   * @throws SessionExpiredError if the session had already ended, so that nothing was sent.
   * ConnectionLostError if the session ends during the request.
   */
  async request<T>(signal: AbortSignal | undefined, work: SessionWork<T>): Promise<T> {
    const { signal: gone } = this.#gone;
    if (gone.aborted) throw new SessionExpiredError(gone.reason as Error);
    // The SDK would send the caller's abort reason to the server, and the reason may be private.
    const controller = new AbortController();
    const stops = [
      onAbort(signal, () => controller.abort('the call was aborted')),
      onAbort(gone, () => controller.abort(gone.reason)),
    ];
    try {
      return await work(this, { ...NO_LIMIT, signal: controller.signal });
    } catch (error) {
      throw gone.aborted ? gone.reason : error;
    } finally {
      for (const stop of stops) stop();
    }
  }

  /**
   * Listens for changes to the lists (2026 protocol). While no stream is open, changes may go
   * unnoticed.
   */
  async watch(): Promise<void> {
    const { tools, resources, prompts } = this.client.getServerCapabilities() ?? {};
    try {
      const subscription = await this.client.listen(
        without({
          toolsListChanged: tools?.listChanged,
          resourcesListChanged: resources?.listChanged,
          promptsListChanged: prompts?.listChanged,
        }),
        NO_LIMIT,
      );
      this.#isWatched = subscription.honoredFilter.toolsListChanged === true;
      if (this.isStateless) this.parts.onDoubt();
      await subscription.closed;
    } catch {
      return; // The server doesn't support announcements.
    }
    this.#isWatched = false;
    this.parts.onDoubt();
  }

  /** Makes the server tell when a resource is updated. */
  async subscribe(uri: string): Promise<void> {
    if (this.client.getProtocolEra() !== 'modern')
      return void (await this.client.subscribeResource({ uri }, NO_LIMIT));
    const subscription = await this.client.listen({ resourceSubscriptions: [uri] }, NO_LIMIT);
    this.#subscriptions.set(uri, subscription);
  }

  async unsubscribe(uri: string): Promise<void> {
    if (this.client.getProtocolEra() !== 'modern')
      return void (await this.client.unsubscribeResource({ uri }, NO_LIMIT));
    await this.#subscriptions.get(uri)?.close();
    this.#subscriptions.delete(uri);
  }

  /**
   * Ends the session. Requests that are waiting for a response fail with `why` if it's a
   * `ToolError`, and with a `ConnectionLostError` if not.
   */
  end(why?: unknown): void {
    if (this.#gone.signal.aborted) return;
    this.#gone.abort(isToolError(why) ? why : new ConnectionLostError('the connection was lost'));
    this.closed = Promise.allSettled([this.parts.transport.close(), this.client.close()]);
  }
}

/**
 * Sends a ping. The 2026 protocol has no ping, so the server is asked for its capabilities. An
 * error response also counts.
 */
export async function ping(
  client: Client,
  options: RequestOptions,
  { ProtocolError }: typeof McpClient,
): Promise<void> {
  try {
    await (client.getProtocolEra() === 'modern' ? client.discover(options) : client.ping(options));
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
  }
}
