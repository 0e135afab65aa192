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
  let take: (params: URLSearchParams) => void = () => undefined;
  const taken = new Promise<URLSearchParams>((resolve) => (take = resolve));
  let isTaken = false;
  const server = await listen({
    port,
    host: '127.0.0.1',
    needsToken: false,
    answer: ({ method, url }, outgoing) => {
      const { host, pathname, searchParams } = new URL(url);
      const isHere = host === new URL(server.url).host && method === 'GET' && pathname === PATH;
      if (!isHere || isTaken || searchParams.getAll('state').join(' ') !== state)
        return page(404, 'No login is waiting for this response.');
      isTaken = true;
      outgoing.once('close', () => take(searchParams)); // Send the page before the server closes.
      return page(200, 'You can close this page and return to the program.');
    },
    refuse: ({ status }) => page(status, 'The request was refused.'),
  });
  return {
    address: `${server.url}${PATH}`,
    // `send` may not resolve until the user has logged in, so both are awaited.
    answer: (send, limits) =>
      inTime(
        limits,
        () => nobody(limits.timeoutMs),
        () => Promise.race([taken, Promise.resolve(send()).then(() => taken)]),
      ),
    close: () => server.close(),
  };
}

const nobody = (timeoutMs: number) =>
  new ToolError(
    'TIMEOUT',
    `Nobody logged in within ${Math.round(timeoutMs / 1_000)} seconds. Log in again.`,
    { details: { timeoutMs } },
  );

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
