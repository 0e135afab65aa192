import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Lets a server have at most so many connections; a new one takes the place of the oldest that waits for no answer.
 *
 * Refusing the newest, as `server.maxConnections` does, lets whoever holds all places with half-sent requests
 * (Slowloris) keep everybody else out until those time out.
 */
export function limitConnections(server: Server, most: number): void {
  /** How many answers each connection waits for; the oldest connection first. */
  const waiting = new Map<Socket, number>();
  server.on('connection', (socket) => {
    if (waiting.size >= most) {
      const oldest = [...waiting].find(([, answers]) => answers === 0)?.[0] ?? socket;
      // Forgotten now and not when it is closed: several may come before that.
      waiting.delete(oldest);
      oldest.destroy();
      if (oldest === socket) return;
    }
    waiting.set(socket, 0);
    socket.once('close', () => waiting.delete(socket));
  });
  server.on('request', ({ socket }, response) => {
    count(socket, 1);
    response.once('close', () => count(socket, -1));
  });

  function count(socket: Socket, change: number): void {
    const before = waiting.get(socket);
    if (before !== undefined) waiting.set(socket, before + change);
  }
}
