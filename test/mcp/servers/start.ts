import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { buildSync } from 'esbuild';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll } from 'vitest';
import { McpDiscovery } from '../../../src/mcp/discovery/mcp-discovery.js';
import type { McpDiscoveryOptions } from '../../../src/mcp/discovery/discovery-options.js';
import {
  duringNextListing,
  holdBack,
  IN_PROCESS,
  IN_PROCESS_PACKAGES,
  sessionsOf,
} from './in-process.js';

const cleanUps: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

/** Returns a folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-'));
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns a discovery that is closed after the tests of the file. */
export function discover(settings: unknown, options: McpDiscoveryOptions = {}): McpDiscovery {
  const discovery = new McpDiscovery(settings, { packages: IN_PROCESS_PACKAGES, ...options });
  cleanUps.push(() => discovery.close());
  return discovery;
}

/** Returns a discovery that has listed the tools of these servers once. */
export async function listed(
  mcpServers: object,
  options: McpDiscoveryOptions = {},
): Promise<McpDiscovery> {
  const discovery = discover({ mcpServers }, options);
  await discovery.refresh();
  return discovery;
}

/** Returns how to start one of the official servers over stdio. */
export function official(
  name: 'everything' | 'filesystem' | 'memory',
  ...args: readonly string[]
): { command: string; args: readonly string[] } {
  return { command: process.execPath, args: [officialFile(name), ...args] };
}

function officialFile(name: string): string {
  return resolve(
    import.meta.dirname,
    `../../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`,
  );
}

/** Bundles a server of this folder into one JavaScript file, which starts five times as fast as with tsx. */
export function here(file: string): { command: string; args: readonly string[] } {
  bundles ??= temporaryFolder();
  const outfile = join(bundles, file.replace('.ts', '.mjs'));
  if (!existsSync(outfile)) {
    const banner = {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
    };
    buildSync({
      entryPoints: [resolve(import.meta.dirname, file)],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      banner,
    });
  }
  return { command: process.execPath, args: [outfile] };
}
let bundles: string | undefined;

export function hostile(mode: string): { command: string; args: readonly string[] } {
  const { command, args } = here('hostile-server.ts');
  return { command, args: [...args, mode] };
}

/** Returns a tool as servers list it. */
export function rawTool(name: string, fields: object = {}): Record<string, unknown> {
  return { name, description: `Does ${name}`, inputSchema: { type: 'object' }, ...fields };
}

/** A server with a listing that tests can write and a log that they can read. */
export class Demo {
  readonly #folder = temporaryFolder();
  readonly #listing = join(this.#folder, 'listing.json');
  readonly #log = join(this.#folder, 'log.txt');
  /** Settings with which `discover` starts the server in this process. */
  readonly start: { command: string; args: readonly string[] };

  constructor(...names: readonly string[]) {
    this.list(...names.map((name) => rawTool(name)));
    this.start = { command: IN_PROCESS, args: [this.#listing, this.#log] };
  }

  /** Settings that start the server as a separate process. */
  get process(): { command: string; args: readonly string[] } {
    const { command, args } = here('demo-server.ts');
    return { command, args: [...args, ...this.start.args] };
  }

  /** Ends the server. Whoever was connected to the server starts it again. */
  end(): void {
    for (const session of sessionsOf(this.#listing)) session.end();
  }

  /** Makes the server wait for an event before it starts. */
  holdBack(until: Promise<unknown>): void {
    holdBack(this.#listing, until);
  }

  duringNextListing(call: () => void): void {
    duringNextListing(this.#listing, call);
  }

  tellChange(): void {
    for (const session of sessionsOf(this.#listing)) session.tellChange();
  }

  /** Sets the tools that the server lists from now on. */
  list(...tools: readonly object[]): void {
    writeFileSync(this.#listing, JSON.stringify(tools));
  }

  /** Returns the lines of the log, or only the lines with the given beginning. */
  log(beginning = ''): readonly string[] {
    if (!existsSync(this.#log)) return [];
    return readFileSync(this.#log, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && line.startsWith(beginning));
  }
}

/** A process whose parent was killed would keep running, so it exits when its standard input ends. */
const END_WITH_PARENT = `data:text/javascript,${encodeURIComponent("process.stdin.on('end', () => process.exit()).resume();")}`;

/** The server with every feature, over HTTP. Tests can kill it and start it again at the same address. */
export class NetworkServer {
  readonly #kind: 'sse' | 'streamableHttp';
  readonly #port: number;
  #process: ChildProcess | undefined;

  private constructor(kind: 'sse' | 'streamableHttp', port: number) {
    this.#kind = kind;
    this.#port = port;
  }

  static async start(kind: 'sse' | 'streamableHttp'): Promise<NetworkServer> {
    const server = new NetworkServer(kind, await freePort());
    cleanUps.push(() => server.kill());
    await server.start();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/${this.#kind === 'sse' ? 'sse' : 'mcp'}`;
  }

  async start(): Promise<void> {
    const child = spawn(
      process.execPath,
      ['--import', END_WITH_PARENT, officialFile('everything'), this.#kind],
      { env: { ...process.env, PORT: String(this.#port) }, stdio: ['pipe', 'ignore', 'pipe'] },
    );
    this.#process = child;
    let said = '';
    // The output is read to the end, because a server that can't write its output dies.
    await new Promise<void>((resolve, reject) => {
      child.once('exit', () => reject(new Error(`the server ended: ${said}`)));
      child.stderr.on('data', (chunk) => {
        said = (said + String(chunk)).slice(0, 10_000);
        if (/(?:running|listening) on port/i.test(said)) resolve();
      });
    });
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Returns true if the process exists. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Returns the names of definitions. */
export function namesOf(discovery: McpDiscovery): readonly string[] {
  return discovery.definitions().map(({ name }) => name);
}
