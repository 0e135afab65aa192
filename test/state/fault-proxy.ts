import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A network between a client and a server that fails as told. */
export class FaultProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** How long each piece of data takes to the server. */
  delayMs = 0;
  /** Whether all data is lost, without a sign to either side. */
  silent = false;
  /** After so many pieces of data to the server the connection is reset; 0 for never. */
  resetEvery = 0;
  /** How many connections were accepted. */
  accepted = 0;

  private constructor(targetPort: number) {
    this.#server = createServer((client) => this.#join(client, targetPort));
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

  async stop(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #join(client: Socket, targetPort: number): void {
    this.accepted += 1;
    const server = connect(targetPort, '127.0.0.1');
    let pieces = 0;
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (data) => {
      pieces += 1;
      if (this.resetEvery > 0 && pieces % this.resetEvery === 0) client.resetAndDestroy();
      else if (this.delayMs > 0) setTimeout(() => this.#pass(data, server), this.delayMs);
      else this.#pass(data, server);
    });
    server.on('data', (data) => this.#pass(data, client));
  }

  #pass(data: Buffer, to: Socket): void {
    if (!this.silent && !to.destroyed) to.write(data);
  }
}
