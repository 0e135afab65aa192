import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEADLINE_MS } from '../programs.js';

/** True if redis-server is installed. */
export const redisPresent = spawnSync('redis-server', ['--version']).status === 0;

/** Warns once that the tests of a file don't run. */
export function warnIfNoRedis(what: string): void {
  if (!redisPresent) console.warn(`${what}: skipped, the program redis-server is not installed`);
}

/** A Redis for one test, on a free port of this machine. It saves nothing to disk by default. */
export class RedisServer {
  readonly port: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'tooldex-redis-'));
  readonly #killWithUs = () => void this.#process?.kill('SIGKILL');
  readonly #settings: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(port: number, settings: readonly string[]) {
    this.port = port;
    this.#settings = settings;
    process.once('exit', this.#killWithUs);
  }

  /**
   * @param settings more command line options, such as `--appendonly yes` or `--maxmemory-policy
   * allkeys-lru`.
   */
  static async start(...settings: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), settings);
    await server.restart();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Kills the process like `kill -9`. */
  async kill(): Promise<void> {
    const ended = this.#process;
    this.#process = undefined;
    if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    ended.kill('SIGKILL');
    await once(ended, 'exit');
  }

  /** Starts Redis again on the same port with its saved data. */
  async restart(): Promise<void> {
    await this.kill();
    this.#process = spawn(
      'redis-server',
      [
        '--port',
        String(this.port),
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--appendonly',
        'no',
        '--repl-diskless-sync-delay',
        '0',
        '--dir',
        this.#folder,
        ...this.#settings,
      ],
      { stdio: 'ignore' },
    );
    await eventually(async () => (await this.command('PING')) === '+PONG', 'redis-server answers');
  }

  /** Pauses the Redis process. */
  pause(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  async flush(): Promise<void> {
    await this.command('FLUSHALL');
  }

  /**
   * Sends one command over its own connection. @returns the first line of the reply, as Redis wrote
   * it.
   */
  async command(...words: readonly string[]): Promise<string> {
    const socket = connect(this.port, '127.0.0.1');
    try {
      socket.write(
        `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`,
      );
      const [reply] = (await once(socket, 'data')) as [Buffer];
      return reply.toString().split('\r\n')[0]!;
    } finally {
      socket.destroy();
    }
  }

  async stop(): Promise<void> {
    await this.kill();
    process.off('exit', this.#killWithUs);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Waits until a condition holds. Checks it every 10 ms for up to several minutes. */
export async function eventually(
  isSo: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  // Counts checks instead of time, so a busy machine gets more time.
  for (let waitedMs = 0; waitedMs <= DEADLINE_MS; waitedMs += 10) {
    try {
      if (await isSo()) return;
    } catch {
      // The condition doesn't hold yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`expected within ${DEADLINE_MS} ms: ${what}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
