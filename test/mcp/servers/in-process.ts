import { appendFileSync, readFileSync } from 'node:fs';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import {
  StdioClientTransport,
  type StdioServerParameters,
} from '@modelcontextprotocol/client/stdio';
import type { Server, Tool } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { MCP_PACKAGES } from '../../../src/mcp/connection/transports.js';
import { demoServer } from './demo-tools.js';

/**
 * The command of a demo server that runs in this process, which is a hundred times as fast as another
 * process.
 */
export const IN_PROCESS = 'demo-server-in-process';

interface DemoSession {
  readonly end: () => void;
  readonly tellChange: () => void;
}

const sessions = new Map<string, Set<DemoSession>>();
const heldBack = new Map<string, Promise<unknown>>();

/** Makes the servers of a listing wait for an event before they start. */
export function holdBack(listing: string, until: Promise<unknown>): void {
  heldBack.set(listing, until);
}

const duringListing = new Map<string, () => void>();

/**
 * Calls a function while the servers of a listing answer their next listing request. They answer with
 * the old listing.
 */
export function duringNextListing(listing: string, call: () => void): void {
  duringListing.set(listing, call);
}

/** The running servers of a listing. */
export function sessionsOf(listing: string): readonly DemoSession[] {
  return [...(sessions.get(listing) ?? [])];
}

/** One end of a pipe. The other end receives each message as a copy in a later turn of the event loop. */
class PipeEnd implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  other: PipeEnd | undefined;

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    const { other } = this;
    if (other === undefined) throw new Error('Not connected');
    const line = JSON.stringify(message);
    setImmediate(() => {
      if (other.other !== undefined) other.onmessage?.(JSON.parse(line) as JSONRPCMessage);
    });
  }

  async close(): Promise<void> {
    const { other } = this;
    if (other === undefined) return;
    this.other = undefined;
    this.onclose?.();
    await new Promise((resolve) => setImmediate(resolve));
    await other.close();
  }
}

/** The client's end of a pipe to a demo server that starts with it. */
class DemoTransport extends PipeEnd {
  readonly stderr = null;
  readonly pid = null;
  readonly #args: readonly string[];

  constructor(args: readonly string[] = []) {
    super();
    this.#args = args;
  }

  override async start(): Promise<void> {
    const [listing = '', log = '', legacy] = this.#args;
    await heldBack.get(listing);
    const note = (line: string) => appendFileSync(log, `${line}\n`);
    const pid = (lastPid += 1);
    const server = new PipeEnd();
    [this.other, server.other] = [server, this];
    const running = sessions.get(listing) ?? new Set();
    sessions.set(listing, running);
    const served: Server[] = [];
    const session: DemoSession = {
      end: () => void server.close(),
      tellChange: () => served.forEach((each) => void each.sendToolListChanged()),
    };
    running.add(session);
    note(`started ${pid}`);
    serveStdio(
      () => {
        const each = demoServer({
          tools: () => {
            const tools = JSON.parse(readFileSync(listing, 'utf8')) as Tool[];
            const call = duringListing.get(listing);
            duringListing.delete(listing);
            call?.();
            return tools;
          },
          note,
          pid,
          env: {},
          exit: () => {
            session.end();
            return new Promise(() => undefined);
          },
        });
        served.push(each);
        return each;
      },
      { transport: server, ...(legacy !== undefined && { legacy: 'serve' }) },
    );
    const ended = server.onclose;
    server.onclose = () => {
      if (running.delete(session)) note(`ended ${pid}`);
      ended?.();
    };
  }
}
let lastPid = 0;

/** Returns the transport of a demo server in this process, or of a real process for other commands. */
function transportTo(server: StdioServerParameters): Transport {
  return server.command === IN_PROCESS
    ? new DemoTransport(server.args)
    : new (class extends StdioClientTransport {})(server);
}

/** The packages of a discovery, but demo servers run in this process instead of a new process. */
export const IN_PROCESS_PACKAGES = {
  ...MCP_PACKAGES,
  stdio: () =>
    Promise.resolve({
      // A constructor that returns a different object than its own instance.
      StdioClientTransport: function (server: StdioServerParameters) {
        return transportTo(server);
      },
    }),
};
