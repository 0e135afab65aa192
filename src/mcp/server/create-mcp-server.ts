import type { AuthInfo, Server, Transport } from '@modelcontextprotocol/server';
import { randomBytes } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { systemClock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import { missingPackage } from '../../core/issues.js';
import { checkOptions, once } from '../../core/options.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import { hostsFor } from '../../host/addresses.js';
import type { RunningServer } from '../../host/listen.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { OnElicit } from '../connection/elicitation.js';
import { RelayedCalls } from './relayed-calls.js';
import { Connection, contextOf, ownerOf } from './connection.js';
import { createHttpFace, listenHttp, type HttpFace } from './http-face.js';
import { ownOutput } from './own-output.js';
import {
  checkServerOptions,
  serveHttpOptions,
  type CheckedServerOptions,
  type McpAuthInfo,
  type McpServerOptions,
} from './server-options.js';
import { ServedTools } from './served-tools.js';
import { ToolCalls, type AskedBefore, type ServerSdk } from './tool-calls.js';

/** A channel of messages to one client, as the official SDK's transports are. */
export interface McpTransport {
  start(): Promise<void>;
  send(message: object, options?: object): Promise<void>;
  close(): Promise<void>;
}

/** A client that is being served. */
export interface McpConnection {
  /** Resolves when the client has gone, or the connection was closed. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** The tools of a registry, ready to be served; nothing listens before one of these is called. */
export interface McpToolServer {
  /**
   * Serves one client on a pair of streams. What else is printed on standard output meanwhile, as by `console.log` of a tool,
   * goes to standard error; on a stream that is given nothing else must be printed.
   *
   * @param streams @default standard input and output of the process
   * @throws ToolError `MISSING_PACKAGE`, `TOOL_UNAVAILABLE` after `close`.
   */
  serveStdio(streams?: {
    readonly input?: Readable;
    readonly output?: Writable;
  }): Promise<McpConnection>;
  /** Serves one client on any lasting transport. @throws ToolError `MISSING_PACKAGE`, `TOOL_UNAVAILABLE` after `close`. */
  connect(transport: McpTransport): Promise<McpConnection>;
  /**
   * Answers a web request (streamable HTTP): one of an allowed host and origin, with the token where one is asked for.
   * `/healthz` and, with `verify`, `/.well-known/oauth-protected-resource` need none.
   *
   * It can be passed around on its own.
   *
   * @param request its body may have 4 MiB.
   * @param options `authInfo` of a token that the program has checked itself; `verify` goes before it.
   * @throws ToolError `MISSING_PACKAGE`, `TOOL_UNAVAILABLE` after `close`.
   */
  readonly fetch: (
    request: Request,
    options?: { readonly authInfo?: McpAuthInfo },
  ) => Promise<Response>;
  /**
   * Listens for web clients under `/mcp`, with bounds on what a connection can hold.
   *
   * Without `allowedHosts` it answers under the names of this machine for itself and under `host`.
   *
   * @param options `port` (0 takes any that is free; 4781) and `host` ('127.0.0.1'; any but this machine's own needs `token` or `verify`).
   * @throws ToolError `INVALID_ARGUMENT` for an address of others without a token, or one that cannot be listened on;
   * `MISSING_PACKAGE`, `TOOL_UNAVAILABLE` after `close`.
   */
  serveHttp(options?: { readonly port?: number; readonly host?: string }): Promise<RunningServer>;
  /**
   * Asks the user behind a client what a server behind this one asks in the client's call: the `onElicit` of a discovery
   * whose tools are served. Such a call waits in this process, so the client's answer must come back to it.
   *
   * It can be passed around on its own.
   */
  readonly onElicit: OnElicit;
  /** Ends all connections and the calls that run in them, for good; closes the executor, unless it was given. */
  close(): Promise<void>;
}

/**
 * Serves the tools of a registry over the Model Context Protocol, to clients of 2025 and of 2026-07-28.
 *
 * Every call goes through the executor, and so through its policy. Where approval is needed the user behind the client is
 * asked by elicitation, unless the executor has a `confirm` of its own; a client that cannot ask is refused. Questions of
 * tools are asked in the same way. Progress and cancellation pass through.
 *
 * More tools than `maxTools` are not listed but found: `find_tools` adds what it finds to the list of the connection, and
 * `call_tool` calls by name, for clients that do not look at the list again.
 *
 * Needs the package `@modelcontextprotocol/server`, when something is first served.
 *
 * ```ts
 * const server = createMcpServer(registry, { name: 'files', filter: { maxDanger: 'medium' } });
 * await server.serveStdio();
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` with every wrong option.
 */
export function createMcpServer(
  registry: ToolMetadataRegistry,
  options: McpServerOptions = {},
): McpToolServer {
  return new ToolServer(registry, checkServerOptions(registry, options));
}

const NO_CONVERSATION =
  'Requests without a session have no conversation, so nothing remembers what their calls read. Name a conversationId in "context".';

/** The parts that exist once the SDK is loaded. */
interface Started {
  readonly sdk: ServerSdk;
  /** Makes the server of a connection; one that lasts hears of changes. */
  readonly connect: (lasts: boolean) => Server;
  /** Answers `fetch`. */
  readonly http: HttpFace;
}

class ToolServer implements McpToolServer {
  readonly onElicit: OnElicit;
  readonly #options: CheckedServerOptions;
  readonly #executor: ToolExecutor;
  readonly #tools: ServedTools;
  readonly #running: RelayedCalls;
  readonly #key: Uint8Array;
  /** The connections and faces that are told of changes. */
  readonly #told = new Set<Pick<HttpFace, 'tellChange'>>();
  readonly #open = new Set<Pick<HttpFace, 'close'>>();
  readonly #stopListening: () => void;
  #gathering: (() => void) | undefined;
  #started: Promise<Started> | undefined;
  #closed = false;

  constructor(registry: ToolMetadataRegistry, options: CheckedServerOptions) {
    const { policy, store, clock, approvalKey } = options;
    this.#options = options;
    this.#key = approvalKey ?? randomBytes(32);
    this.#executor =
      options.executor ??
      new ToolExecutor({
        registry,
        ...(policy && { policy }),
        ...(store && { store }),
        ...(clock && { clock }),
        ...(approvalKey && { approvalKey }),
      });
    this.#tools = new ServedTools(registry, options);
    this.#running = new RelayedCalls(clock ?? systemClock);
    this.onElicit = this.#running.onElicit;
    this.#stopListening = registry.onChange(() => this.#gatherChanges());
  }

  async serveStdio({
    input,
    output,
  }: { readonly input?: Readable; readonly output?: Writable } = {}): Promise<McpConnection> {
    const { sdk } = await this.#start();
    const own = output === undefined ? ownOutput() : undefined;
    const connection = await this.connect(
      new sdk.StdioServerTransport(input, output ?? own?.output),
    );
    void connection.closed.then(() => own?.release());
    return connection;
  }

  async connect(transport: McpTransport): Promise<McpConnection> {
    const { sdk, connect } = await this.#start();
    const wire = transport as Transport;
    const handle = sdk.serveStdio(() => connect(true), {
      transport: wire,
      onerror: (error) => this.#options.onError?.(error),
    });
    let closed!: () => void;
    const connection: McpConnection = {
      closed: new Promise<void>((resolve) => (closed = resolve)),
      close: () => handle.close(),
    };
    const ofSdk = wire.onclose;
    wire.onclose = () => {
      ofSdk?.();
      this.#open.delete(connection);
      closed();
    };
    this.#open.add(connection);
    return connection;
  }

  readonly fetch = async (
    request: Request,
    { authInfo }: { readonly authInfo?: McpAuthInfo } = {},
  ): Promise<Response> => {
    const { http } = await this.#start();
    return http.fetch(request, authInfo as AuthInfo | undefined);
  };

  async serveHttp(
    options: { readonly port?: number; readonly host?: string } = {},
  ): Promise<RunningServer> {
    const { port, host } = checkOptions(serveHttpOptions, options, 'options of serveHttp');
    const { token, verify, allowedHosts = hostsFor(host) } = this.#options;
    const { sdk, connect } = await this.#start();
    const face = createHttpFace(sdk, { ...this.#options, allowedHosts }, connect, (name) =>
      this.#tools.inputSchemaOf(name),
    );
    const listening = await listenHttp(face, {
      port,
      host,
      needsToken: token !== undefined || verify !== undefined,
    });
    if (this.#closed) {
      await Promise.all([face.close(), listening.close()]);
      throw isClosed();
    }
    this.#told.add(face);
    const running: RunningServer = Object.freeze({
      url: listening.url,
      close: async () => {
        this.#open.delete(running);
        this.#told.delete(face);
        await Promise.all([face.close(), listening.close()]);
      },
    });
    this.#open.add(running);
    return running;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopListening();
    this.#gathering?.();
    this.#running.close();
    await Promise.all([...this.#open].map((connection) => connection.close()));
    if (this.#options.executor === undefined) await this.#executor.close();
  }

  async #start(): Promise<Started> {
    const started = await (this.#started ??= this.#prepare());
    // Also while the SDK was loaded: what is opened now would never be closed.
    if (this.#closed) throw isClosed();
    return started;
  }

  async #prepare(): Promise<Started> {
    const sdk = await importServerSdk();
    const options = this.#options;
    const codec = sdk.createRequestStateCodec<AskedBefore>({
      key: this.#key,
      bind: (request) =>
        contextOf({ sdk, options }, request).principal ?? ownerOf(options, request.http?.authInfo),
    });
    const calls = new ToolCalls({
      sdk,
      executor: this.#executor,
      codec,
      running: this.#running,
      now: () => (options.clock ?? systemClock).now(),
    });
    const warnAlone = once(() => options.onError?.(new Error(NO_CONVERSATION)));
    const parts = { sdk, options, tools: this.#tools, calls, codec, warnAlone };
    const connect = (lasts: boolean): Server => {
      const connection = new Connection(parts, lasts);
      if (lasts) {
        this.#told.add(connection);
        connection.server.onclose = () => this.#told.delete(connection);
      }
      return connection.server;
    };
    const http = createHttpFace(sdk, options, connect, (name) => this.#tools.inputSchemaOf(name));
    this.#told.add(http);
    this.#open.add(http);
    return { sdk, connect, http };
  }

  /** Tells of all changes of one turn at once, and no later: until a client hears, it calls by the old definition. */
  #gatherChanges(): void {
    this.#gathering ??= (this.#options.clock ?? systemClock).after(
      0,
      () => {
        this.#gathering = undefined;
        for (const each of this.#told) each.tellChange();
      },
      { background: true },
    );
  }
}

async function importServerSdk(): Promise<ServerSdk> {
  const missing = missingPackage('@modelcontextprotocol/server');
  const [sdk, { serveStdio, StdioServerTransport }] = await Promise.all([
    import('@modelcontextprotocol/server').catch(missing),
    import('@modelcontextprotocol/server/stdio').catch(missing),
  ]);
  return { ...sdk, serveStdio, StdioServerTransport };
}

function isClosed(): ToolError {
  return new ToolError(
    'TOOL_UNAVAILABLE',
    'Expected a server that is open, got a closed one. Make a new one.',
  );
}
