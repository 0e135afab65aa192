import { fieldsOn } from '../../tool/tool-fields.js';
import type {
  DetailedTool,
  FindingsWire,
  ListedJob,
  ListedSkill,
  ListedTool,
  ListWire,
  SearchWire,
} from './wire.js';

/** The fields of `ListedTool` that are requested. */
const ROW_FIELDS = fieldsOn('row').map(([, { wire }]) => wire);

/** Items that are requested at once: the most that the interface gives. */
const PAGE_SIZE = 200;
/** Hits of a search that are shown. Users who do not find their tool among these ask otherwise. */
const MOST_HITS = 200;

/** A whole list, and the revision of its first page. */
interface WholeList<Item> {
  readonly items: readonly Item[];
  readonly revision: number;
}

/** A refusal of the interface, or its silence; the message is for users. */
export class ApiError extends Error {
  /** The status; 0 if there was no answer. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The HTTP interface next to this page. Addresses are relative, so that the page works under any path. */
export class Api {
  readonly #fetch: typeof fetch;
  readonly #token: () => string | null;

  constructor(fetchOf: typeof fetch, token: () => string | null) {
    this.#fetch = fetchOf;
    this.#token = token;
  }

  tools(
    onPage: (tools: readonly ListedTool[], total: number) => void,
  ): Promise<WholeList<ListedTool>> {
    return this.#all<ListedTool, 'tools'>('tools', { fields: ROW_FIELDS.join(',') }, onPage);
  }

  tool(name: string, persona: string | null, signal: AbortSignal): Promise<DetailedTool> {
    const query = persona === null ? '' : `?${new URLSearchParams({ persona }).toString()}`;
    return this.#json(`tools/${encodeURIComponent(name)}${query}`, signal);
  }

  /** Searches. @param parameters the request and the filters, by the names of the interface. */
  search(parameters: URLSearchParams, signal: AbortSignal): Promise<SearchWire> {
    const whole = new URLSearchParams([
      ...parameters,
      ['limit', String(MOST_HITS)],
      ['facets', 'true'],
    ]);
    return this.#json(`search?${whole.toString()}`, signal);
  }

  async skills(): Promise<readonly ListedSkill[]> {
    return (await this.#all<ListedSkill, 'skills'>('skills')).items;
  }

  async jobs(): Promise<readonly ListedJob[]> {
    return (await this.#all<ListedJob, 'jobs'>('jobs')).items;
  }

  /** Reads the first page of the findings, or the one after another. */
  findings(after?: FindingsWire): Promise<FindingsWire> {
    return this.#json(
      `findings${after?.next == null ? `?limit=${PAGE_SIZE}` : queryOf(after.next)}`,
    );
  }

  /** Opens the stream of changes. `EventSource` cannot send a token, so it is read like any other answer. */
  async events(signal: AbortSignal): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { body } = await this.#get('events', signal);
    if (body === null) throw new ApiError(0, 'The server sends no changes.');
    return body;
  }

  /** Reads a whole list, page after page; each is reported as it comes, so that the first items are shown at once. */
  async #all<Item, List extends string>(
    list: List,
    parameters: Readonly<Record<string, string>> = {},
    onPage?: (items: readonly Item[], total: number) => void,
  ): Promise<WholeList<Item>> {
    const items: Item[] = [];
    let revision: number | undefined;
    let query: string | null =
      `?${new URLSearchParams({ ...parameters, limit: String(PAGE_SIZE) }).toString()}`;
    while (query !== null) {
      const page: ListWire<List, Item> = await this.#json<ListWire<List, Item>>(list + query);
      items.push(...page[list]);
      revision ??= page.revision;
      onPage?.(items, page.total);
      query = page.next === null ? null : queryOf(page.next);
    }
    return { items, revision: revision! };
  }

  async #json<T>(address: string, signal?: AbortSignal): Promise<T> {
    const response = await this.#get(address, signal);
    try {
      return (await response.json()) as T;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new ApiError(
        response.status,
        `Expected JSON from ${address.split('?')[0]}, got something else.`,
      );
    }
  }

  async #get(address: string, signal?: AbortSignal): Promise<Response> {
    const token = this.#token();
    let response: Response;
    try {
      response = await this.#fetch(address, {
        headers: token === null ? {} : { authorization: `Bearer ${token}` },
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new ApiError(0, 'The server does not answer.');
    }
    if (!response.ok) throw new ApiError(response.status, await messageOf(response));
    return response;
  }
}

/**
 * Returns the query of an address, with its question mark. The next page of a list comes from this list, wherever the
 * server believes it stands.
 */
function queryOf(address: string): string {
  return address.slice(address.indexOf('?'));
}

async function messageOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error: { message: string } };
    return error.message;
  } catch {
    return `The server answered ${response.status}.`;
  }
}

/** Asks, and ignores the answers to earlier questions: they may come later than that of the last. */
export class Latest {
  #running: AbortController | undefined;

  /** @param onFailure is not called when a later question or `cancel` ended this one. */
  ask<T>(
    question: (signal: AbortSignal) => Promise<T>,
    onAnswer: (answer: T) => void,
    onFailure: (error: unknown) => void,
  ): void {
    this.cancel();
    const running = new AbortController();
    this.#running = running;
    question(running.signal).then(
      (answer) => {
        if (!running.signal.aborted) onAnswer(answer);
      },
      (error: unknown) => {
        if (!running.signal.aborted) onFailure(error);
      },
    );
  }

  cancel(): void {
    this.#running?.abort();
    this.#running = undefined;
  }
}
