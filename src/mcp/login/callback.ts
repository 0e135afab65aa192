import type { ServerResponse } from 'node:http';
import { ToolError } from '../../core/errors.js';
import { listen, type RunningServer } from '../../host/listen.js';
import { inTime } from './server-errors.js';

const PATH = '/callback';

/**
 * The local server to which the browser is redirected after a login. It listens on 127.0.0.1, and
 * ignores requests without the login's state or with another host name, because any page open in
 * the browser can send such requests.
 */
export class LoginCallback {
  readonly #state: string;
  #server!: RunningServer;
  #isTaken = false;
  #resolve: (params: URLSearchParams) => void = () => undefined;
  readonly #answer = new Promise<URLSearchParams>((resolve) => (this.#resolve = resolve));

  private constructor(state: string) {
    this.#state = state;
  }

  /** @param port 0 picks a free port. */
  static async open(state: string, port: number): Promise<LoginCallback> {
    const callback = new LoginCallback(state);
    callback.#server = await listen({
      port,
      host: '127.0.0.1',
      needsToken: false,
      answer: (request, outgoing) => callback.#take(request, outgoing),
      refuse: ({ status }) => page(status, 'The request was refused.'),
    });
    return callback;
  }

  /** The address that the authorization server redirects to. */
  get address(): string {
    return `${this.#server.url}${PATH}`;
  }

  /**
   * Sends the user to log in, and resolves to the parameters of the first response with the right
   * state. Waits for both, because `send` may not resolve until the user has logged in.
   *
   * @throws ToolError `TIMEOUT` or `ABORTED`, and any error from `send`.
   */
  answer(
    send: () => void | Promise<void>,
    limits: Parameters<typeof inTime>[0],
  ): Promise<URLSearchParams> {
    return inTime(
      limits,
      () => nobody(limits.timeoutMs),
      () => Promise.race([this.#answer, Promise.resolve(send()).then(() => this.#answer)]),
    );
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #take({ method, url }: Request, outgoing: ServerResponse): Response {
    const { origin, pathname, searchParams } = new URL(url);
    const isOurs =
      origin + pathname === this.address && searchParams.getAll('state').join(' ') === this.#state;
    if (method !== 'GET' || this.#isTaken || !isOurs)
      return page(404, 'No login is waiting for this response.');
    this.#isTaken = true;
    outgoing.once('close', () => this.#resolve(searchParams)); // Send the page before the server closes.
    return page(200, 'You can close this page and return to the program.');
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
