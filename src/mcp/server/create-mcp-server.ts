import { without } from '../../core/plain-data.js';
import type { AuthInfo, Transport } from '@modelcontextprotocol/server';
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
import { createConnection } from './connection.js';
import { createHttpFace, listenHttp } from './http-face.js';
import { ownOutput } from './own-output.js';
import { RelayedCalls } from './relayed-calls.js';
import { contextOf, ownerOf } from './request-context.js';
import { servedTools } from './served-tools.js';
import {
  checkServerOptions,
  serveHttpOptions,
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
 * `call_tool`.
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
  given: McpServerOptions = {},
): McpToolServer {
  const options = checkServerOptions(given);
  const { policy, store, approvalKey, clock = systemClock, onError } = options;
  const executor =
    options.executor ??
    new ToolExecutor({
      registry,
      clock,
      ...without({ policy, store, approvalKey }),
    });
  const tools = servedTools(registry, options);
  const running = new RelayedCalls(clock);
  // `open` contains everything to close, and `told` the functions that notify clients of changes.
  const open = new Set<{ close(): Promise<void> }>();
  const told = new Set<() => unknown>();
  let isClosed = false;
  const stopListening = registry.onChange(() => {
    for (const tell of told) tell();
  });

  const prepare = once(async () => {
    const sdk = await importServerSdk();
    const codec = sdk.createRequestStateCodec<AskedBefore>({
      key: approvalKey ?? randomBytes(32),
      bind: (request) =>
        contextOf(sdk, options, request).principal ?? ownerOf(options, request.http?.authInfo),
    });
    const calls = new ToolCalls({ sdk, executor, codec, running });
    const warnAlone = once(() => onError?.(new Error(NO_CONVERSATION)));
    const connect = (lasts: boolean) => {
      const server = createConnection({ sdk, options, tools, calls, codec, warnAlone }, lasts);
      if (lasts) {
        const tell = () => server.sendToolListChanged().catch(() => undefined); // The client may be gone.
        told.add(tell);
        server.onclose = () => told.delete(tell);
      }
      return server;
    };
    const createFace = (hosts = options.allowedHosts) => {
      const checked = { ...options, ...(hosts && { allowedHosts: hosts }) };
      const face = createHttpFace(sdk, checked, connect, (name) => tools.inputSchemaOf(name));
      const tell = () => face.tellChange();
      told.add(tell);
      const close = () => {
        told.delete(tell);
        return face.close();
      };
      return { ...face, close };
    };
    const face = createFace();
    open.add(face);
    return { sdk, connect, face, createFace };
  });
  // Checked again, because the server may have been closed while the SDK was loading.
  const start = async () => {
    const started = await prepare();
    if (isClosed)
      throw new ToolError('TOOL_UNAVAILABLE', 'This server is closed. Create a new one.');
    return started;
  };

  const connect = async (transport: McpTransport): Promise<McpConnection> => {
    const started = await start();
    const wire = transport as Transport;
    const handle = started.sdk.serveStdio(() => started.connect(true), {
      transport: wire,
      onerror: (error) => onError?.(error),
    });
    let end!: () => void;
    const closed = new Promise<void>((resolve) => (end = resolve));
    const connection = { closed, close: () => handle.close() };
    const ofSdk = wire.onclose;
    wire.onclose = () => {
      ofSdk?.();
      open.delete(connection);
      end();
    };
    open.add(connection);
    return connection;
  };

  return {
    connect,
    onElicit: running.onElicit,
    async serveStdio({ input, output } = {}) {
      const { sdk } = await start();
      const own = output === undefined ? ownOutput() : undefined;
      const transport = new sdk.StdioServerTransport(input, output ?? own?.output);
      const connection = await connect(transport);
      void connection.closed.then(() => own?.release());
      return connection;
    },
    async fetch(request, { authInfo } = {}) {
      const { face } = await start();
      return face.fetch(request, authInfo as AuthInfo | undefined);
    },
    async serveHttp(where = {}) {
      const { port, host } = checkOptions(serveHttpOptions, where, 'options of serveHttp');
      const { token, verify, allowedHosts = hostsFor(host) } = options;
      const { createFace } = await start();
      const face = createFace(allowedHosts);
      const needsToken = token !== undefined || verify !== undefined;
      const listening = await listenHttp(face, { port, host, needsToken });
      const closeBoth = async () => {
        open.delete(listed);
        await Promise.all([face.close(), listening.close()]);
      };
      const listed: RunningServer = Object.freeze({ url: listening.url, close: closeBoth });
      open.add(listed);
      return listed;
    },
    async close() {
      isClosed = true;
      stopListening();
      running.close();
      await Promise.all([...open].map((each) => each.close()));
      if (options.executor === undefined) await executor.close();
    },
  };
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
