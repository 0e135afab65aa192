import type { FindingsWire, ListedJob, ListedSkill, ListedTool } from './wire.js';
import { ApiError, type Api } from './api.js';

/** The part of the server's catalogue that is known by now. */
export interface CatalogueState {
  readonly tools: readonly ListedTool[];
  /** The number of tools; more than `tools` while the first load goes on. */
  readonly total: number;
  /** The skills; `null` until they have come. */
  readonly skills: readonly ListedSkill[] | null;
  readonly jobs: readonly ListedJob[] | null;
  /** The findings, as many pages as were requested. */
  readonly findings: FindingsWire | null;
  /** The server's revision when the tools were read; `null` until then. */
  readonly revision: number | null;
  readonly status: 'loading' | 'ready' | 'locked' | 'failed';
  /** The reason of a failure, for users. */
  readonly problem: string | null;
}

const UNAUTHORIZED = 401;

/** The server's catalogue, as it was last read. */
export class Catalogue {
  readonly #api: Api;
  readonly #onChange: () => void;
  #state: CatalogueState = {
    tools: [],
    total: 0,
    skills: null,
    jobs: null,
    findings: null,
    revision: null,
    status: 'loading',
    problem: null,
  };
  #running: Promise<void> | undefined;
  #again = false;

  constructor(api: Api, onChange: () => void) {
    this.#api = api;
    this.#onChange = onChange;
  }

  get state(): CatalogueState {
    return this.#state;
  }

  /**
   * Reads everything again. The previous content stays until the new one is complete; a request meanwhile reads once
   * more.
   */
  load(): Promise<void> {
    this.#again = true;
    return (this.#running ??= this.#loadAll());
  }

  /** Reads everything again unless it is of this revision already. @returns true if it did. */
  async follow(revision: number | null): Promise<boolean> {
    await this.#running;
    if (revision !== null && revision === this.#state.revision) return false;
    await this.load();
    return true;
  }

  /** Reads the next page of the findings. It is dropped if they were read again meanwhile. */
  async moreFindings(): Promise<void> {
    const { findings } = this.#state;
    if (findings === null || findings.next === null) return;
    try {
      const next = await this.#api.findings(findings);
      if (this.#state.findings === findings)
        this.#set({ findings: { ...next, findings: [...findings.findings, ...next.findings] } });
    } catch {
      // The button stays and can be pressed again.
    }
  }

  async #loadAll(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      await this.#loadOnce();
    }
    this.#running = undefined;
  }

  async #loadOnce(): Promise<void> {
    const isFirst = this.#state.status !== 'ready';
    try {
      const { items: tools, revision } = await this.#api.tools((soFar, total) => {
        if (isFirst) this.#set({ tools: [...soFar], total });
      });
      const [skills, jobs, findings] = await Promise.all([
        this.#api.skills(),
        this.#api.jobs(),
        this.#api.findings(),
      ]);
      this.#set({
        tools,
        total: tools.length,
        revision,
        skills,
        jobs,
        findings,
        status: 'ready',
        problem: null,
      });
    } catch (error) {
      const isLocked = error instanceof ApiError && error.status === UNAUTHORIZED;
      this.#set({
        status: isLocked ? 'locked' : 'failed',
        problem: error instanceof Error ? error.message : String(error),
      });
    }
  }

  #set(changes: Partial<CatalogueState>): void {
    this.#state = { ...this.#state, ...changes };
    this.#onChange();
  }
}

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
  constructor(
    api: Api,
    onRevision: (revision: number | null) => void,
    onConnection: (connection: Connection) => void,
  ) {
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
    for (const line of lines)
      if (line.startsWith('data:'))
        yield (JSON.parse(line.slice('data:'.length)) as { revision: number }).revision;
  }
}
