import type * as McpClient from '@modelcontextprotocol/client';
import type { Client, Progress, RequestOptions, Transport } from '@modelcontextprotocol/client';
import type { Clock } from '../../core/clock.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { LIMITS } from '../../core/limits.js';
import { isPlainObject } from '../../core/plain-data.js';
import { onAbort } from '../../core/listeners.js';
import { withDeadline } from '../../execution/with-deadline.js';
import { abortError } from '../../providers/run-attempt.js';
import { expandTransport, type Environment } from '../settings/transport-settings.js';
import type { McpServerSettings } from '../settings/read-mcp-settings.js';
import type { Ask } from './offered-answers.js';
import { Elicitation, type OnElicit } from './elicitation.js';
import { inTime, labelOf, unavailable } from '../login/server-errors.js';
import {
  ConnectionLostError,
  inAnySession,
  isMethodNotFound,
  keepWhole,
  readAllPages,
  SessionExpiredError,
} from './server-answers.js';
import type { ToolContext } from '../../tool/tool-options.js';
import { availableParallelism, homedir } from 'node:os';
import {
  createTransport,
  hidingSecrets,
  listenToStderr,
  withEnvFile,
  type Credentials,
  type McpPackages,
} from './transports.js';

/** The protocol that a server speaks: `modern` from 2026-07-28 on. */
export type ProtocolEra = 'legacy' | 'modern';

export interface McpConnectionOptions extends Credentials {
  readonly clock: Clock;
  readonly env: Environment;
  readonly packages: McpPackages;
  readonly clientInfo: { readonly name: string; readonly version: string; readonly title?: string };
  /** Returns true for a tool of a listing that is kept. */
  readonly isWanted: (tool: unknown) => boolean;
  /** Hears that the server says that its tools have changed. */
  readonly onToolsChanged: () => void;
  readonly onElicit?: OnElicit | undefined;
  readonly elicitUrls?: boolean;
}

/** The tools of a server as it sent them, and the session in which it did. */
export interface RawListing {
  readonly tools: readonly unknown[];
  /** The names of all tools, also of those that are not wanted. */
  readonly names: readonly string[];
  readonly era: ProtocolEra;
  readonly session: number;
  /** The capabilities that the server declares. */
  readonly capabilities: Readonly<Record<string, unknown>>;
}

export interface CallRequest {
  /** The tool's name at the server. */
  readonly tool: string;
  readonly inputSchema: unknown;
  readonly arguments: unknown;
  /** The call of which it is a part. */
  readonly context: ToolContext;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** One life of a connection. */
export interface Session {
  /** Counts the sessions of a connection: with another number, another process may answer, or a change may have gone unheard. */
  number: number;
  readonly client: Client;
  readonly transport: Transport;
  /** Asks the user what the server asks; missing where nobody can be asked. */
  readonly elicitation: Elicitation | undefined;
  /** Fires when the session is of no use any more. */
  readonly gone: AbortController;
  /** Returns true where requests stand for themselves: a server that is started again answers them as if nothing had been. */
  readonly isStateless: () => boolean;
  /** True when the server says that it tells of changes. */
  tellsChanges: boolean;
  /** True when it was asked to, and does. */
  isWatched: boolean;
}

/** Returns true when the server's tools may have changed without a sign: a call then needs a listing of its own. */
export function isBlind({ isStateless, isWatched, tellsChanges }: Session): boolean {
  return !tellsChanges || (isStateless() && !isWatched);
}

/** Makes requests in a session. */
type Work<T> = (
  session: Session,
  options: RequestOptions & { readonly signal: AbortSignal },
) => Promise<T>;

/** Names of tools that are kept to compare the settings with. */
const MOST_NAMES = 100_000;
/** The time that a server may take to prove that it is alive. */
const PING_TIMEOUT_MS = 5_000;
const GOODBYE_TIMEOUT_MS = 1_000;
/** The SDK's own limit of 60 s would cut calls off whose tools have more; deadlines are set here and by executors. */
const NO_LIMIT: RequestOptions = Object.freeze({ timeout: LIMITS.timerMs });
/** The SDK wants a schema for results; what came is looked at elsewhere. */
const ANYTHING = Object.freeze({
  '~standard': Object.freeze({
    version: 1 as const,
    vendor: 'tooldex',
    validate: (value: unknown) => ({ value }),
  }),
});

/**
 * The connection to one server: opened when it is first needed, and again after it was lost.
 *
 * Until `close` is called, a process that was started and sockets that are open keep the program alive.
 */
export class McpConnection {
  readonly #server: McpServerSettings;
  readonly #options: McpConnectionOptions;
  readonly #closed = new AbortController();
  /** The session that is open or being opened; whoever needs one shares it. */
  #opening: Promise<Session> | undefined;
  /** The session once it is open. */
  #current: Session | undefined;
  #sessions = 0;
  #closing: Promise<unknown>[] = [];
  #stderr = (): string => '';
  #hide = (text: string): string => text;
  /** True when the server is one of before 2026 that ended when it was asked which protocol it speaks. */
  #isOld = false;

