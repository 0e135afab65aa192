import type { Clock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { isPlainObject } from '../../core/plain-data.js';
import { labelOf, unavailable } from './server-answers.js';
import type { McpConnection } from './mcp-connection.js';

/** The headers of requests to a server for a principal, `undefined` where it has none of its own; without a principal for listing tools. */
export type HeadersFor = (
  server: string,
  principal: string | undefined,
) =>
  | Readonly<Record<string, string>>
  | undefined
  | Promise<Readonly<Record<string, string>> | undefined>;

/** The most connections to one server for single principals, and the time after which one that is not used is closed. */
const MOST_CONNECTIONS = 100;
const IDLE_MS = 300_000;

/** Asks for the headers of a principal. @throws ToolError `PROVIDER_UNAVAILABLE`, which says nothing of them: the call goes out with its own credentials or not at all. */
export async function headersOf(
  headersFor: HeadersFor,
  server: string,
  principal: string | undefined,
): Promise<Headers | undefined> {
  try {
    const headers = await headersFor(server, principal);
    if (headers === undefined) return undefined;
    if (
      isPlainObject(headers) &&
      Object.values(headers).every((value) => typeof value === 'string')
    )
      return new Headers(headers);
  } catch (error) {
    throw unavailable(`headers for ${labelOf(server)}`, 'an error', error);
  }
  throw new ToolError(
    'INVALID_ARGUMENT',
    expectedGot(
      `the option headers to return an object of texts for ${labelOf(server)}`,
      'another value',
    ),
  );
}

/** The connections to one server that carry the credentials of single principals: one for each, opened for its calls and for no others. */
export class PrincipalConnections {
  readonly #server: string;
  readonly #clock: Clock;
  readonly #make: (principal: string) => McpConnection;
  /** The least recently used first. */
  readonly #open = new Map<
    string,
    { readonly connection: McpConnection; calls: number; stopTimer: () => void }
  >();

  constructor(server: string, clock: Clock, make: (principal: string) => McpConnection) {
    this.#server = server;
    this.#clock = clock;
    this.#make = make;
  }

  /** Works on the connection of a principal. @throws ToolError `PROVIDER_UNAVAILABLE` when all connections are in use. */
  async use<T>(principal: string, work: (connection: McpConnection) => Promise<T>): Promise<T> {
    const entry = this.#open.get(principal) ?? {
      connection: this.#newConnection(principal),
      calls: 0,
      stopTimer: () => undefined,
    };
    entry.stopTimer();
    entry.calls += 1;
    this.#open.delete(principal);
    this.#open.set(principal, entry);
    try {
      return await work(entry.connection);
    } finally {
      entry.calls -= 1;
      if (entry.calls === 0 && this.#open.get(principal) === entry)
        entry.stopTimer = this.#clock.after(IDLE_MS, () => void this.#closeOne(principal), {
          background: true,
        });
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((principal) => this.#closeOne(principal)));
  }

  #newConnection(principal: string): McpConnection {
    if (this.#open.size >= MOST_CONNECTIONS) {
      const idle = [...this.#open].find(([, { calls }]) => calls === 0);
      if (idle === undefined)
        throw unavailable(
          `at most ${MOST_CONNECTIONS} principals with calls at ${labelOf(this.#server)}`,
          'one more',
        );
      void this.#closeOne(idle[0]);
    }
    return this.#make(principal);
  }

  async #closeOne(principal: string): Promise<void> {
    const entry = this.#open.get(principal);
    this.#open.delete(principal);
    entry?.stopTimer();
    await entry?.connection.close();
  }
}
