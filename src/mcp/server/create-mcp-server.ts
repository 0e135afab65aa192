import { without } from '../../core/plain-data.js';
import type { AuthInfo, Server, Transport } from '@modelcontextprotocol/server';
import { randomBytes } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { systemClock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import { missingPackage, requireInstalled } from '../../core/issues.js';
import { checkOptions, once } from '../../core/options.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import { hostsFor } from '../../host/addresses.js';
import type { RunningServer } from '../../host/listen.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { OnElicit } from '../connection/elicitation.js';
import { Connection } from './connection.js';
import { HttpFace, listenHttp } from './http-face.js';
import { ownOutput } from './own-output.js';
import { RelayedCalls } from './relayed-calls.js';
import { RelayedLists } from './relayed-lists.js';
import { onClose, Relays, type Changed } from './relays.js';
import { contextOf, ownerOf } from './request-context.js';
import { ServedTools } from './served-tools.js';
import {
  checkServerOptions,
  serveHttpOptions,
  type CheckedServerOptions,
  type McpAuthInfo,
  type McpServerOptions,
} from './server-options.js';
import { ToolCalls, type AskedBefore, type ServerSdk } from './tool-calls.js';

/** A message channel to one client, like the official SDK's transports. */
export interface McpTransport {
  start(): Promise<void>;
  send(message: object, options?: object): Promise<void>;
  close(): Promise<void>;
}

/** A client being served. */
export interface McpConnection {
  /** Resolves when the client has disconnected or the connection was closed. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** A server for a registry's tools. It starts to listen when you call one of its functions. */
export interface McpToolServer {
  /**
   * Serves one client on a pair of streams. On standard output, anything else that the process
   * prints, such as a tool's `console.log`, goes to standard error. If you pass your own stream,
   * print nothing else to it.
   *
   * @param streams
   * @default standard input and output of the process
   * @throws ToolError `MISSING_PACKAGE`, or `TOOL_UNAVAILABLE` after `close`.
   */
  serveStdio(streams?: {
    readonly input?: Readable;
    readonly output?: Writable;
  }): Promise<McpConnection>;
  /**
   * Serves one client on any long-lived transport.
   * @throws ToolError `MISSING_PACKAGE`, or `TOOL_UNAVAILABLE` after `close`.
   */
  connect(transport: McpTransport): Promise<McpConnection>;
  /**
   * Handles a web request (streamable HTTP). Its host and origin must be allowed, and it must have
   * the token that the server requires. `/healthz` and, with `verify`,
   * `/.well-known/oauth-protected-resource` need no token.
   *
   * You can pass this function around by itself.
   *
   * @param request Its body can be at most 4 MiB.
   * @param options `authInfo` describes a token that your program has checked itself. The option
   * `verify` overrides it.
   * @throws ToolError `MISSING_PACKAGE`, or `TOOL_UNAVAILABLE` after `close`.
   */
  readonly fetch: (
    request: Request,
    options?: { readonly authInfo?: McpAuthInfo },
  ) => Promise<Response>;
  /**
   * Listens for web clients at `/mcp`, with limits on each connection.
   *
   * Without `allowedHosts`, it accepts this machine's own names and `host`.
   *
   * @param options `port` (default 4781; 0 picks a free port) and `host` (default '127.0.0.1'; any
   * address beyond this machine requires `token` or `verify`).
   * @throws ToolError `INVALID_ARGUMENT` for a public address without a token, or an unusable
   * address. `MISSING_PACKAGE`, or `TOOL_UNAVAILABLE` after `close`.
   */
  serveHttp(options?: { readonly port?: number; readonly host?: string }): Promise<RunningServer>;
  /**
   * Forwards a question from a server whose tools you serve to the client's user. Use this function
   * as the `onElicit` option of the discovery. The call waits in this process, so the client must
   * send its answer to the same process.
   *
   * You can pass this function around by itself.
   */
  readonly onElicit: OnElicit;
  /**
   * Closes all connections and ends the calls running in them. Closes the executor, unless you
   * provided it.
   */
  close(): Promise<void>;
}

/**
 * Serves a registry's tools over the Model Context Protocol, in its versions of 2025 and
 * 2026-07-28.
 *
 * The executor runs every call and applies its policy. If a call needs approval, the client's user
 * is asked by elicitation, unless the executor has its own `confirm`. If a client can't ask the
 * user, the call is refused. Questions from tools are also asked by elicitation. Progress and
 * cancellation are forwarded.
 *
 * If there are more tools than `maxTools`, clients find them with `find_tools` and call them with
 * `call_tool`. Resources and prompts are those of discovered servers. To serve your own, use the
 * SDK's `McpServer`.
 *
 * Requires the package `@modelcontextprotocol/server` when it first serves.
 *
 * ```ts
 * const server = createMcpServer(registry, { name: 'files', filter: { maxDanger: 'medium' } });
 * await server.serveStdio();
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT`, which lists every invalid option.
 */
export function createMcpServer(
  registry: ToolMetadataRegistry,
  serverOptions: McpServerOptions = {},
): McpToolServer {
  return new ToolServer(registry, checkServerOptions(serverOptions));
}

/** The parts of a server that need the SDK. */
interface Prepared {
  readonly sdk: ServerSdk;
  readonly connect: (lasts: boolean) => Server;
  readonly face: HttpFace;
}

class ToolServer implements McpToolServer {
  readonly onElicit: OnElicit;
  readonly #options: CheckedServerOptions;
  readonly #executor: ToolExecutor;
  readonly #tools: ServedTools;
  readonly #running: RelayedCalls;
  /** Holds all that must be closed. */
  readonly #open = new Set<{ close(): unknown }>();
  /** The functions that tell clients that a list has changed. */
  readonly #told = new Set<(what: Changed) => unknown>();
  readonly #prepare = once(() => this.#prepared());
  #isClosed = false;

  constructor(registry: ToolMetadataRegistry, options: CheckedServerOptions) {
    const { policy, store, approvalKey, clock = systemClock } = options;
    this.#options = options;
    this.#executor =
      options.executor ??
      new ToolExecutor({ registry, clock, ...without({ policy, store, approvalKey }) });
    this.#tools = new ServedTools(registry, options);
    this.#running = new RelayedCalls(clock);
    this.onElicit = this.#running.onElicit;
    this.#open.add({ close: registry.onChange(() => this.#tellAll()) });
  }

  async serveStdio({
    input,
    output,
  }: Parameters<McpToolServer['serveStdio']>[0] = {}): Promise<McpConnection> {
    const { sdk } = await this.#start();
    const own = output === undefined ? ownOutput() : undefined;
    const transport = new sdk.StdioServerTransport(input, output ?? own?.output);
    const connection = await this.connect(transport);
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
    let end!: () => void;
    const closed = new Promise<void>((resolve) => (end = resolve));
    const connection = { closed, close: () => handle.close() };
    const ofSdk = wire.onclose;
    wire.onclose = () => {
      ofSdk?.();
      this.#open.delete(connection);
      end();
    };
    this.#open.add(connection);
    return connection;
  }

  readonly fetch: McpToolServer['fetch'] = async (request, { authInfo } = {}) => {
    const { face } = await this.#start();
    return face.fetch(request, authInfo as AuthInfo | undefined);
  };

  async serveHttp(where: Parameters<McpToolServer['serveHttp']>[0] = {}): Promise<RunningServer> {
    const { port, host } = checkOptions(serveHttpOptions, where, 'options of serveHttp');
    const { token, verify, allowedHosts = hostsFor(host) } = this.#options;
    const { sdk, connect } = await this.#start();
    const face = this.#face(sdk, connect, { ...this.#options, allowedHosts });
    const needsToken = token !== undefined || verify !== undefined;
    const listening = await listenHttp(face, { port, host, needsToken });
    const closeBoth = async () => {
      this.#open.delete(listed);
      await Promise.all([face.close(), listening.close()]);
    };
    const listed: RunningServer = Object.freeze({ url: listening.url, close: closeBoth });
    this.#open.add(listed);
    return listed;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#running.close();
    await Promise.all([...this.#open].map((each) => each.close()));
    if (this.#options.executor === undefined) await this.#executor.close();
  }

  /** Resources and prompts are served through tools, so they may have changed with the tools. */
  #tellAll(): void {
    for (const what of ['tools', 'resources', 'prompts'] as const) this.#tell(what);
  }

  #tell(what: Changed): void {
    for (const tell of this.#told) tell(what);
  }

  /** Checks for `close` again, because the server may have been closed while the SDK was loading. */
  async #start(): Promise<Prepared> {
    const prepared = await this.#prepare();
    if (this.#isClosed)
      throw new ToolError('TOOL_UNAVAILABLE', 'This server is closed. Create a new one.');
    return prepared;
  }

  async #prepared(): Promise<Prepared> {
    const options = this.#options;
    const tools = this.#tools;
    const running = this.#running;
    const sdk = await importServerSdk();
    const codec = sdk.createRequestStateCodec<AskedBefore>({
      key: options.approvalKey ?? randomBytes(32),
      bind: (request) =>
        contextOf(sdk, options, request).principal ?? ownerOf(options, request.http?.authInfo),
    });
    const calls = new ToolCalls({ sdk, executor: this.#executor, codec, running });
    const lists = new RelayedLists(sdk, options, tools, calls);
    const relays = new Relays(lists, options.discovery, running, (what) => this.#tell(what));
    const warnAlone = once(() => options.onError?.(new Error(NO_CONVERSATION)));
    const parts = { sdk, options, tools, calls, relays, codec, warnAlone };
    const connect = (lasts: boolean) => {
      const { server } = new Connection(parts, lasts);
      if (lasts) this.#keepTold(server);
      return server;
    };
    const face = this.#face(sdk, connect, options);
    this.#open.add(face).add(relays);
    return { sdk, connect, face };
  }

  #keepTold(server: Server): void {
    const tell = (what: Changed) =>
      // The client may be gone, or was never told of such a list.
      void server
        .notification({ method: `notifications/${what}/list_changed` })
        .catch(() => undefined);
    this.#told.add(tell);
    onClose(server, () => void this.#told.delete(tell));
  }

  #face(
    sdk: ServerSdk,
    connect: (lasts: boolean) => Server,
    options: CheckedServerOptions,
  ): HttpFace {
    const face = new HttpFace(sdk, options, connect, (name) => this.#tools.inputSchemaOf(name));
    this.#told.add((what) => face.tellChange(what));
    return face;
  }
}

const NO_CONVERSATION =
  'Requests without a session have no conversation, so the policy can\'t track what their calls read. Return a conversationId from "context".';

async function importServerSdk(): Promise<ServerSdk> {
  try {
    const sdk = requireInstalled(await import('@modelcontextprotocol/server'));
    const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
    return { ...sdk, serveStdio, StdioServerTransport };
  } catch (cause) {
    return missingPackage('@modelcontextprotocol/server')(cause);
  }
}
