import type { Api } from './api.js';

/** Waits between attempts, in milliseconds: from the first to the longest, doubling. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

export type Connection = 'connecting' | 'live' | 'lost';

/**
 * Follows the server's changes while the page is visible, and connects again when the connection breaks.
 *
 * A hidden page closes its connection: a browser has about six to one server, and as many forgotten tabs would leave
 * none for the next one.
 */
export class Changes {
  readonly #api: Api;
  readonly #onRevision: (revision: number | null) => void;
  readonly #onConnection: (connection: Connection) => void;
  #open: AbortController | undefined;

  /** @param onRevision receives the server's revision; `null` if changes may have been missed. */
  constructor(api: Api, onRevision: (revision: number | null) => void, onConnection: (connection: Connection) => void) {
    this.#api = api;
    this.#onRevision = onRevision;
    this.#onConnection = onConnection;
  }

  start(document: Document): void {
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) return this.#open?.abort();
      this.#onRevision(null);
      this.connect();
    });
    if (!document.hidden) this.connect();
  }

  /** Connects at once instead of waiting after a failure. */
  connect(): void {
    this.#open?.abort();
    this.#open = new AbortController();
    void this.#follow(this.#open.signal);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    let wait = FIRST_WAIT_MS;
    for (let first = true; !signal.aborted; first = false) {
      try {
        this.#onConnection(first ? 'connecting' : 'lost');
        const stream = await this.#api.events(signal);
        this.#onConnection('live');
        // The server may be another process by now, which counts from one again.
        if (!first) this.#onRevision(null);
        wait = FIRST_WAIT_MS;
        for await (const revision of revisions(stream)) this.#onRevision(revision);
      } catch {
        // Any failure is answered by connecting again.
      }
      if (signal.aborted) return;
      this.#onConnection('lost');
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  }
}

/** Yields the revisions in server-sent events, each one line of JSON: `data: {"revision": 7}`. */
async function* revisions(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<number> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r\n|\n/);
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith('data:')) yield (JSON.parse(line.slice('data:'.length)) as { revision: number }).revision;
  }
}
