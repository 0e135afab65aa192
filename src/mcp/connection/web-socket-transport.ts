import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

/** The part of the package `ws` that is used. */
export interface WsModule {
  readonly WebSocket: new (url: string, protocol: string, options: { readonly headers: Readonly<Record<string, string>>; readonly maxPayload: number; readonly followRedirects: false }) => WsSocket;
}

interface WsSocket {
  on(event: 'open' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'message', listener: (data: unknown, isBinary: boolean) => void): unknown;
  send(text: string, done: (error?: Error | null) => void): void;
  terminate(): void;
}

interface WebSocketTransportOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The package `ws`: unlike the socket of newer runtimes it sends headers and bounds messages before it has read them. */
  readonly ws: WsModule;
  /** Bytes of one message at most. */
  readonly maxBytes: number;
  /** Turns what was parsed into a message, or throws. */
  readonly parse: (value: unknown) => JSONRPCMessage;
}

/**
 * The transport for MCP over a WebSocket: one message a frame, with the sub-protocol `mcp`.
 *
 * The protocol never standardized it and the SDK has dropped it; servers that speak it speak the 2025 protocol.
 */
export class WebSocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #options: WebSocketTransportOptions;
  #socket: WsSocket | undefined;

  constructor(options: WebSocketTransportOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    const { url, headers, ws, maxBytes } = this.#options;
    const socket = new ws.WebSocket(url, 'mcp', { headers, maxPayload: maxBytes, followRedirects: false });
    this.#socket = socket;
    return new Promise((resolve, reject) => {
      socket.on('open', () => resolve());
      socket.on('error', (error) => {
        reject(error);
        this.onerror?.(error);
      });
      socket.on('close', () => {
        reject(new Error('the connection was closed'));
        this.onclose?.();
      });
      socket.on('message', (data, isBinary) => {
        if (!isBinary) this.#receive((data as Buffer).toString('utf8'));
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#socket === undefined) return reject(new Error('not connected'));
      this.#socket.send(JSON.stringify(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  close(): Promise<void> {
    // Without a farewell: a server that hangs would never answer it, and nothing is lost.
    this.#socket?.terminate();
    return Promise.resolve();
  }

  #receive(text: string): void {
    let message: JSONRPCMessage;
    try {
      message = this.#options.parse(JSON.parse(text));
    } catch (error) {
      return this.onerror?.(error as Error);
    }
    this.onmessage?.(message);
  }
}
