import type { Client, LoggingLevel, RequestOptions } from '@modelcontextprotocol/client';
import { availableParallelism, homedir } from 'node:os';
import { basename, sep } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import { onAbort } from '../../core/listeners.js';
import { without } from '../../core/plain-data.js';
import { untilAborted, withDeadline } from '../../execution/with-deadline.js';
import { abortError } from '../../providers/run-attempt.js';
import { inTime, serverLabel, serverUnavailable } from '../login/server-errors.js';
import type { McpServerSettings } from '../settings/read-mcp-settings.js';
import {
  expandTransport,
  type EnvVariables,
  type McpTransportSettings,
} from '../settings/transport-settings.js';
import { Elicitation, type OnElicit } from './elicitation.js';
import {
  inAnySession,
  isMethodNotFound,
  keepRawLists,
  readPages,
  SessionExpiredError,
  httpStatusOf,
  unusable,
} from './server-answers.js';
import { NO_LIMIT, ping, ServerSession, type SessionWork } from './session.js';
import {
  createTransport,
  hidingSecrets,
  listenToStderr,
  withEnvFile,
  type RequestAuth,
  type McpPackages,
} from './transports.js';

/** The protocol that a server uses: `modern` from 2026-07-28 on. */
export type ProtocolEra = 'legacy' | 'modern';

export interface ServerConnectionOptions extends RequestAuth {
  readonly clock: Clock;
  readonly env: EnvVariables;
  readonly packages: McpPackages;
  readonly clientInfo: { readonly name: string; readonly version: string; readonly title?: string };
  /** Returns true for a tool to keep in the listing. */
  readonly isWanted: (tool: unknown) => boolean;
  /** Runs when the server announces that its tools have changed. */
  readonly onToolsChanged: () => void;
  /**
   * Runs when the tools may have changed without an announcement, for example after a
   * reconnection.
   */
  readonly onDoubt: () => void;
  /** Runs for each notification in `RELAYED`. */
  readonly onNotification: (method: string, params: Readonly<Record<string, unknown>>) => void;
  readonly onElicit?: OnElicit | undefined;
  readonly elicitUrls?: boolean;
}

/** A server's tools as it sent them. */
export interface RawListing {
  readonly tools: readonly unknown[];
  readonly era: ProtocolEra;
  /** The capabilities that the server declares. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** The server's instructions for models. */
  readonly instructions?: string | undefined;
}

/** The notifications that clients of a gateway get. */
const RELAYED = [
  'notifications/message',
  'notifications/resources/updated',
  'notifications/resources/list_changed',
  'notifications/prompts/list_changed',
] as const;

/** Milliseconds in which a server must prove that it's alive. */
const PING_TIMEOUT_MS = 5_000;
const GOODBYE_TIMEOUT_MS = 1_000;
/**
 * The SDK requires a schema for results. This schema accepts everything, because results are
 * checked elsewhere.
 */
export const ANYTHING = z.unknown();

/**
 * The connection to one server. It opens when it's first needed, and reopens after it was lost.
 *
 * Until you call `close`, open sockets and the started process keep the program running.
 */
export class ServerConnection {
  readonly #closed = new AbortController();
  /** The session that is open or being opened. All requests share it. */
  #opening: Promise<ServerSession> | undefined;
  /** All sessions that haven't closed yet. */
  readonly #sessions = new Set<ServerSession>();
  #stderr = (): string => '';
  #hide = (text: string): string => text;
  /** True for a pre-2026 server that exits when asked for its protocol. */
  #isOld = false;
  /** True for a server that only supports the transport before streamable HTTP. */
  #isSse = false;
  /** The resources whose updates were asked for. A new session asks again. */
  readonly #subscribed = new Set<string>();
  #logLevel: LoggingLevel | undefined;

  constructor(
    readonly server: McpServerSettings,
    readonly options: ServerConnectionOptions,
  ) {}

