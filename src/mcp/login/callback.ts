import type { ServerResponse } from 'node:http';
import { ToolError } from '../../core/errors.js';
import { listen } from '../../host/listen.js';
import { inTime } from './server-errors.js';

/** The local server to which the browser is redirected after a login. */
interface Callback {
  /** The address that the authorization server redirects to. */
  readonly address: string;
  /**
   * Sends the user to log in, and resolves to the parameters of the first response with the right
   * state.
   * @throws ToolError `TIMEOUT` or `ABORTED`, and any error from `send`.
   */
  answer(
    send: () => void | Promise<void>,
    limits: Parameters<typeof inTime>[0],
  ): Promise<URLSearchParams>;
  close(): Promise<void>;
}

const PATH = '/callback';

/**
 * Listens on 127.0.0.1 for the response to a login. Ignores requests without its state or with
 * another host name, because any page open in the browser can send such requests.
 *
 * @param port 0 picks a free port.
 */
export async function openCallback(state: string, port: number): Promise<Callback> {
  const login = new AwaitedLogin(state);
  const server = await listen({
    port,
    host: '127.0.0.1',
    needsToken: false,
    answer: ({ method, url }, outgoing) =>
      method === 'GET' && login.accepts(new URL(url), server.url)
        ? login.take(new URL(url), outgoing)
        : page(404, 'No login is waiting for this response.'),
    refuse: ({ status }) => page(status, 'The request was refused.'),
  });
  return {
    address: `${server.url}${PATH}`,
    answer: (send, limits) =>
      inTime(
        limits,
        () => nobody(limits.timeoutMs),
        () => login.sentBy(send),
      ),
    close: () => server.close(),
  };
}

class AwaitedLogin {
  #isTaken = false;
  #resolve: (params: URLSearchParams) => void = () => undefined;
  readonly #answer = new Promise<URLSearchParams>((resolve) => (this.#resolve = resolve));

  constructor(readonly state: string) {}

  accepts({ host, pathname, searchParams }: URL, own: string): boolean {
    const states = searchParams.getAll('state').join(' ');
    const isHere = host === new URL(own).host && pathname === PATH;
    return isHere && !this.#isTaken && states === this.state;
  }

  take({ searchParams }: URL, outgoing: ServerResponse): Response {
    this.#isTaken = true;
    outgoing.once('close', () => this.#resolve(searchParams)); // Send the page before the server closes.
    return page(200, 'You can close this page and return to the program.');
  }

  /** Waits for both, because `send` may not resolve until the user has logged in. */
  sentBy(send: () => void | Promise<void>): Promise<URLSearchParams> {
    return Promise.race([this.#answer, Promise.resolve(send()).then(() => this.#answer)]);
  }
}

function nobody(timeoutMs: number): ToolError {
  return new ToolError(
    'TIMEOUT',
    `Nobody logged in within ${Math.round(timeoutMs / 1_000)} seconds. Log in again.`,
    { details: { timeoutMs } },
  );
}

function page(status: number, sentence: string): Response {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'",
    'referrer-policy': 'no-referrer',
    connection: 'close',
  };
  return new Response(
    `<!doctype html><meta charset="utf-8"><title>tooldex</title><p>${sentence}</p>`,
    { status, headers },
  );
}
