import type * as McpClient from '@modelcontextprotocol/client';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { parseEnv } from 'node:util';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type * as McpStdio from '@modelcontextprotocol/client/stdio';
import type * as Ws from 'ws';
import { ToolError } from '../../core/errors.js';
import { missingPackage, requireInstalled } from '../../core/issues.js';
import { publicMessage } from '../../core/public-message.js';
import type { ServerLogin } from '../login/server-login.js';
import { cleanText } from '../translate/foreign-text.js';
import { once } from '../../core/options.js';
import type { McpTransportSettings } from '../settings/transport-settings.js';

/** The functions that load the optional packages. */
export interface McpPackages {
  readonly client: () => Promise<typeof McpClient>;
  readonly stdio: () => Promise<typeof McpStdio>;
  /**
   * Loads `ws`. The return type is declared here, because users may not have installed the package
   * with its types.
   */
  readonly ws: () => Promise<unknown>;
}

export const MCP_PACKAGES: McpPackages = Object.freeze({
  // The module is cached, because every call needs it and even a repeated import takes time.
  client: once(async () => {
    try {
      return requireInstalled(await import('@modelcontextprotocol/client'));
    } catch (cause) {
      return missingPackage('@modelcontextprotocol/client')(cause);
    }
  }),
  stdio: async () => {
    try {
      return await import('@modelcontextprotocol/client/stdio');
    } catch (cause) {
      return missingPackage('@modelcontextprotocol/client')(cause);
    }
  },
  ws: async () => {
    try {
      return requireInstalled(await import('ws'));
    } catch (cause) {
      return missingPackage('ws')(cause);
    }
  },
});

/** The credentials of a connection, in addition to the settings. */
export interface RequestAuth {
  /** The source of tokens for requests over HTTP. */
  readonly login?: ServerLogin | undefined;
  /** Returns headers for each HTTP request. They override the headers in the settings. */
  readonly ownHeaders?: (() => Promise<Headers | undefined>) | undefined;
}

/**
 * Returns the transport to a server, not yet started.
 *
 * A process gets the SDK's short list of environment variables (PATH, HOME and the like) and the
 * variables listed in its settings. Its stderr isn't printed, because it would clutter the terminal
 * and may contain secrets.
 *
 * @param settings The settings with their variables filled in.
 * @param onTooLarge Called if a message over HTTP is too large. On other transports such a message
 * ends the connection.
 */
export async function createTransport(
  settings: McpTransportSettings,
  packages: McpPackages,
  onTooLarge: () => void,
  { login, ownHeaders }: RequestAuth = {},
): Promise<Transport> {
  if (settings.kind === 'stdio') {
    const { StdioClientTransport } = await packages.stdio();
    const { command, args, env, cwd } = settings;
    // For its own class, the SDK would start a second process to find out the protocol.
    class InPlaceTransport extends StdioClientTransport {}
    return new InPlaceTransport({
      command,
      args: [...args],
      env: { ...env },
      stderr: 'pipe',
      maxBufferSize: MAX_MESSAGE_BYTES,
      ...(cwd === undefined ? {} : { cwd }),
    });
  }
  const { parseJSONRPCMessage, SSEClientTransport, StreamableHTTPClientTransport } =
    await packages.client();
  const { kind, url, headers } = settings;
  const bounded = boundedFetch(onTooLarge);
  const send: typeof bounded = async (input, init) => {
    const all = new Headers(init?.headers);
    (await ownHeaders?.())?.forEach((value, name) => all.set(name, value));
    return bounded(input, { ...init, headers: all });
  };
  const options = {
    requestInit: { headers: { ...headers } },
    fetch: send,
    ...(login && { authProvider: login }),
  };
  switch (kind) {
    case 'http':
      return new StreamableHTTPClientTransport(new URL(url), options);
    case 'sse':
      // Deprecated by the SDK, but some servers support nothing else.
      return new SSEClientTransport(new URL(url), options);
    case 'websocket':
      return new WebSocketTransport(
        url,
        { ...headers, ...Object.fromEntries((await ownHeaders?.()) ?? []) },
        (await packages.ws()) as typeof Ws,
        parseJSONRPCMessage,
      );
  }
}

/**
 * Returns settings with the environment variables from their file. Variables in the settings
 * override those in the file.
 * @throws ToolError `INVALID_ARGUMENT` if the file can't be read.
 */
export async function withEnvFile(settings: McpTransportSettings): Promise<McpTransportSettings> {
  if (settings.kind !== 'stdio' || settings.envFile === undefined) return settings;
  try {
    const variables = parseEnv(
      await readFile(resolve(settings.cwd ?? '.', settings.envFile), 'utf8'),
    );
    return { ...settings, env: { ...(variables as Record<string, string>), ...settings.env } };
  } catch (error) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `Could not read the env_file ${JSON.stringify(settings.envFile)} (${String((error as NodeJS.ErrnoException).code ?? 'unknown error')}).`,
      { cause: error },
    );
  }
}