  /**
   * Lists the server's tools.
   *
   * @param onStart Called once a session is open. The listing reflects every change made before
   * that.
   * @throws ToolError, or any error from the transport.
   */
  async listTools(onStart: () => void): Promise<RawListing> {
    const { startupTimeoutMs } = this.server;
    return this.#inSession(
      'list its tools',
      startupTimeoutMs,
      undefined,
      async (session, options) => {
        const { client } = session;
        onStart();
        const tools = await this.#wantedTools(client, options);
        const era = client.getProtocolEra() ?? 'legacy';
        const capabilities = { ...client.getServerCapabilities() };
        return { tools, era, capabilities, instructions: client.getInstructions() };
      },
    );
  }

  /**
   * Makes requests in a session and returns the server's unchanged responses.
   *
   * @param session The session in which the tool was listed.
   * @throws SessionExpiredError if the session has ended and the requests had no effect. The next
   * call gets another session.
   * @throws any error from the SDK; see `callFailure`.
   */
  async useIn<T>(
    session: ServerSession,
    signal: AbortSignal | undefined,
    work: SessionWork<T>,
  ): Promise<T> {
    try {
      return await this.#withScopes(() => session.request(signal, work));
    } catch (error) {
      if (signal?.aborted === true) throw abortError(signal);
      const { SdkHttpError } = await this.options.packages.client();
      // A restarted server should reject old sessions with 404, but many use 400.
      if (!(error instanceof SdkHttpError) || ![400, 404].includes(error.status)) throw error;
      this.#drop(session);
      throw new SessionExpiredError(error);
    }
  }

  /** Resolves when the server responds. */
  async ping(signal?: AbortSignal): Promise<void> {
    const sdk = await this.options.packages.client();
    await this.#inSession('answer a ping', PING_TIMEOUT_MS, signal, ({ client }, options) =>
      ping(client, options, sdk),
    );
  }

  /**
   * Returns the open session, or a new one. Aborting `signal` ends the caller's wait, but the
   * session still opens for others.
   */
  async open(signal?: AbortSignal): Promise<ServerSession> {
    const session = await this.#opened(signal);
    // Gives this process a chance to notice that a stream ended while it was busy.
    if (session.isStateless)
      for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
    return session;
  }

  /**
   * Sends a request of a gateway's client and returns the server's unchanged response.
   * @throws like `useIn`.
   */
  async request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    callerSignal?: AbortSignal,
  ): Promise<unknown> {
    const { timeoutMs } = this.server;
    return this.#inSession(
      `answer ${method}`,
      timeoutMs,
      callerSignal,
      async (session, options) => {
        const uri = String(params['uri']);
        if (method === 'resources/subscribe') {
          this.#subscribed.add(uri);
          return session.subscribe(uri);
        }
        if (method === 'resources/unsubscribe') {
          this.#subscribed.delete(uri);
          return session.unsubscribe(uri);
        }
        return session.client.request({ method, params }, ANYTHING, options);
      },
    );
  }

  /** Sets the least severe level of the log messages that the server sends (2025 protocol). */
  async setLogLevel(level: LoggingLevel): Promise<void> {
    this.#logLevel = level;
    const session = await this.#opening;
    if (session !== undefined) await this.#setLogLevelIn(session);
  }

  /** The last text that the server's process wrote to stderr, without secrets. */
  get stderr(): string {
    return this.#stderr();
  }

  /**
   * Removes the secrets of the settings from a server's text. Servers often echo the values they
   * were given.
   */
  hideSecrets(text: string): string {
    return this.#hide(text);
  }

  /** Closes the connection and ends the process behind it. It can't be reopened. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#opening = undefined;
    const sessions = [...this.#sessions];
    await Promise.all(sessions.map((session) => this.#sayGoodbye(session)));
    for (const session of sessions) session.end();
    await Promise.all(sessions.map(async ({ closed }) => closed));
  }

  /**
   * Runs `attempt`. If the server refuses it because scopes are missing, gets those scopes and
   * tries again.
   */
  async #withScopes<T>(attempt: () => Promise<T>): Promise<T> {
    const { login, packages } = this.options;
    if (login === undefined) return attempt();
    const { InsufficientScopeError } = await packages.client();
    return attempt().catch(async (error: unknown) => {
      if (!(error instanceof InsufficientScopeError)) throw error;
      await login.widen(error.requiredScope);
      return attempt();
    });
  }

  /** Returns the tools to keep, as the server sent them. */
  async #wantedTools(client: Client, options: RequestOptions): Promise<readonly unknown[]> {
    const { isWanted } = this.options;
    const { maxTools } = this.server;
    const tools: unknown[] = [];
    try {
      await readPages(
        (cursor) =>
          client.request({ method: 'tools/list', params: without({ cursor }) }, ANYTHING, options),
        'tools',
        (tool) => isWanted(tool) && tools.push(tool) > maxTools,
      );
    } catch (error) {
      if (client.getServerCapabilities()?.tools || !isMethodNotFound(error)) throw error;
    }
    if (tools.length <= maxTools) return tools;
    throw unusable(
      `The server lists more than ${maxTools} tools. List the tools you need in "allow_tools", or raise "max_tools".`,
    );
  }

  /** Waits for the session that is open or being opened. If there is none, opens a session. */
  #opened(signal: AbortSignal | undefined): Promise<ServerSession> {
    if (this.#closed.signal.aborted)
      throw serverUnavailable(
        `The connection to ${serverLabel(this.server.name)} is closed. Create a new McpDiscovery.`,
      );
    return untilAborted((this.#opening ??= this.#startOpening()), signal, 'the connection');
  }

  #startOpening(): Promise<ServerSession> {
    const start = () =>
      this.#inTime('be ready', this.server.startupTimeoutMs, this.#closed.signal, (signal) =>
        this.#withScopes(() => this.#open(signal)),
      );
    // Few servers start at once, because many would slow each other down until all time out.
    // A server's timeout starts with its turn.
    const opening = this.server.transport.kind === 'stdio' ? inTurn(start) : start();
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }

  /**
   * Opens a session. If a server exits when asked for its protocol, starts it again without asking.
   * If an address that ends in `/sse` refuses streamable HTTP, uses the transport before it.
   */
  async #open(signal: AbortSignal): Promise<ServerSession> {
    const sdk = await this.options.packages.client();
    const { transport } = this.server;
    return this.#openOnce(signal).catch(async (error: unknown) => {
      const isOld =
        transport.kind === 'stdio' &&
        !this.#isOld &&
        error instanceof sdk.SdkError &&
        error.code === sdk.SdkErrorCode.EraNegotiationFailed;
      const isSse =
        transport.kind === 'http' &&
        transport.mayBeSse === true &&
        !this.#isSse &&
        [404, 405].includes(httpStatusOf(error) ?? 0);
      if (signal.aborted || !(isOld || isSse)) throw error;
      [this.#isOld, this.#isSse] = [isOld, isSse];
      return this.#openOnce(signal).catch((again: unknown) => {
        this.#isOld = this.#isSse = false;
        throw again;
      });
    });
  }

  async #openOnce(signal: AbortSignal): Promise<ServerSession> {
    const settings = await this.#expanded();
    const { onElicit, packages, onDoubt } = this.options;
    const transport = await createTransport(
      settings,
      packages,
      () => this.#drop(session),
      this.options,
    );
    this.#stderr = listenToStderr(transport, this.#hide);
    if (signal.aborted) throw abortError(signal);
    const elicitation = onElicit && new Elicitation(this.server.name, onElicit);
    const client = await this.#createClient(settings.kind, elicitation);
    const isHttp = settings.kind === 'http';
    const session = new ServerSession({ client, transport, elicitation, isHttp, onDoubt });
    this.#sessions.add(session);
    const stop = onAbort(signal, () => this.#end(session));
    try {
      await client.connect(transport, NO_LIMIT);
    } catch (error) {
      this.#end(session);
      throw error;
    } finally {
      stop();
    }
    keepRawLists(transport);
    client.onclose = () => this.#drop(session);
    if (settings.kind !== 'stdio') client.onerror = onlyOne(() => this.#verify(session));
    onDoubt(); // A restarted server may be a different program.
    const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
    const announces = [tools, resources, prompts].some((list) => list?.listChanged === true);
    if (client.getProtocolEra() === 'modern' && announces) void session.watch();
    for (const uri of this.#subscribed) session.subscribe(uri).catch(() => undefined);
    void this.#setLogLevelIn(session);
    return session;
  }

  /** Returns the settings with their variables filled in, and remembers their secrets. */
  async #expanded(): Promise<McpTransportSettings> {
    const folder = process.cwd();
    const variables = {
      ...{ workspaceFolder: folder, workspaceFolderBasename: basename(folder) },
      ...{ userHome: homedir(), pathSeparator: sep, ...this.options.env },
    };
    const { settings: expanded, secrets } = expandTransport(this.server.transport, variables);
    const settings = await withEnvFile(expanded);
    const ofFile = settings.kind === 'stdio' ? Object.values(settings.env) : [];
    this.#hide = hidingSecrets([...secrets, ...ofFile]);
    return this.#isSse && settings.kind === 'http' ? { ...settings, kind: 'sse' } : settings;
  }

  async #createClient(
    kind: McpTransportSettings['kind'],
    elicitation: Elicitation | undefined,
  ): Promise<Client> {
    const { clientInfo, packages, elicitUrls, onToolsChanged, onNotification } = this.options;
    const { Client } = await packages.client();
    const client = new Client(clientInfo, {
      capabilities: elicitation
        ? { elicitation: { form: {}, ...(elicitUrls === true && { url: {} }) } }
        : {},
      inputRequired: { autoFulfill: false }, // Only this connection knows which call a question is about.
      // Servers on other transports are too old to negotiate the protocol.
      // Some hang after an unknown request.
      versionNegotiation:
        (kind === 'stdio' && !this.#isOld) || kind === 'http'
          ? { mode: 'auto', probe: { timeoutMs: this.server.startupTimeoutMs / 3 } }
          : { mode: 'legacy' },
    });
    if (elicitation !== undefined)
      client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
        elicitation.answer(params, mcpReq.signal),
      );
    client.setNotificationHandler('notifications/tools/list_changed', onToolsChanged);
    for (const method of RELAYED)
      client.setNotificationHandler(method, ({ params = {} }) => onNotification(method, params));
    return client;
  }

  /** Servers that don't support logging are left alone. */
  async #setLogLevelIn({ client }: ServerSession): Promise<void> {
    if (this.#logLevel === undefined || client.getProtocolEra() === 'modern') return;
    if (client.getServerCapabilities()?.logging === undefined) return;
    await client.setLoggingLevel(this.#logLevel, NO_LIMIT).catch(() => undefined);
  }

  /**
   * Checks that a session still works, because the SDK lets calls wait forever if a stream has
   * broken.
   */
  async #verify(session: ServerSession): Promise<void> {
    const { clock, packages, onDoubt } = this.options;
    const sdk = await packages.client();
    const answered = await withDeadline(
      ({ signal }) => session.request(signal, ({ client }, options) => ping(client, options, sdk)),
      { clock, timeoutMs: PING_TIMEOUT_MS },
    );
    if (answered.kind === 'returned')
      onDoubt(); // The ping may have been answered by a restarted server.
    else this.#drop(session, answered.kind === 'threw' ? answered.error : undefined);
  }

  /** Discards the open session. The next request opens another session. */
  #drop(session: ServerSession, why?: unknown): void {
    if (!session.isGone) this.#opening = undefined;
    this.#end(session, why);
  }

  #end(session: ServerSession, why?: unknown): void {
    session.end(why);
    void session.closed?.then(() => this.#sessions.delete(session));
  }

  /** Ends the HTTP session at the server, which may already be gone. */
  async #sayGoodbye({ client: { transport } }: ServerSession): Promise<void> {
    if (transport === undefined || !('terminateSession' in transport)) return;
    const { terminateSession } = transport as { terminateSession: () => Promise<void> };
    await withDeadline(() => terminateSession.call(transport), {
      clock: this.options.clock,
      timeoutMs: GOODBYE_TIMEOUT_MS,
    });
  }

  /** Makes requests in the open session, or in a new one. */
  #inSession<T>(
    what: string,
    timeoutMs: number,
    callerSignal: AbortSignal | undefined,
    work: SessionWork<T>,
  ): Promise<T> {
    return this.#inTime(what, timeoutMs, callerSignal, (signal) =>
      inAnySession(async () => this.useIn(await this.#opened(signal), signal, work)),
    );
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
        `Timed out after ${timeoutMs} ms waiting for ${serverLabel(this.server.name)} to ${what}.`,
        { details: { timeoutMs } },
      );
    return inTime({ clock: this.options.clock, timeoutMs, signal }, late, work);
  }
}

/** Returns a function that runs the work. Calls while the work is running do nothing. */
function onlyOne(work: () => Promise<void>): () => void {
  let running: Promise<void> | undefined;
  return () => void (running ??= work().finally(() => (running = undefined)));
}

/** Maximum number of servers that start at the same time in this process. */
const MOST_STARTING = 2 * availableParallelism();
let starting = 0;
const waiting: (() => void)[] = [];

/** Runs `start` once fewer than `MOST_STARTING` other servers are starting. */
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
