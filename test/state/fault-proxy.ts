import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A network between a client and a server that fails on demand. */
export class FaultProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #pairs = new Set<{ readonly client: Socket; readonly server: Socket }>();
  /** The port that new connections lead to. */
  targetPort: number;
  /** The delay of each piece of data on its way to the server, in milliseconds. */
  delayMs = 0;
  /**
   * Drops all data without telling either side. A connection that lost data stays silent forever.
   */
  silent = false;
  /** The number of pieces of data after which the connection is reset. 0 means never. */
  resetEvery = 0;
  /** Cuts the next reply in half before the connection is reset. */
  truncating = false;
  /** The number of accepted connections, and of pieces of data for the server. */
  accepted = 0;
  pieces = 0;

  private constructor(targetPort: number) {
    this.targetPort = targetPort;
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#join(client));
  }

  static async start(targetPort: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(targetPort);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resets all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Ends the stream to the clients, but still accepts data from them. */
  endToClients(): void {
    for (const { client } of this.#pairs) client.end();
  }

  /** Closes the connections to the server without telling the clients. */
  forgetClients(): void {
    for (const pair of this.#pairs) {
      this.#pairs.delete(pair);
      pair.server.destroy();
    }
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #join(client: Socket): void {
    this.accepted += 1;
    const server = connect(this.targetPort, '127.0.0.1');
    const pair = { client, server };
    this.#pairs.add(pair);
    let isLost = false;
    let toServer = Promise.resolve();
    const pass = (data: Buffer, to: Socket): void => {
      isLost ||= this.silent;
      if (!isLost && !to.destroyed) to.write(data);
    };
    let pieces = 0;
    client.on('end', () => client.end());
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        if (socket === client || this.#pairs.has(pair)) other.destroy();
        this.#pairs.delete(pair);
      });
    }
    client.on('data', (data) => {
      pieces += 1;
      this.pieces += 1;
      if (this.resetEvery > 0 && pieces % this.resetEvery === 0) client.resetAndDestroy();
      else {
        // Keeps the order even if the delay changes.
        const { delayMs } = this;
        toServer = toServer.then(async () => {
          if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
          pass(data, server);
        });
      }
    });
    server.on('data', (data) => {
      if (!this.truncating) return pass(data, client);
      this.truncating = false;
      client.write(data.subarray(0, Math.ceil(data.length / 2)), () => client.resetAndDestroy());
    });
  }
}