  constructor(server: McpServerSettings, options: McpConnectionOptions) {
    this.#server = server;
    this.#options = options;
  }

  /** Lists the server's tools. @throws ListingError, ToolError, or whatever the transport throws. */
  async listTools(): Promise<RawListing> {
    return this.#inTime('list its tools', this.#setupMs(), undefined, (signal) =>
      inAnySession(() =>
        this.#use(signal, async ({ client, number }, options) => {
          const capabilities: Readonly<Record<string, unknown>> = {
            ...client.getServerCapabilities(),
          };
          const names: string[] = [];
          const isWanted = (tool: unknown) => {
            const name: unknown = isPlainObject(tool) ? tool['name'] : undefined;
            if (typeof name === 'string' && names.length < MOST_NAMES)
              names.push(name.slice(0, LIMITS.labelLength));
            return this.#options.isWanted(tool);
          };
          const tools = await readAllPages(
            (cursor) =>
              client.request(
                { method: 'tools/list', ...(cursor === undefined ? {} : { params: { cursor } }) },
                ANYTHING,
                options,
              ),
            { maxTools: this.#server.maxTools, isWanted },
          ).catch((error: unknown) =>
            capabilities['tools'] === undefined && isMethodNotFound(error)
              ? []
              : Promise.reject(error as Error),
          );
          const era = client.getProtocolEra() ?? 'legacy';
          return { tools, names, era, session: number, capabilities };
        }),
      ),
    );
  }

  /**
   * Calls a tool, and returns the answer as the server sent it.
   *
   * @param session the one in which the tool was listed.
   * @throws SessionExpiredError when the session has ended and nothing was done in it: the next call has another.
   * @throws whatever the SDK throws; see `callFailure`.
   */
  callTool(
    session: Session,
    { tool, inputSchema, arguments: input, context, onProgress }: CallRequest,
  ): Promise<unknown> {
    return this.#useIn(session, context.signal, ({ client, elicitation }, options) => {
      const request = { name: tool, arguments: input as Record<string, unknown> };
      // Handing the definition over keeps the SDK from compiling the server's output schema, which may be made to hang it.
      const toolDefinition = { name: tool, inputSchema: inputSchema as { type: 'object' } };
      const all = { ...options, toolDefinition, ...(onProgress && { onprogress: onProgress }) };
      return elicitation === undefined
        ? client.callTool(request, all)
        : elicitation.call(client, request, all, context);
    });
  }

  /** Makes other requests than calls in the session in which they were offered. @throws as `callTool`. */
  askIn<T>(session: Session, { signal }: ToolContext, work: (ask: Ask) => Promise<T>): Promise<T> {
    return this.#useIn(session, signal, ({ client }, options) =>
      work((method, params) => client.request({ method, params }, ANYTHING, options)),
    );
  }

  /** Resolves when the server answers. */
  async ping(signal?: AbortSignal): Promise<void> {
    const sdk = await this.#options.packages.client();
    await this.#inTime('answer a ping', PING_TIMEOUT_MS, signal, (stop) =>
      inAnySession(() => this.#use(stop, ({ client }, options) => pingOf(client, options, sdk))),
    );
  }

  /** Returns the open session, or a new one; giving up ends only one's own wait. */
  async open(signal?: AbortSignal): Promise<Session> {
    const session = this.#current ?? (await this.#opened(signal));
    // That a stream has ended is heard before it is looked at: this process may have been busy since.
    if (session.isStateless())
      for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
    return session;
  }

  /** The last that the process behind the connection has written to stderr, without secrets. */
  get stderr(): string {
    return this.#stderr();
  }

  /** Returns a server's text without the secrets of its settings: servers repeat what they were given. */
  hideSecrets(text: string): string {
    return this.#hide(text);
  }

  /** Ends the connection, and the process behind it, for good. */
  async close(): Promise<void> {
    const session = this.#current;
    this.#current = undefined;
    this.#closed.abort();
    if (session !== undefined) {
      await this.#sayGoodbye(session);
      this.#end(session);
    }
    await Promise.all(this.#closing);
  }

  /** Runs requests in the open session, or in a new one if none is. */
  async #use<T>(signal: AbortSignal | undefined, work: Work<T>): Promise<T> {
    return this.#useIn(await this.#opened(signal), signal, work);
  }

  async #useIn<T>(session: Session, signal: AbortSignal | undefined, work: Work<T>): Promise<T> {
    try {
      return await this.#withScopes(() => this.#request(session, signal, work));
    } catch (error) {
      if (signal?.aborted === true) throw abortError(signal);
      const { SdkHttpError } = await this.#options.packages.client();
      // A server that was started again turns its old sessions away, with 404 by the protocol and with 400 by many.
      if (!(error instanceof SdkHttpError) || ![400, 404].includes(error.status)) throw error;
      this.#drop(session);
      throw new SessionExpiredError(error);
    }
  }

  /** Makes an attempt once more with the scopes that the server has missed: it has refused the request, and done nothing. */
  async #withScopes<T>(attempt: () => Promise<T>): Promise<T> {
    const { login, packages } = this.#options;
    if (login === undefined) return attempt();
    const { InsufficientScopeError } = await packages.client();
    return attempt().catch(async (error: unknown) => {
      if (!(error instanceof InsufficientScopeError)) throw error;
      await login.widen(error.requiredScope);
      return attempt();
    });
  }

  async #request<T>(session: Session, signal: AbortSignal | undefined, work: Work<T>): Promise<T> {
    // One of our own: the SDK sends the reason of the signal to the server, and the caller's may say too much.
    const controller = new AbortController();
    const stops = [
      onAbort(signal, () => controller.abort('the caller gave up')),
      onAbort(session.gone.signal, () => controller.abort(session.gone.signal.reason)),
    ];
    const { signal: gone } = session.gone;
    try {
      if (gone.aborted) throw gone.reason;
      return await work(session, { ...NO_LIMIT, signal: controller.signal });
    } catch (error) {
      throw gone.aborted ? gone.reason : error;
    } finally {
      for (const stop of stops) stop();
    }
  }

  /** Waits for the session that is open or being opened, or opens one. */
  #opened(signal: AbortSignal | undefined): Promise<Session> {
    if (this.#closed.signal.aborted)
      throw unavailable(`a connection to ${labelOf(this.#server.name)}`, 'a closed one');
    const opening = (this.#opening ??= this.#startOpening());
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(abortError(signal));
      const stop = onAbort(signal, () => reject(abortError(signal!)));
      opening.finally(stop).then(resolve, reject);
    });
  }

  #startOpening(): Promise<Session> {
    const start = () =>
      this.#inTime('be ready', this.#setupMs(), this.#closed.signal, (signal) =>
        this.#withScopes(() => this.#open(signal)),
      );
    // The time of a server counts from its turn: many at once would slow each other down until all are too late.
    const opening = this.#server.transport.kind === 'stdio' ? inTurn(start) : start();
    opening.then(
      (session) => {
        if (session.gone.signal.aborted) this.#opening = undefined;
        else this.#current = session;
      },
      () => (this.#opening = undefined),
    );
    return opening;
  }

  /** Opens a session. A server that ends when it is asked for its protocol is started again, without the question. */
  async #open(signal: AbortSignal): Promise<Session> {
    if (this.#isOld || this.#server.transport.kind !== 'stdio') return this.#openOnce(signal);
    const { SdkError, SdkErrorCode } = await this.#options.packages.client();
    return this.#openOnce(signal).catch(async (error: unknown) => {
      if (
        signal.aborted ||
        !(error instanceof SdkError) ||
        error.code !== SdkErrorCode.EraNegotiationFailed
      )
        throw error;
      this.#isOld = true;
      return this.#openOnce(signal).catch((again: unknown) => {
        this.#isOld = false;
        throw again;
      });
    });
  }

  async #openOnce(signal: AbortSignal): Promise<Session> {
    const { clientInfo, env, packages, onElicit, onToolsChanged } = this.#options;
    const { Client } = await packages.client();
    const variables = { workspaceFolder: process.cwd(), userHome: homedir(), ...env };
    const { settings: expanded, secrets } = expandTransport(this.#server.transport, variables);
    const settings = await withEnvFile(expanded);
    const transport = await createTransport(
      settings,
      packages,
      () => this.#drop(session),
      this.#options,
    );
    this.#hide = hidingSecrets([
      ...secrets,
      ...Object.values(settings.kind === 'stdio' ? settings.env : {}),
    ]);
    this.#stderr = listenToStderr(transport, this.#hide);
    if (signal.aborted) throw abortError(signal);
    const client = new Client(clientInfo, {
      capabilities:
        onElicit === undefined
          ? {}
          : { elicitation: { form: {}, ...(this.#options.elicitUrls === true && { url: {} }) } },
      inputRequired: { autoFulfill: false }, // Which of the calls asks is known here only.
      // Servers of these transports are older than the negotiation, and some fall silent at a request they do not know.
      versionNegotiation:
        (settings.kind === 'stdio' && !this.#isOld) || settings.kind === 'http'
          ? { mode: 'auto', probe: { timeoutMs: this.#setupMs() / 3 } }
          : { mode: 'legacy' },
    });
    const elicitation =
      onElicit === undefined
        ? undefined
        : new Elicitation(this.#server.name, onElicit, this.#options.clock);
    if (elicitation !== undefined)
      client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
        elicitation.answer(params, mcpReq.signal),
      );
    client.setNotificationHandler('notifications/tools/list_changed', onToolsChanged);
    const isStateless = () => settings.kind === 'http' && transport.sessionId === undefined;
    const session: Session = {
      number: ++this.#sessions,
      client,
      transport,
      elicitation,
      gone: new AbortController(),
      isStateless,
      tellsChanges: false,
      isWatched: false,
    };
    const stop = onAbort(signal, () => this.#end(session));
    try {
      await client.connect(transport, NO_LIMIT);
    } catch (error) {
      this.#end(session);
      throw error;
    } finally {
      stop();
    }
    keepWhole(transport);
    client.onclose = () => this.#drop(session);
    if (settings.kind !== 'stdio') client.onerror = onlyOne(() => this.#verify(session));
    // In the 2026 protocol changes are told to those who ask to be told.
    session.tellsChanges = client.getServerCapabilities()?.tools?.listChanged === true;
    if (client.getProtocolEra() === 'modern' && session.tellsChanges) void this.#watch(session);
    return session;
  }

  /** Checks that a session is still good: the SDK lets calls wait for ever whose stream has broken. */
  async #verify(session: Session): Promise<void> {
    if (session.gone.signal.aborted) return;
    const { clock, packages } = this.#options;
    const sdk = await packages.client();
    const answered = await withDeadline(
      ({ signal }) =>
        this.#request(session, signal, ({ client }, options) => pingOf(client, options, sdk)),
      { clock, timeoutMs: PING_TIMEOUT_MS },
    );
    if (answered.kind !== 'returned')
      this.#drop(session, answered.kind === 'threw' ? answered.error : undefined);
    else session.number = ++this.#sessions; // It may be another process that answers.
  }

  /** Hears of changes while the server keeps the stream open; what changed before and after that is open to doubt. */
  async #watch(session: Session): Promise<void> {
    try {
      const subscription = await session.client.listen({ toolsListChanged: true }, NO_LIMIT);
      session.isWatched = subscription.honoredFilter.toolsListChanged === true;
      if (session.isStateless()) session.number = ++this.#sessions;
      await subscription.closed;
    } catch {
      return; // The server does not offer it.
    }
    session.isWatched = false;
    session.number = ++this.#sessions;
  }

  #drop(session: Session, why?: unknown): void {
    if (this.#current === session) this.#current = this.#opening = undefined;
    this.#end(session, why);
  }

  /** Lets go of a session: what waits for an answer in it fails, with the reason where this program gave it. */
  #end({ client, transport, gone }: Session, why?: unknown): void {
    if (gone.signal.aborted) return;
    gone.abort(isToolError(why) ? why : new ConnectionLostError('the connection was lost'));
    const closing: Promise<unknown> = Promise.allSettled([transport.close(), client.close()]).then(
      () => {
        this.#closing = this.#closing.filter((other) => other !== closing);
      },
    );
    this.#closing.push(closing);
  }

  /** Lets a server drop what it keeps of an HTTP session. It may be gone already. */
  async #sayGoodbye({ transport }: Session): Promise<void> {
    if (!('terminateSession' in transport)) return;
    const { terminateSession } = transport as { terminateSession: () => Promise<void> };
    await withDeadline(() => terminateSession.call(transport), {
      clock: this.#options.clock,
      timeoutMs: GOODBYE_TIMEOUT_MS,
    });
  }

  #setupMs(): number {
    return this.#server.startupTimeoutMs;
  }

  #inTime<T>(
    what: string,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const late = () =>
      new ToolError(
        'TIMEOUT',
        expectedGot(`${labelOf(this.#server.name)} to ${what} within ${timeoutMs} ms`, 'no answer'),
        { details: { timeoutMs } },
      );
    return inTime({ clock: this.#options.clock, timeoutMs, signal }, late, work);
  }
}

/** Servers that start at the same time, in all of this process. */
const MOST_STARTING = 2 * availableParallelism();
let starting = 0;
const waiting: (() => void)[] = [];

/** Starts a server when fewer than twice as many as there are cores are starting. */
async function inTurn<T>(start: () => Promise<T>): Promise<T> {
  if (starting >= MOST_STARTING) await new Promise<void>((resolve) => waiting.push(resolve));
  starting += 1;
  try {
    return await start();
  } finally {
    starting -= 1;
    waiting.shift()?.();
  }
}

/** Sends a ping. The 2026 protocol has none; asking for what the server can do is as cheap. A server that answers with an error is there, too. */
async function pingOf(
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

/** Makes a function that does nothing while it still runs. */
function onlyOne(work: () => Promise<void>): () => void {
  let running = false;
  return () => {
    if (running) return;
    running = true;
    void work().finally(() => {
      running = false;
    });
  };
}