/** Minimum length of a secret. Shorter values occur in too many ordinary words. */
const LEAST_SECRET = 8;

/**
 * Returns a function that removes the secrets of a server's settings from a text. It removes longer
 * secrets first, because they may contain shorter ones.
 */
export function hidingSecrets(secrets: readonly string[]): (text: string) => string {
  const all = secrets
    .filter(({ length }) => length >= LEAST_SECRET)
    .sort((a, b) => b.length - a.length);
  return (text) => all.reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text);
}

/** Maximum number of characters of a server's stderr that are kept. */
const KEPT = 8_192;
const SHOWN = 4_096;

/**
 * Reads the stderr of a transport's process.
 *
 * @param hide Removes the secrets of the server's settings.
 * @returns a function for the last 4 KiB in whole lines, without credentials, absolute paths and
 * hidden characters.
 */
export function listenToStderr(transport: Transport, hide: (text: string) => string): () => string {
  let said = '';
  let isCut = false;
  const { stderr } = transport as { readonly stderr?: Readable | null };
  stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    isCut ||= said.length + chunk.length > KEPT;
    said = (said + chunk).slice(-KEPT);
  });
  return () => {
    // The first line may be cut in the middle of a secret.
    const lines = (isCut ? said.slice(said.indexOf('\n') + 1 || said.length) : said)
      .split('\n')
      .map((line) => line.trimEnd());
    const safe = lines.map((line) => (line === '' ? '' : publicMessage(hide(line))));
    return cleanText(safe.join('\n'), KEPT).slice(-SHOWN);
  };
}

/**
 * Maximum size of a server's message: 16 MiB. The SDK's own limit of 10 MiB would be too low: one
 * huge tool would make all tools unavailable.
 */
const MAX_MESSAGE_BYTES = 16 * 2 ** 20;

/**
 * Returns a `fetch` whose responses are aborted if a single message is larger than 16 MiB.
 *
 * The SDK itself reads bodies of any size. An event stream may last for days, so counting starts
 * again at each empty line, which ends an event.
 *
 * @param onTooLarge Called for such a message, to end the call. The SDK alone would let the call
 * wait forever.
 */
export function boundedFetch(
  onTooLarge: () => void = () => undefined,
): (input: string | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    const isStream =
      response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
    let size = 0;
    let tail = '';
    const bound = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        // An empty line can arrive in two chunks.
        const text = tail + (isStream ? Buffer.from(chunk).toString('latin1') : '');
        tail = text.slice(-3);
        const end = Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\r\n\r\n'));
        size = end === -1 ? size + chunk.length : text.length - end;
        if (size <= MAX_MESSAGE_BYTES) return controller.enqueue(chunk);
        controller.error(
          new Error(`The server sent a message of more than ${MAX_MESSAGE_BYTES} bytes.`),
        );
        onTooLarge();
      },
    });
    const bounded = new Response(response.body.pipeThrough(bound), response);
    // A new `Response` loses the final URL, and only the final URL reveals a redirect.
    Object.defineProperty(bounded, 'url', { value: response.url });
    Object.defineProperty(bounded, 'redirected', { value: response.redirected });
    return bounded;
  };
}

/**
 * The transport for MCP over a WebSocket: one message per frame, with the sub-protocol `mcp`.
 *
 * It was never standardized, and the SDK has dropped it. Servers that support it use the 2025
 * protocol. Unlike the WebSocket built into newer runtimes, the package `ws` sends headers and
 * limits messages before it reads them.
 */
class WebSocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  #socket: Ws.WebSocket | undefined;

  /** @param parse Converts parsed JSON to a message, or throws. */
  constructor(
    readonly url: string,
    readonly headers: Readonly<Record<string, string>>,
    readonly ws: typeof Ws,
    readonly parse: (value: unknown) => JSONRPCMessage,
  ) {}

  start(): Promise<void> {
    const { url, headers } = this;
    const options = { headers, maxPayload: MAX_MESSAGE_BYTES, followRedirects: false };
    const socket = (this.#socket = new this.ws.WebSocket(url, 'mcp', options));
    socket.on('message', (data, isBinary) => {
      if (!isBinary) this.#receive((data as Buffer).toString('utf8'));
    });
    return new Promise((resolve, reject) => {
      socket.on('open', resolve);
      socket.on('error', (error) => {
        reject(error);
        this.onerror?.(error);
      });
      socket.on('close', () => {
        reject(new Error('the connection was closed'));
        this.onclose?.();
      });
    });
  }

  #receive(text: string): void {
    let message: JSONRPCMessage;
    try {
      message = this.parse(JSON.parse(text));
    } catch (error) {
      return this.onerror?.(error as Error);
    }
    this.onmessage?.(message);
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#socket === undefined) return reject(new Error('not connected'));
      this.#socket.send(JSON.stringify(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  close(): Promise<void> {
    // `close` would wait for the server's reply, and a server that hangs never replies.
    this.#socket?.terminate();
    return Promise.resolve();
  }
}
